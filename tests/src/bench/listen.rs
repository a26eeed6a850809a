//! The measured server over HTTP, with the listener of the SDK or with hyper.

use std::io::Write as _;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_transport_http::{Endpoint, serve_with};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower_service::Service as _;

use super::Fault;

/// Serves with the listener of the SDK until the process is interrupted. The first line on stdout
/// is the URL.
///
/// # Errors
/// The server cannot listen on the address.
pub async fn own(address: &str, endpoint: Endpoint) -> Result<(), Fault> {
    let listener = listen(address).await?;
    let interrupted = async {
        // Without a signal handler only the end of the process ends the server.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Ok(serve_with(listener, endpoint, interrupted).await?)
}

/// Serves with hyper and the default socket options: without TCP_NODELAY a second write waits for
/// the acknowledgement of the first.
///
/// # Errors
/// The server cannot listen on the address, or accept fails.
pub async fn plain(address: &str, endpoint: Endpoint) -> Result<(), Fault> {
    let listener = listen(address).await?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        while connections.try_join_next().is_some() {}
        let endpoint = endpoint.clone();
        connections.spawn(async move {
            let service = service_fn(|request| endpoint.clone().call(request));
            // A client may close its connection at any time.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Listens, and prints the URL.
pub(super) async fn listen(address: &str) -> Result<TcpListener, Fault> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("{address}: {error}"))?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    Ok(listener)
}
