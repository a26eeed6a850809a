//! Serves the fixtures over HTTP.

use std::io::Write as _;

use mcp_server::Server;
use mcp_transport_http::{Endpoint, Error, Options, serve_with};
use tokio::net::TcpListener;

/// Serves a server at this address until the process is interrupted. The port may be 0: the first
/// line on stdout is the URL.
///
/// # Errors
/// The server cannot listen on the address, or its configuration is invalid.
pub async fn serve_http(
    address: &str,
    server: Server,
    options: Options,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("{address}: {error}"))?;
    let endpoint = Endpoint::with_options(server, options)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    let interrupted = async {
        // Without a signal handler only the end of the process ends the server.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    serve_with(listener, endpoint, interrupted)
        .await
        .map_err(Error::into)
}
