//! A listener for those who have no HTTP server of their own.

mod connection;
#[cfg(feature = "http2")]
mod http2;
pub(crate) mod route;
mod timers;
mod write_timeout;

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use mcp_protocol::Service;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::server::endpoint::Endpoint;
use crate::server::error::Error;
use crate::server::listener::route::{Connected, Layered, Route, Site};
use crate::server::listener::timers::{Patience, Watch};

/// How long connections get to end after the endpoint has closed.
const LAST: Duration = Duration::from_secs(1);

/// Serves a server at the path `/mcp` of this address until the future is dropped.
///
/// Only requests that name this machine as their host are served. For other names, and for
/// everything else that can be set, use [`serve_with`].
///
/// ```no_run
/// # async fn f(server: impl mcp_protocol::Service) -> Result<(), mcp_transport_http::Error> {
/// mcp_transport_http::serve("127.0.0.1:8000", server).await
/// # }
/// ```
///
/// # Errors
/// The server is not fit to be served, or the address cannot be listened on.
///
/// # Cancel safety
/// Dropping the future stops listening and closes every connection; handlers that run go on until
/// they end.
pub async fn serve(address: impl ToSocketAddrs, service: impl Service) -> Result<(), Error> {
    let endpoint = Endpoint::new(service)?;
    let listener = TcpListener::bind(address).await.map_err(Error::listen)?;
    serve_with(listener, endpoint, std::future::pending()).await
}

/// Serves an endpoint at the path `/mcp` of a listener, over HTTP/1.1 and with the feature `http2` over HTTP/2, until
/// `shutdown` completes; then [closes the endpoint](Endpoint::close), lets the connections end, and
/// closes those that do not.
///
/// Requests carry the address they came from as a [`PeerAddr`] in their extensions.
///
/// # Errors
/// The listener fails for good.
///
/// # Cancel safety
/// Dropping the future stops listening and closes every connection; handlers that run go on until
/// they end.
pub async fn serve_with(
    listener: TcpListener,
    endpoint: Endpoint,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let site = Site::new(endpoint.clone());
    serve_route(listener, &endpoint, site, shutdown).await
}

/// The same with layers in front, such as who may come in: `layer` puts them around the
/// endpoint at its path, and sees the requests for other paths too.
///
/// ```no_run
/// # async fn f<S>(
/// #     listener: tokio::net::TcpListener,
/// #     endpoint: mcp_transport_http::Endpoint,
/// #     door: impl Fn(mcp_transport_http::Site) -> mcp_transport_http::Site,
/// # ) -> Result<(), mcp_transport_http::Error> {
/// use mcp_transport_http::serve_layered;
///
/// serve_layered(listener, endpoint, |site| door(site), std::future::pending()).await
/// # }
/// ```
///
/// # Errors
/// The listener fails for good.
///
/// # Cancel safety
/// As [`serve_with`].
pub async fn serve_layered<S, B>(
    listener: TcpListener,
    endpoint: Endpoint,
    layer: impl FnOnce(Site) -> S,
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
    let layered = Layered(layer(Site::new(endpoint.clone())));
    serve_route(listener, &endpoint, layered, shutdown).await
}

async fn serve_route(
    listener: TcpListener,
    endpoint: &Endpoint,
    route: impl Route,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(Error::listen)?;
    if !address.ip().is_loopback() && endpoint.options().hosts.is_loopback_only() {
        tracing::warn!(
            %address,
            "other machines can connect but are refused by their Host header; name this server \
             with Options::allow_host"
        );
    }
    let places = endpoint.options().connections.min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(places));
    let mut connections = JoinSet::new();
    let mut watch = Watch::new(Patience::new(endpoint.options()));
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (listener.accept().await, place)
        };
        let next = next(accepted, &mut connections, &mut watch, shutdown.as_mut());
        let (stream, peer, place) = match next.await {
            None => break,
            Some((Ok((stream, peer)), place)) => (stream, peer, place),
            Some((Err(error), _)) => {
                // Out of descriptors, or the peer is gone already: neither is for good.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let route = Connected {
            route: route.clone(),
            peer,
            seat: None,
        };
        let watched = watch.seat();
        connections.spawn(connection::serve(stream, route, watched, place));
    }
    drop(listener);
    watch.during(endpoint.close()).await;
    watch.close();
    let ended = async { while connections.join_next().await.is_some() {} };
    if watch.during(timeout(LAST, ended)).await.is_err() {
        tracing::debug!("closed connections that did not end in time");
    }
    connections.shutdown().await;
    Ok(())
}

/// The next connection, unless `shutdown` completes before. Meanwhile it clears away the
/// connections that have ended, and those that wait too long.
async fn next<T>(
    accepted: impl Future<Output = T>,
    connections: &mut JoinSet<()>,
    watch: &mut Watch,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<T> {
    let mut accepted = pin!(accepted);
    std::future::poll_fn(|cx| {
        if shutdown.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
        watch.poll_ticks(cx);
        accepted.as_mut().poll(cx).map(Some)
    })
    .await
}
