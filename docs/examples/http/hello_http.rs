//! The smallest server over HTTP.
//!
//! ```sh
//! cargo run --example hello_http -- 127.0.0.1:8000
//! mcp call http://127.0.0.1:8000/mcp add a=2 b=3
//! ```
//!
//! The first line prints `serving http://127.0.0.1:8000/mcp` and runs until Ctrl-C or SIGTERM; the second prints `5`.

use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use mcp_sdk::server::{Server, tool};
use tokio::net::TcpListener;

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
    // Without a subscriber, nothing is logged.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    let endpoint = Endpoint::new(Server::builder("hello", "1.0.0").tool(add::tool()))?;
    // Running calls finish before the program ends.
    Ok(serve_with(listener, endpoint, shutdown_signal()).await?)
}
