//! The server of the README, for `mcp call add a=2 b=3 -- calc`.

use mcp_server::{Server, tool};

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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp_transport_stdio::Error> {
    mcp_transport_stdio::serve(Server::builder("calc", "1.0.0").tool(add::tool())).await
}
