//! A server with one tool, over stdin and stdout.
//!
//! ```sh
//! cargo test
//! cargo build
//! ```
//!
//! A host starts the program from its configuration, in which `command` is the path of the program.

use mcp_sdk::server::{Server, ServerBuilder, tool};

/// Adds two numbers.
#[tool(read_only = true)]
fn add(
    /** left */
    a: i64,
    /** right */
    b: i64,
) -> i64 {
    a + b
}

fn server() -> ServerBuilder {
    Server::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).tool(add::tool())
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    // The log goes to stderr, because stdout carries the protocol.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    // Ends when the host closes stdin.
    Ok(mcp_sdk::stdio::serve(server()).await?)
}

#[cfg(test)]
mod tests {
    use mcp_sdk::server::testing::{TestClient, on_every_revision};
    use serde_json::json;

    use super::*;

    /// Calls the tool as a client does, on each revision of the protocol.
    #[tokio::test]
    async fn the_tool_adds_on_every_revision() {
        let sum = on_every_revision(server, async |client: TestClient| {
            let result = client.call_tool("add", json!({ "a": 2, "b": 3 })).await;
            result.unwrap().joined_text()
        });
        assert_eq!(sum.await, "5");
    }
}
