//! The HTTP server behind [`serve`], for programs without an HTTP server.
//!
//! Its parts are private: no module outside `listener` imports from it. `docs/listener.md` describes each part,
//! and the memory or work that the part saves.

pub(crate) mod connection;
mod files;
#[cfg(feature = "http2")]
mod http2;
#[cfg(feature = "http2")]
mod http2_frames;
#[cfg(feature = "http2")]
mod http2_stream;
mod pressure;
mod signal;
mod timers;
mod write_timeout;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use mcp_protocol::{IntoService, LogLimit};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

pub use signal::shutdown_signal;

use crate::permit::Capacity;
use crate::permit::share::KnownOwner;
use crate::server::endpoint::Endpoint;
use crate::server::error::Error;
use crate::server::listener::connection::{ConnectionService, Dispatch, LayeredRoute, McpRoute};
use crate::server::listener::timers::{ConnectionLimits, TimerWheel};
use crate::server::options::ServerOptions;

/// The delay before the next attempt to accept a connection if the process has no file descriptor left.
const ACCEPT_DELAY: Duration = Duration::from_millis(20);
/// Maximum time that connections have to end after the endpoint was closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves a server at the path `/mcp` of this address until the process [is asked to
/// exit](shutdown_signal), then shuts down gracefully like [`serve_with`].
///
/// Only requests with a `Host` of this machine are accepted. For other hosts and all other settings
/// use [`serve_with`].
///
/// ```no_run
/// # async fn f(server: impl mcp_protocol::IntoService) -> Result<(), mcp_transport_http::Error> {
/// mcp_transport_http::serve("127.0.0.1:8000", server).await
/// # }
/// ```
///
/// # Errors
/// The server configuration is invalid, or the address cannot be bound.
///
/// # Cancel safety
/// Dropping the future closes the listener and all connections. Running handlers continue until
/// they end.
pub async fn serve(address: impl ToSocketAddrs, server: impl IntoService) -> Result<(), Error> {
    let endpoint = Endpoint::new(server)?;
    let listener = TcpListener::bind(address).await?;
    serve_with(listener, endpoint, shutdown_signal()).await
}

/// Serves an endpoint at the path `/mcp` of a listener until `shutdown`, for example [`shutdown_signal`], completes. Then it
/// [closes the endpoint](Endpoint::close), waits for the connections to end, and closes connections that do not end in time.
///
/// This function supports HTTP/1.1, and HTTP/2 with the feature `http2`. The extensions of each request contain
/// the address of its client as a [`PeerAddr`](crate::PeerAddr).
///
/// Each connection needs an open file. On Unix, this function raises the limit of open files of the process to four times
/// [`ConnectionLimits::max_connections`](crate::ConnectionLimits::max_connections), as far as the hard limit allows it. If the
/// limit remains too low, the function logs a warning, and connections use at most three quarters of the files that can still be
/// opened.
///
/// # Errors
/// The listener fails permanently.
///
/// # Cancel safety
/// Dropping the future closes the listener and all connections. Running handlers continue until
/// they end.
pub async fn serve_with(
    listener: TcpListener,
    endpoint: Endpoint,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let site = McpRoute::new(endpoint.clone());
    serve_route(listener, &endpoint, site, shutdown).await
}

/// Serves an endpoint like [`serve_with`], wrapped in middleware such as an authentication layer.
///
/// `layer` wraps the endpoint at its path. The middleware also receives requests for other paths.
///
/// ```no_run
/// # async fn f<S>(
/// #     listener: tokio::net::TcpListener,
/// #     endpoint: mcp_transport_http::Endpoint,
/// #     authenticate: impl Fn(mcp_transport_http::McpRoute) -> mcp_transport_http::McpRoute,
/// # ) -> Result<(), mcp_transport_http::Error> {
/// use mcp_transport_http::{serve_layered, shutdown_signal};
///
/// serve_layered(listener, endpoint, |route| authenticate(route), shutdown_signal()).await
/// # }
/// ```
///
/// # Errors
/// The listener fails permanently.
///
/// # Cancel safety
/// The same as for [`serve_with`].
pub async fn serve_layered<S, B>(
    listener: TcpListener,
    endpoint: Endpoint,
    layer: impl FnOnce(McpRoute) -> S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error>
where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static,
{
    let layered = LayeredRoute(layer(McpRoute::new(endpoint.clone())));
    serve_route(listener, &endpoint, layered, shutdown).await
}

async fn serve_route(
    listener: TcpListener,
    endpoint: &Endpoint,
    route: impl Dispatch,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let options = endpoint.options();
    warn_of_hosts(listener.local_addr()?, options);
    let max_connections = files::connections(options.connection_limits.max_connections);
    let permits = Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS));
    let permits = Arc::new(permits);
    // An address gets only its share, so that it cannot take all connections.
    let shares = Capacity::with_shares(max_connections, options.client_share_percent);
    let mut connections = JoinSet::new();
    let mut wheel = TimerWheel::new(
        ConnectionLimits::new(options),
        endpoint.0.state.bodies.clone(),
        endpoint.0.state.responses.clone(),
        shares.clone(),
    );
    let refusals = LogLimit::default();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let permit = Arc::clone(&permits).acquire_owned().await.ok();
            (listener.accept().await, permit)
        };
        let next = next(accepted, &mut connections, &mut wheel, shutdown.as_mut());
        let (stream, peer, permit) = match next.await {
            None => break,
            Some((Ok((stream, peer)), permit)) => (stream, peer, permit),
            Some((Err(error), _)) => {
                if let Some(omitted) = refusals.admit(std::time::Instant::now()) {
                    tracing::warn!(%error, omitted, "failed to accept a connection");
                }
                recover(&error, &mut wheel).await;
                continue;
            }
        };
        let Ok(share) = shares.try_acquire_for(|| Some(KnownOwner::address(peer.ip()))) else {
            tracing::debug!(%peer, "closed a new connection because its address already has its share of the connections (ServerOptions::with_client_share)");
            continue;
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "failed to set TCP_NODELAY");
        }
        let route = ConnectionService {
            route: route.clone(),
            peer,
            timer: None,
        };
        let timer = wheel.register(Some(peer.ip()));
        connections.spawn(connection::serve(stream, route, timer, (permit, share)));
    }
    drop(listener);
    close(endpoint, connections, wheel).await;
    Ok(())
}

/// Closes idle connections and waits after a failure to accept a connection, for example because the process has no file
/// descriptor left. Does nothing if the client caused the failure.
async fn recover(error: &io::Error, wheel: &mut TimerWheel) {
    let is_of_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    );
    if !is_of_client {
        wheel.close_idle();
        wheel.run_until(sleep(ACCEPT_DELAY)).await;
    }
}

/// Logs a warning if the endpoint listens on an address of the network but accepts only local hosts. Clients on the network could
/// then not use it.
fn warn_of_hosts(address: SocketAddr, options: &ServerOptions) {
    if !address.ip().is_loopback() && options.hosts.is_loopback_only() {
        tracing::warn!(
            %address,
            "the address is not local, but only local Host headers are accepted; add the name of \
             this server with ServerOptions::allow_host"
        );
    }
}

/// Closes the endpoint and waits for the connections to end. Closes connections that do not end in time.
async fn close(endpoint: &Endpoint, mut connections: JoinSet<()>, mut wheel: TimerWheel) {
    wheel.run_until(endpoint.close()).await;
    wheel.close();
    let ended = async { while connections.join_next().await.is_some() {} };
    if wheel
        .run_until(timeout(CLOSE_TIMEOUT, ended))
        .await
        .is_err()
    {
        tracing::debug!("closed connections that did not end within the shutdown timeout");
    }
    connections.shutdown().await;
}

/// Waits for the next connection. Returns `None` if `shutdown` completes first. Meanwhile, removes connections that have ended
/// and advances the timers.
async fn next<T>(
    accepted: impl Future<Output = T>,
    connections: &mut JoinSet<()>,
    wheel: &mut TimerWheel,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<T> {
    let mut accepted = pin!(accepted);
    std::future::poll_fn(|cx| {
        if shutdown.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
        wheel.poll_ticks(cx);
        accepted.as_mut().poll(cx).map(Some)
    })
    .await
}
