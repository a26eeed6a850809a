//! HTTP/1.1 connections to one server.
//!
//! A connection has no task. Polling a request drives the connection, and afterwards polling the response body drives it. The
//! connection can be used again as soon as the body ends.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use mcp_protocol::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, unconstrained};
use tokio::time::{Instant, sleep_until};
use tower_service::Service;

use crate::http_service::{BoxError, HttpService, RequestBody, ResponseBody};
use crate::proxy::{ProxyAddress, ProxyError};
use crate::sync::lock;

/// An HTTP client that keeps idle connections to one server.
pub(crate) struct PooledClient<C>(Arc<Pool<C>>);

impl<C> PooledClient<C> {
    /// Creates a client. `connector` opens connections to the server, or to the proxy that forwards all requests. The client keeps
    /// at most `max_idle` idle connections, and closes each of them `idle_timeout` after its last request.
    pub(crate) fn new(
        connector: C,
        proxy: Option<ProxyAddress>,
        max_idle: usize,
        idle_timeout: Duration,
    ) -> Self {
        Self(Arc::new(Pool {
            connector,
            proxy,
            max_idle,
            idle_timeout,
            idle: Mutex::default(),
        }))
    }
}

impl<C> HttpService<RequestBody> for PooledClient<C>
where
    C: Service<Uri, Error = BoxError> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Send + Unpin + 'static,
    C::Future: Send,
{
    fn send(
        &self,
        mut request: Request<RequestBody>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>> {
        let pool = Arc::clone(&self.0);
        Box::pin(async move {
            let url = request.uri().clone();
            match &pool.proxy {
                // A proxy gets the whole URL: RFC 9112, section 3.2.2.
                Some(proxy) => {
                    if let Some(value) = &proxy.authorization {
                        request
                            .headers_mut()
                            .insert(PROXY_AUTHORIZATION, value.clone());
                    }
                }
                None => {
                    let path = url.path_and_query().cloned();
                    let path = path.unwrap_or(PathAndQuery::from_static("/"));
                    *request.uri_mut() = Uri::from(path);
                }
            }
            loop {
                let idle = pool.take();
                let is_reused = idle.is_some();
                let mut connection = match idle {
                    Some(connection) => connection,
                    // Boxed because this branch is rare.
                    None => Box::pin(pool.connect(url.clone())).await?,
                };
                match connection.exchange(request).await {
                    Ok(response) => {
                        if let Some(proxy) = &pool.proxy
                            && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                        {
                            let error = ProxyError::authentication(proxy, response.headers());
                            // The proxy accepted an earlier request of this connection, so this response may be the server's.
                            return Err(match is_reused {
                                true => error.into(),
                                false => ConnectError(error.into()).into(),
                            });
                        }
                        let body = |body| DrivenBody::new(body, connection, pool);
                        return Ok(response.map(|incoming| ResponseBody::new(body(incoming))));
                    }
                    Err(mut error) => match error.take_message() {
                        // The server has closed the idle connection, and nothing was sent.
                        Some(unsent) if is_reused => request = unsent,
                        _ => return Err(error.into_error().into()),
                    },
                }
            }
        })
    }
}

/// Idle connections, and the connector for new connections.
struct Pool<C> {
    connector: C,
    /// The proxy that forwards all requests.
    proxy: Option<ProxyAddress>,
    max_idle: usize,
    idle_timeout: Duration,
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// The idle connections, oldest first. Each has the time at which it became idle.
    connections: Vec<(Http1Connection, Instant)>,
    /// The task that closes connections after the idle timeout. The task runs while there are idle connections.
    reaper: Option<AbortHandle>,
}

impl Drop for IdleConnections {
    fn drop(&mut self) {
        if let Some(reaper) = &self.reaper {
            reaper.abort();
        }
    }
}

impl<C> Pool<C> {
    /// Removes and returns the connection that was used last.
    fn take(&self) -> Option<Http1Connection> {
        lock(&self.idle).connections.pop().map(|(taken, _)| taken)
    }
}

impl<C: Send + Sync + 'static> Pool<C> {
    /// Keeps a connection for the next request, if it can be used again.
    fn put(self: &Arc<Self>, mut connection: Http1Connection) {
        if !connection.is_ready() {
            connection.drive(&mut Context::from_waker(Waker::noop()));
        }
        let mut idle = lock(&self.idle);
        if !connection.is_ready() || idle.connections.len() >= self.max_idle {
            return;
        }
        if idle.reaper.is_none() {
            // Outside of a runtime, nothing would close the connection.
            let Ok(runtime) = Handle::try_current() else {
                return;
            };
            let deadline = Instant::now() + self.idle_timeout;
            let reaper = runtime.spawn(reap(Arc::downgrade(self), deadline));
            idle.reaper = Some(reaper.abort_handle());
        }
        idle.connections.push((connection, Instant::now()));
    }
}

impl<C> Pool<C>
where
    C: Service<Uri, Error = BoxError> + Clone,
    C::Response: Read + Write + Send + Unpin + 'static,
{
    async fn connect(&self, url: Uri) -> Result<Http1Connection, BoxError> {
        let mut connector = self.connector.clone();
        poll_fn(|cx| connector.poll_ready(cx)).await?;
        let stream = connector.call(url).await.map_err(ConnectError)?;
        let (sender, connection) = handshake(stream).await?;
        Ok(Http1Connection {
            sender,
            driver: Some(Box::pin(connection)),
        })
    }
}

/// Closes each idle connection at its timeout. Returns when there are no more idle connections. `deadline` is the first timeout.
async fn reap<C>(pool: Weak<Pool<C>>, mut deadline: Instant) {
    loop {
        sleep_until(deadline).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = lock(&pool.idle);
        let now = Instant::now();
        let expired = |(_, since): &(_, Instant)| *since + pool.idle_timeout <= now;
        let count = idle.connections.partition_point(expired);
        idle.connections.drain(..count);
        match idle.connections.first() {
            Some((_, since)) => deadline = *since + pool.idle_timeout,
            None => {
                idle.reaper = None;
                return;
            }
        }
    }
}

/// A connection. It makes progress only while it is polled.
struct Http1Connection {
    sender: SendRequest<RequestBody>,
    /// The future that reads and writes. `None` after the connection has ended.
    driver: Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>,
}

impl Http1Connection {
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && let Poll::Ready(end) = driver.as_mut().poll(cx)
        {
            if let Err(error) = end {
                tracing::debug!(%error, "a connection to the server ended");
            }
            self.driver = None;
        }
    }

    fn is_ready(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of the response.
    async fn exchange(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        // Only the driver completes this future, so it needs no waker. `unconstrained` prevents it from yielding to the
        // runtime, which would wake that waker.
        let response = unconstrained(self.sender.try_send_request(request));
        let mut response = pin!(response);
        poll_fn(|cx| {
            self.drive(cx);
            response
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }
}

/// The body of a response. Polling it drives the connection. At its end, it returns the connection to the pool.
struct DrivenBody<C: Send + Sync + 'static> {
    /// The body from hyper. It is `None` only during `drop`.
    incoming: Option<Incoming>,
    connection: Option<Http1Connection>,
    pool: Arc<Pool<C>>,
}

impl<C: Send + Sync + 'static> DrivenBody<C> {
    fn new(incoming: Incoming, connection: Http1Connection, pool: Arc<Pool<C>>) -> Self {
        let is_empty = incoming.is_end_stream();
        let mut body = Self {
            incoming: Some(incoming),
            connection: Some(connection),
            pool,
        };
        if is_empty {
            body.release();
        }
        body
    }

    fn release(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.put(connection);
        }
    }

    /// Removes and returns a frame that was already read from the connection.
    fn poll_received(&mut self) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.incoming {
            Some(incoming) => {
                Pin::new(incoming).poll_frame(&mut Context::from_waker(Waker::noop()))
            }
            None => Poll::Ready(None),
        }
    }
}

impl<C: Send + Sync + 'static> Body for DrivenBody<C> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let mut frame = this.poll_received();
        if frame.is_pending()
            && let Some(connection) = &mut this.connection
        {
            connection.drive(cx);
            frame = this.poll_received();
        }
        if matches!(frame, Poll::Ready(None)) || this.is_end_stream() {
            this.release();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl<C: Send + Sync + 'static> Drop for DrivenBody<C> {
    fn drop(&mut self) {
        // Without a reader, hyper discards the rest of the body if it has arrived, and closes the connection otherwise.
        self.incoming = None;
        self.release();
    }
}

/// An error from the connector. The request was not sent.
#[derive(Debug)]
pub(crate) struct ConnectError(BoxError);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    /// Requests are polled without a waker (docs/adr/0056-fenced-optimisations.md). This is correct only as long as hyper
    /// completes requests while the connection is polled.
    #[tokio::test]
    async fn a_response_completes_only_while_its_connection_is_polled() {
        let (stream, mut server) = duplex(1_024);
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        let mut connection = pin!(connection);
        let request = Request::new(String::new());
        let mut response = pin!(unconstrained(sender.try_send_request(request)));
        let mut cx = Context::from_waker(Waker::noop());

        assert!(response.as_mut().poll(&mut cx).is_pending());
        assert!(connection.as_mut().poll(&mut cx).is_pending());
        assert!(server.read(&mut [0; 1_024]).await.unwrap() > 0);
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        server.write_all(head).await.unwrap();
        assert!(response.as_mut().poll(&mut cx).is_pending());
        assert!(connection.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut cx) else {
            panic!("the connection was polled and the response is not complete");
        };
        assert_eq!(response.status(), 200);
    }
}
