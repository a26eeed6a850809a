//! How the fixture programs serve: over stdio, or over HTTP at an address that they then tell.

use std::io::Write as _;

use mcp_protocol::Service;
use mcp_transport_http::{Endpoint, Options, serve_with};
use tokio::net::TcpListener;

/// Serves over HTTP until the process is ended, and first prints where.
///
/// # Errors
/// The server is not fit to be served, or the address cannot be listened on.
pub async fn http(
    address: &str,
    service: impl Service,
    options: Options,
) -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::with_options(service, options)?;
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "listening on http://{address}/mcp")?;
    Ok(serve_with(listener, endpoint, std::future::pending()).await?)
}
