//! An MCP server beside other routes of an axum application, which shuts down gracefully.
//!
//! ```sh
//! cargo run --example axum_shutdown -- 127.0.0.1:8000
//! curl http://127.0.0.1:8000/health
//! mcp call http://127.0.0.1:8000/mcp work seconds=5
//! ```
//!
//! `/health` answers `ok`. After Ctrl-C or SIGTERM, the program refuses new calls, the running call still prints `done`, and the
//! program ends. Containers and service managers send SIGTERM.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use mcp_sdk::http::{Endpoint, ServerOptions, shutdown_signal};
use mcp_sdk::server::{Ctx, Server, tool};
use tokio::net::TcpListener;

/// Works for some time.
#[tool]
async fn work(
    /** how long */
    seconds: u32,
    cx: Ctx,
) -> &'static str {
    cx.progress(0.0, f64::from(seconds));
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    "done"
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);

    // How long running calls may take to finish.
    let options =
        ServerOptions::new().with_timeouts(|timeouts| timeouts.shutdown = Duration::from_secs(20));
    let server = Server::builder("worker", "1.0.0").tool(work::tool());
    let endpoint = Endpoint::with_options(server, options)?;
    let app = Router::new()
        .route("/health", get(async || "ok"))
        .route_service("/mcp", endpoint.clone());

    let shutdown = async move {
        shutdown_signal().await;
        eprintln!("shutting down");
        // Without `close`, axum would wait for every open event stream.
        endpoint.close().await;
    };
    Ok(axum::serve(listener, app)
        .with_graceful_shutdown(shutdown)
        .await?)
}
