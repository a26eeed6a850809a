//! How to test a server: its functions, on every revision, with input of the user, with signed-in callers, and its notifications.
//!
//! ```sh
//! cargo test --example testing
//! ```
//!
//! The tests are at the end of this file. They need neither a process nor a socket.

use mcp_sdk::auth::server::Auth;
use mcp_sdk::server::{Ask, HandlerError, Server, ServerBuilder, Tool, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Divides the bill.
#[tool(read_only = true)]
fn split(cents: u32, #[schemars(range(min = 1, max = 20))] people: u32) -> u32 {
    cents.div_ceil(people)
}

/// Really delete all bills?
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Yes, delete them.
    sure: bool,
}

/// Deletes the bills of the caller.
#[tool(scope = "bills:write", destructive = true)]
fn delete_bills(Ask(confirm): Ask<Confirm>, auth: Auth) -> String {
    let user = auth.subject().unwrap_or("the local user");
    match confirm.sure {
        true => format!("deleted the bills of {user}"),
        false => "nothing was deleted".to_owned(),
    }
}

/// Adds the tool `tip`.
#[tool]
fn unlock_tips(server: Server) -> Result<&'static str, HandlerError> {
    server.tools().add(Tool::new("tip", || "10 %"))?;
    Ok("unlocked")
}

fn server() -> ServerBuilder {
    Server::builder("bills", "1.0.0").tools([
        split::tool(),
        delete_bills::tool(),
        unlock_tips::tool(),
    ])
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    Ok(mcp_sdk::stdio::serve(server()).await?)
}

#[cfg(test)]
mod tests {
    use mcp_sdk::auth::server::Identity;
    use mcp_sdk::server::Change;
    use mcp_sdk::server::testing::{TestClient, on_every_revision};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_a_function() {
        assert_eq!(split(1_000, 3), 334);
    }

    #[tokio::test]
    async fn invalid_arguments_do_not_reach_the_function() {
        let client = TestClient::new(server());
        let result = client
            .call_tool("split", json!({ "cents": 1_000, "people": 0 }))
            .await
            .unwrap();
        assert!(result.is_error());
        assert!(
            result.joined_text().contains("/people"),
            "{}",
            result.joined_text()
        );
    }

    /// Runs once for each revision, and compares the results.
    #[tokio::test]
    async fn the_user_confirms_on_every_revision() {
        let deleted = on_every_revision(server, async |client: TestClient| {
            let client = client.answer_forms(|_message, _schema| json!({ "sure": true }));
            client
                .call_tool("delete_bills", json!({}))
                .await
                .map(|result| result.joined_text())
        });
        assert_eq!(
            deleted.await.unwrap(),
            "deleted the bills of the local user"
        );
    }

    #[tokio::test]
    async fn only_callers_with_the_scope_delete() {
        let client = |scopes: &str| {
            let ada = Identity::new("https://id.example.com", "ada").with_scopes(scopes);
            let client = TestClient::new(server()).signed_in(ada);
            client.answer_forms(|_message, _schema| json!({ "sure": true }))
        };
        let result = client("bills:write")
            .call_tool("delete_bills", json!({}))
            .await
            .unwrap();
        assert_eq!(result.joined_text(), "deleted the bills of ada");
        assert!(
            client("bills:read")
                .call_tool("delete_bills", json!({}))
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn clients_are_notified_of_the_new_tool() {
        let client = TestClient::new(server());
        let mut changes = client.listen([Change::Tools]).await.unwrap();
        client.call_tool("unlock_tips", json!({})).await.unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert!(
            client
                .list_tools()
                .await
                .unwrap()
                .iter()
                .any(|tool| tool.name == "tip")
        );
    }
}
