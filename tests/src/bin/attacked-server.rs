//! The server that the attacks in `tests/suites/http_attacks` measure from outside: `attacked-server ADDRESS`. It has
//! default options, a tool that returns its text, one with a
//! long result, one that waits with its arguments, and one that waits as a task.

use std::future::pending;

use mcp_server::types::JsonObject;
use mcp_server::{Args, Ctx, LoggingLevel, Resource, Server, TaskMode, Tool};
use mcp_tests::bench::server::MOST_BYTES;
use mcp_tests::bench::{Fault, listen};
use mcp_transport_http::Endpoint;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    bytes: usize,
}

async fn wait(Args(arguments): Args<JsonObject>, cx: Ctx) -> String {
    // Starts the response, so that the client knows that the call waits.
    cx.log(LoggingLevel::Error, "waits");
    pending::<()>().await;
    format!("{} arguments", arguments.len())
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: attacked-server ADDRESS")?;
    let any = json!({ "type": "object" });
    let server = Server::builder("attacked", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new("big", |Args(big): Args<Big>| {
            "x".repeat(big.bytes.min(MOST_BYTES))
        }))
        .tool(Tool::dynamic("wait", any.clone(), wait))
        .tool(Tool::dynamic("later", any, wait).task(TaskMode::Optional))
        .resource(Resource::new("any:///{path}", "any", || "text"));
    listen::own(&address, Endpoint::new(server)?).await
}
