//! The smallest server: one tool, over stdin and stdout.
//!
//! ```sh
//! cargo build --example hello_stdio
//! mcp call add a=2 b=3 -- target/debug/examples/hello_stdio
//! ```
//!
//! The second line prints `5`. A host starts the program itself, from its configuration:
//! `{ "mcpServers": { "hello": { "command": "/path/to/hello_stdio" } } }`.

use mcp_sdk::server::{Server, tool};

/// Adds two numbers.
#[tool]
fn add(
    /** left */
    a: i64,
    /** right */
    b: i64,
) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server = Server::builder("hello", "1.0.0").tool(add::tool());
    // Ends when the host closes stdin.
    Ok(mcp_sdk::stdio::serve(server).await?)
}
