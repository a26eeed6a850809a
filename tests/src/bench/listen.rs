//! The measured server over HTTP: by its own listener, and by one that is not.

use std::io::Write as _;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_transport_http::{Endpoint, serve_with};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower_service::Service as _;

use super::Fault;

/// Serves as a user would, until the process is interrupted. The first line on stdout is the URL.
///
/// # Errors
/// The address cannot be listened on.
pub async fn own(address: &str, endpoint: Endpoint) -> Result<(), Fault> {
    let listener = listen(address).await?;
    let interrupted = async {
        // Without a handler there is nothing to wait for but the end of the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Ok(serve_with(listener, endpoint, interrupted).await?)
}

/// Serves by hyper, with connections as the system makes them: without TCP_NODELAY what is written in two pieces waits
/// for the peer to acknowledge the first.
///
/// # Errors
/// The address cannot be listened on, or not any more.
pub async fn plain(address: &str, endpoint: Endpoint) -> Result<(), Fault> {
    let listener = listen(address).await?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        while connections.try_join_next().is_some() {}
        let endpoint = endpoint.clone();
        connections.spawn(async move {
            let service = service_fn(|request| endpoint.clone().call(request));
            // Who goes away in the middle of something is not missed.
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
