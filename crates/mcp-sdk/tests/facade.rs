//! The attributes, a server and a client through `mcp-sdk`. Tests of this package also see its dependencies: `facade.rs` of mcp-macros tests that no
//! path of another crate is left.
#![cfg(all(feature = "client", feature = "http", feature = "stdio"))]

use mcp_sdk::client::serde_json::json;
use std::future::pending;
use std::time::Duration;

use mcp_sdk::client::Client;
use mcp_sdk::http::{Endpoint, HttpTransport, serve_with};
use mcp_sdk::server::{Server, State, prompt, resource, tool, tools};
use mcp_sdk::types::ContentBlock;
use tokio::net::TcpListener;

/// Adds two numbers.
#[tool(read_only)]
fn add(
    /** left */
    a: i64,
    /** right */
    b: i64,
) -> i64 {
    a + b
}

/// Asks for a review.
#[prompt]
fn review(
    /** What to review. */
    code: String,
) -> String {
    format!("Review this:\n{code}")
}

/// A user's profile.
#[resource("users://{name}")]
fn profile(name: String, State(count): State<usize>) -> Option<String> {
    (name == "ada").then(|| format!("ada {count}"))
}

struct Notes;

#[tools]
impl Notes {
    /// Counts the notes.
    #[tool]
    fn count(&self) -> usize {
        7
    }
}

#[tokio::test]
async fn attributes_servers_and_clients_work_with_the_facade_alone() {
    let server = Server::builder("calc", "1.0.0")
        .state(3)
        .tool(add::tool())
        .tools(Notes.tools())
        .prompt(review::prompt())
        .resource(profile::resource());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve_with(
        listener,
        Endpoint::new(server).unwrap(),
        pending(),
    ));
    let run = async {
        let transport = HttpTransport::new(format!("http://{address}/mcp")).unwrap();
        let client = Client::builder("test", "1")
            .connect(transport)
            .await
            .unwrap();
        let sum = client
            .call_tool("add", json!({ "a": 2, "b": 3 }))
            .await
            .unwrap();
        assert!(matches!(&sum.content[0], ContentBlock::Text(text) if text.text == "5"));
        assert_eq!(client.list_tools().await.unwrap().len(), 2);
        let read = client.read_resource("users://ada").await.unwrap();
        assert_eq!(read.contents.len(), 1);
        client.close().await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), run)
        .await
        .unwrap();
    serving.abort();
}
