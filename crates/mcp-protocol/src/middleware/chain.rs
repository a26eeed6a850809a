//! The chain of middleware through which each message passes.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::ErrorObject;

use super::layer::SharedMiddleware;
use super::message::{Content, Direction, Notification, Request, Response};
use crate::connection::{BlockingWork, Discarded, OpenedSession, Role, SessionEnd};
use crate::modern::RequestMeta;
use crate::{BoxFuture, Exchange, Outcome, Reply, guarded};

/// A function that runs a blocking handler on another thread and returns its outcome.
pub type RunBlocking = fn(BlockingWork) -> BoxFuture<'static, Outcome>;

/// The middleware of a server or client, in order. The first middleware is the outermost. `Debug` shows the names.
#[derive(Clone)]
pub struct Layers {
    all: Arc<[SharedMiddleware]>,
    run_blocking: RunBlocking,
}

/// The receiver that a request reaches after all middleware.
enum End {
    /// A server. This variant needs no allocation.
    Server(Arc<dyn Receive>, Exchange, Option<RequestMeta>),
    /// A function that is called once. The mutex makes it `Sync`.
    Other(Mutex<Box<dyn FnOnce(Request) -> Responding + Send>>),
}

impl End {
    fn other(end: impl FnOnce(Request) -> Responding + Send + 'static) -> Self {
        Self::Other(Mutex::new(Box::new(end)))
    }
}

/// A receiver of the inbound requests that have passed through the middleware.
pub(crate) trait Receive: Send + Sync {
    /// Handles a request. `meta` is its metadata, which exists only on the stateless revision.
    fn receive(
        &self,
        request: &mcp_jsonrpc::Request<'_>,
        exchange: Exchange,
        meta: Option<RequestMeta>,
    ) -> Reply;
}

/// A future that completes with a response. [`Next::run`] returns it.
///
/// # Cancel safety
/// Dropping the future cancels the request.
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

    fn of_reply(reply: Reply, layers: &Layers) -> Self {
        match reply {
            Reply::Ready(outcome) => Self::ready(outcome.into()),
            Reply::Pending(future) => Self::pending(Box::pin(async move { future.await.into() })),
            Reply::Blocking(work) => {
                let inside_out = layers.all.iter().rev();
                let work = inside_out.fold(work, |work, layer| layer.0.blocking(work));
                let work = (layers.run_blocking)(work);
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
    /// Creates the layers. Returns `None` if there is no middleware, so that messages skip this code. `run_blocking` runs
    /// blocking handlers inside the middleware.
    pub fn new(all: Vec<SharedMiddleware>, run_blocking: RunBlocking) -> Option<Self> {
        (!all.is_empty()).then(|| Self {
            all: all.into(),
            run_blocking,
        })
    }

    /// Creates the layers of a service without blocking handlers. Returns `None` if there is no middleware.
    pub fn of_async(all: Vec<SharedMiddleware>) -> Option<Self> {
        Self::new(all, |work| Box::pin(async move { work() }))
    }

    /// Returns the combined middleware. The middleware of `self` is outside, and the middleware of `inner` is inside.
    pub(crate) fn and(&self, inner: &Self) -> Self {
        Self {
            all: self.all.iter().chain(&*inner.all).cloned().collect(),
            run_blocking: self.run_blocking,
        }
    }

    /// Passes a request to the first middleware. `end` receives the request after the last middleware.
    #[inline]
    fn start(&self, mut request: Request, end: End) -> Responding {
        request.set_rest(ChainRest {
            positions: 0..self.all.len(),
            layers: self.clone(),
            end,
        });
        Next { _private: () }.run(request)
    }

    /// Passes an inbound request through the middleware. `end` receives the request after the last middleware.
    pub fn inbound(
        &self,
        request: Request,
        end: impl FnOnce(Request) -> Reply + Send + 'static,
    ) -> Reply {
        let layers = self.clone();
        let end = move |request| Responding::of_reply(end(request), &layers);
        self.run_inbound(request, End::other(end))
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

    #[inline]
    fn run_inbound(&self, request: Request, end: End) -> Reply {
        let mut response = self.start(request, end);
        // Most middleware waits only for the handler. A response that is ready at once needs no task.
        // For a pending response, the transport polls again, with its own waker.
        let polled = Pin::new(&mut response).poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(response) => Reply::Ready(response.into_outcome()),
            Poll::Pending => Reply::Pending(Box::pin(async move { response.await.into_outcome() })),
        }
    }

    /// Passes an outbound request through the middleware. `end` receives the request after the last middleware.
    pub(crate) fn outbound(
        &self,
        request: Request,
        end: impl FnOnce(Request) -> BoxFuture<'static, Response> + Send + 'static,
    ) -> Responding {
        let end = move |request| Responding::pending(end(request));
        self.start(request, End::other(end))
    }

    /// Passes a notification through the middleware. `end` receives it after the last middleware. If a middleware panics, the
    /// notification is dropped.
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

    /// Lets each middleware wrap the handler of a call that continues as a task. Returns the wrapped handler.
    pub fn background(&self, handler: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
        let inside_out = self.all.iter().rev();
        inside_out.fold(handler, |handler, layer| layer.0.background(handler))
    }

    /// Notifies each middleware of an opened session. Returns the functions to call at the end of the session.
    pub(crate) fn session(&self, session: OpenedSession) -> impl Iterator<Item = SessionEnd> {
        let report = move |SharedMiddleware(layer): &SharedMiddleware| {
            guarded(|| layer.session(session)).ok().flatten()
        };
        self.all.iter().filter_map(report)
    }

    /// Notifies each middleware of a message that is discarded before it reaches the middleware.
    pub fn discarded(&self, role: Role, message: Discarded<'_>) {
        for SharedMiddleware(layer) in &*self.all {
            if guarded(|| layer.discarded(role, message)).is_err() {
                tracing::error!("a middleware panicked; the message is discarded");
            }
        }
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

/// Removes and returns the index of the next middleware in `rest`. Takes it from the front for inbound messages, and from the
/// back for outbound messages.
fn take(rest: &mut Range<usize>, direction: Direction) -> Option<usize> {
    match direction {
        Direction::Inbound => rest.next(),
        Direction::Outbound => rest.next_back(),
    }
}

/// The middleware that a request has not passed through yet. It is stored in the request, so that each middleware moves only one
/// pointer.
pub(super) struct ChainRest {
    layers: Layers,
    positions: Range<usize>,
    end: End,
}

/// The next step for a request in a middleware. It can be used once.
pub struct Next {
    _private: (),
}

impl Next {
    /// Passes the request on, and returns the future of its response.
    pub fn run(self, mut request: Request) -> Responding {
        let direction = request.direction();
        if let Some(ChainRest {
            positions, layers, ..
        }) = request.chain_rest()
            && let Some(position) = take(positions, direction)
            && let Some(SharedMiddleware(middleware)) = layers.all.get(position)
        {
            let middleware = Arc::clone(middleware);
            return Responding::pending(middleware.request(request, self));
        }
        end(request)
    }
}

/// Passes a request to its receiver after the last middleware. This function is separate, so that [`Next::run`], which
/// every middleware calls, stays small.
#[inline(never)]
fn end(mut request: Request) -> Responding {
    let Some(ChainRest { layers, end, .. }) = request.take_rest() else {
        return Responding::ready(Response::error(ErrorObject::internal(
            "the request was already passed on",
        )));
    };
    match end {
        End::Server(server, exchange, meta) => {
            match request.read(|request| server.receive(request, exchange, meta)) {
                Reply::Ready(outcome) => {
                    Responding::ready(request.respond(Content::Outcome(outcome)))
                }
                reply => {
                    request.end();
                    Responding::of_reply(reply, &layers)
                }
            }
        }
        End::Other(end) => end.into_inner().unwrap_or_else(PoisonError::into_inner)(request),
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// The next step for a notification in a middleware. It can be used once.
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
