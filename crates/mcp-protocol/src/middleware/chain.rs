//! The trait of middleware, and the chain in which it runs.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::message::{Direction, Notification, Request};
use super::response::Response;
use crate::modern::RequestMeta;
use crate::{BoxFuture, Exchange, Outcome, Reply, guarded};

/// Code around the requests and notifications of a server or client, in both directions.
///
/// A middleware may answer a request without calling `next`, change the params before it calls
/// `next`, and change the response after. It is shared by all connections. A function or closure
/// `async |request, next| ..` is a middleware that sees only requests.
///
/// ```
/// use mcp_protocol::middleware::{Middleware, Next, Request, Response};
///
/// /// Logs the methods of requests.
/// struct LogMethods;
///
/// impl Middleware for LogMethods {
///     async fn request(&self, request: Request, next: Next) -> Response {
///         let method = request.method().to_owned();
///         let response = next.run(request).await;
///         eprintln!("{method}: {response:?}");
///         response
///     }
/// }
/// ```
///
/// # Cancel safety
/// The future of a request is dropped when the request is cancelled or its deadline passes. A panic
/// fails that request only.
pub trait Middleware: Send + Sync + 'static {
    /// Returns the name for logs and `Debug`. Default: the name of the type.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// Handles a request. Default: passes it on.
    fn request(&self, request: Request, next: Next) -> impl Future<Output = Response> + Send {
        next.run(request)
    }

    /// Handles a notification. It must not block. A notification that is not passed to `next` is
    /// dropped. Default: passes it on.
    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        next.run(notification);
    }
}

impl<F, R> Middleware for F
where
    F: Fn(Request, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Response> + Send,
{
    fn request(&self, request: Request, next: Next) -> impl Future<Output = Response> + Send {
        self(request, next)
    }
}

/// A middleware that several servers or clients can share.
#[derive(Clone)]
pub struct SharedMiddleware(Arc<dyn Erased>);

impl SharedMiddleware {
    /// Shares a middleware.
    pub fn new(middleware: impl Middleware) -> Self {
        Self(Arc::new(middleware))
    }
}

impl fmt::Debug for SharedMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

trait Erased: Send + Sync {
    fn name(&self) -> &'static str;
    fn request(self: Arc<Self>, request: Request, next: Next) -> BoxFuture<'static, Response>;
    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>);
}

impl<M: Middleware> Erased for M {
    fn name(&self) -> &'static str {
        Middleware::name(self)
    }

    fn request(self: Arc<Self>, request: Request, next: Next) -> BoxFuture<'static, Response> {
        Box::pin(async move { Middleware::request(&*self, request, next).await })
    }

    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        Middleware::notification(self, notification, next);
    }
}

/// Runs a blocking handler on another thread and returns its outcome.
pub type RunBlocking = fn(Box<dyn FnOnce() -> Outcome + Send>) -> BoxFuture<'static, Outcome>;

/// The middleware of a server or client, in order: the first one is the outermost. `Debug` shows
/// the names.
#[derive(Clone)]
pub struct Layers {
    all: Arc<[SharedMiddleware]>,
    run_blocking: RunBlocking,
}

/// What a request reaches after all middleware.
enum End {
    /// The server, without an allocation.
    Server(Arc<dyn Receive>, Exchange, Option<RequestMeta>),
    Other(Box<dyn FnOnce(Request) -> Responding + Send>),
}

/// The side that handles inbound requests behind the middleware.
pub(crate) trait Receive: Send + Sync {
    /// Handles a request, which has metadata on the stateless revision.
    fn receive(
        &self,
        request: &mcp_jsonrpc::Request<'_>,
        exchange: Exchange,
        meta: Option<RequestMeta>,
    ) -> Reply;
}

/// The future of a response, which [`Next::run`] returns.
///
/// # Cancel safety
/// Dropping it cancels the request.
pub struct Responding(State);

enum State {
    /// The response is ready; `None` after it was returned.
    Ready(Option<Response>),
    Pending(BoxFuture<'static, Response>),
}

impl Responding {
    pub(super) fn ready(response: Response) -> Self {
        Self(State::Ready(Some(response)))
    }

    fn of_reply(reply: Reply, run_blocking: RunBlocking) -> Self {
        match reply {
            Reply::Ready(outcome) => Self::ready(outcome.into()),
            Reply::Pending(future) => Self::pending(Box::pin(async move { future.await.into() })),
            Reply::Blocking(work) => {
                let work = run_blocking(work);
                Self::pending(Box::pin(async move { work.await.into() }))
            }
        }
    }

    pub(super) fn pending(future: BoxFuture<'static, Response>) -> Self {
        Self(State::Pending(future))
    }
}

impl Future for Responding {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        match &mut self.0 {
            State::Ready(response) => match response.take() {
                Some(response) => Poll::Ready(response),
                None => Poll::Pending,
            },
            State::Pending(future) => future.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for Responding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responding")
    }
}

impl Layers {
    /// Creates the layers; `None` without middleware, so that messages take the shorter path.
    /// `run_blocking` runs blocking handlers behind the middleware.
    pub fn new(all: Vec<SharedMiddleware>, run_blocking: RunBlocking) -> Option<Self> {
        (!all.is_empty()).then(|| Self {
            all: all.into(),
            run_blocking,
        })
    }

    /// Returns these layers and, inside of them, `inner`.
    pub(crate) fn and(&self, inner: &Self) -> Self {
        Self {
            all: self.all.iter().chain(&*inner.all).cloned().collect(),
            run_blocking: self.run_blocking,
        }
    }

    fn next(&self, end: End) -> Next {
        Next {
            rest: 0..self.all.len(),
            layers: self.clone(),
            end,
        }
    }

    /// Passes an inbound request through the middleware to `end`.
    pub fn inbound(
        &self,
        request: Request,
        end: impl FnOnce(Request) -> Reply + Send + 'static,
    ) -> Reply {
        let run_blocking = self.run_blocking;
        let end = move |request| Responding::of_reply(end(request), run_blocking);
        self.run_inbound(request, End::Other(Box::new(end)))
    }

    /// Passes a request to a server through its middleware.
    pub(crate) fn to_server(
        &self,
        request: Request,
        server: Arc<dyn Receive>,
        exchange: Exchange,
        meta: Option<RequestMeta>,
    ) -> Reply {
        self.run_inbound(request, End::Server(server, exchange, meta))
    }

    fn run_inbound(&self, request: Request, end: End) -> Reply {
        let mut response = self.next(end).run(request);
        // Most middleware waits for nothing but the handler. A response that is ready at once needs no
        // task; otherwise the transport polls again, with its own waker.
        let polled = Pin::new(&mut response).poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(response) => Reply::Ready(response.into_outcome()),
            Poll::Pending => Reply::Pending(Box::pin(async move { response.await.into_outcome() })),
        }
    }

    /// Passes an outbound request through the middleware to `end`.
    pub(crate) fn outbound(
        &self,
        request: Request,
        end: impl FnOnce(Request) -> BoxFuture<'static, Response> + Send + 'static,
    ) -> Responding {
        let end = move |request| Responding::pending(end(request));
        self.next(End::Other(Box::new(end))).run(request)
    }

    /// Passes a notification through the middleware to `end`. After a panic it is dropped.
    pub(crate) fn notify(
        &self,
        notification: Notification<'_>,
        end: &mut dyn FnMut(Notification<'_>),
    ) {
        let next = NextNotification {
            layers: self,
            rest: 0..self.all.len(),
            end,
        };
        let method = notification.method.clone().into_owned();
        if guarded(|| next.run(notification)).is_err() {
            tracing::error!(
                method,
                "a middleware panicked; the notification was dropped"
            );
        }
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

/// Takes the next position: from the front for inbound messages, from the back for outbound ones.
fn take(rest: &mut Range<usize>, direction: Direction) -> Option<usize> {
    match direction {
        Direction::Inbound => rest.next(),
        Direction::Outbound => rest.next_back(),
    }
}

/// The rest of the way of a request.
pub struct Next {
    layers: Layers,
    rest: Range<usize>,
    end: End,
}

impl Next {
    /// Passes the request on, and completes with the response.
    pub fn run(mut self, request: Request) -> Responding {
        let position = take(&mut self.rest, request.direction());
        match position.and_then(|position| self.layers.all.get(position)) {
            Some(SharedMiddleware(middleware)) => {
                Responding::pending(Arc::clone(middleware).request(request, self))
            }
            None => match self.end {
                End::Server(server, exchange, meta) => {
                    let reply = server.receive(&request.as_message(), exchange, meta);
                    Responding::of_reply(reply, self.layers.run_blocking)
                }
                End::Other(end) => end(request),
            },
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Next").field(&self.rest).finish()
    }
}

/// The rest of the way of a notification.
pub struct NextNotification<'a> {
    layers: &'a Layers,
    rest: Range<usize>,
    end: &'a mut dyn FnMut(Notification<'_>),
}

impl NextNotification<'_> {
    /// Passes the notification on.
    pub fn run(mut self, notification: Notification<'_>) {
        let position = take(&mut self.rest, notification.direction);
        match position.and_then(|position| self.layers.all.get(position)) {
            Some(SharedMiddleware(middleware)) => middleware.notification(notification, self),
            None => (self.end)(notification),
        }
    }
}

impl fmt::Debug for NextNotification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NextNotification").field(&self.rest).finish()
    }
}
