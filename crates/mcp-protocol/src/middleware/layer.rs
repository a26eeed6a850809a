//! The trait of middleware.

use std::fmt;
use std::sync::Arc;

use super::chain::{Next, NextNotification};
use super::message::{Notification, Request, Response};
use crate::connection::{BlockingWork, Discarded, OpenedSession, Role, SessionEnd};
use crate::{BoxFuture, Outcome};

/// Code around the requests and notifications of a server or client, in both directions.
///
/// A middleware may answer a request without calling `next`, change the params before it calls `next`, and change the response
/// afterwards. All connections share one middleware value. A function or closure `async |request, next| ..` is a middleware for
/// requests only.
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

    /// Handles a notification; must not block. A notification that is not passed to `next` is
    /// dropped. Default: passes it on.
    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        next.run(notification);
    }

    /// Returns the work of a blocking handler, or a function that wraps it. This method is called on the task that handles the
    /// request. The work runs on another thread. Default: returns the work unchanged.
    fn blocking(&self, work: BlockingWork) -> BlockingWork {
        work
    }

    /// Returns the handler of a call that continues as a task, or a future that wraps the handler. This method is called on the
    /// task that handles the request. The future runs in the background. Default: returns the handler unchanged.
    fn background(&self, handler: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
        handler
    }

    /// Called when a session is opened. Returns a function that is called when the session has ended. Neither function may block.
    /// Default: nothing.
    fn session(&self, _session: OpenedSession) -> Option<SessionEnd> {
        None
    }

    /// Called when a message of the peer is discarded before it reaches the middleware. The method must not block. Default:
    /// nothing.
    fn discarded(&self, _role: Role, _message: Discarded<'_>) {}
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
pub struct SharedMiddleware(pub(super) Arc<dyn Erased>);

impl SharedMiddleware {
    /// Wraps a middleware so that it can be shared.
    pub fn new(middleware: impl Middleware) -> Self {
        Self(Arc::new(middleware))
    }
}

impl fmt::Debug for SharedMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

pub(super) trait Erased: Send + Sync {
    fn name(&self) -> &'static str;
    fn request(self: Arc<Self>, request: Request, next: Next) -> BoxFuture<'static, Response>;
    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>);
    fn blocking(&self, work: BlockingWork) -> BlockingWork;
    fn background(&self, handler: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome>;
    fn session(&self, session: OpenedSession) -> Option<SessionEnd>;
    fn discarded(&self, role: Role, message: Discarded<'_>);
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

    fn blocking(&self, work: BlockingWork) -> BlockingWork {
        Middleware::blocking(self, work)
    }

    fn background(&self, handler: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
        Middleware::background(self, handler)
    }

    fn session(&self, session: OpenedSession) -> Option<SessionEnd> {
        Middleware::session(self, session)
    }

    fn discarded(&self, role: Role, message: Discarded<'_>) {
        Middleware::discarded(self, role, message);
    }
}
