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
    use mcp_sdk::server::testing::{TestClient, on_every_revision};
    use mcp_sdk::server::{Change, ErrorObject};
    use serde_json::{Value, json};

    use super::*;

    /// A client whose user confirms everything.
    fn confirming(client: TestClient) -> TestClient {
        client.answer_forms(|_message, _schema| json!({ "sure": true }))
    }

    async fn call(client: &TestClient, tool: &str, args: Value) -> Result<String, ErrorObject> {
        Ok(client.call_tool(tool, args).await?.joined_text())
    }

    #[test]
    fn a_tool_is_a_function() {
        assert_eq!(split(1_000, 3), 334);
    }

    #[tokio::test]
    async fn invalid_arguments_do_not_reach_the_function() {
        let client = TestClient::new(server());
        let no_people = json!({ "cents": 1_000, "people": 0 });
        let error = call(&client, "split", no_people).await.unwrap();
        assert!(error.contains("/people"), "{error}");
    }

    /// Runs once for each revision, and compares the results.
    #[tokio::test]
    async fn the_user_confirms_on_every_revision() {
        let deleted = on_every_revision(server, async |client: TestClient| {
            call(&confirming(client), "delete_bills", json!({})).await
        });
        let text = deleted.await.unwrap();
        assert_eq!(text, "deleted the bills of the local user");
    }

    #[tokio::test]
    async fn only_callers_with_the_scope_delete() {
        let client = |scopes: &str| {
            let ada = Identity::new("https://id.example.com", "ada").with_scopes(scopes);
            confirming(TestClient::new(server()).signed_in(ada))
        };
        let deleted = call(&client("bills:write"), "delete_bills", json!({})).await;
        assert_eq!(deleted.unwrap(), "deleted the bills of ada");
        let refused = call(&client("bills:read"), "delete_bills", json!({})).await;
        assert!(refused.unwrap_err().message.contains("bills:write"));
    }

    #[tokio::test]
    async fn clients_are_notified_of_the_new_tool() {
        let client = TestClient::new(server());
        let mut changes = client.listen([Change::Tools]).await.unwrap();
        call(&client, "unlock_tips", json!({})).await.unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(call(&client, "tip", json!({})).await.unwrap(), "10 %");
    }
}
