//! The traits between a session and a server.

mod context;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_types::{Implementation, ServerCapabilities};

use crate::http_headers::HeaderParams;
use crate::middleware::Layers;
use crate::{BoxFuture, Budget, CacheHint, Reply, Revision, Session, Tolerance};

pub use context::RequestContext;

/// A complete server, which a transport runs. `mcp-server` builds one.
///
/// Before the session calls the service, it answers `initialize` and `ping`, and handles cancellation. It also rejects requests
/// that the negotiated revision or the declared capabilities do not allow.
pub trait Service: Send + Sync + 'static {
    /// Called when a transport begins to serve: background work may start now. Default: nothing.
    fn start(&self) {}

    /// Returns the facts that `initialize` or `server/discover` reports to the client. Called once per session; on the stateless
    /// revision, see [`edition`](Self::edition).
    fn facts(&self) -> ServerFacts;

    /// Returns a number that changes whenever [`facts`](Self::facts) change. On the stateless
    /// revision, `facts` is called again only after this number has changed. Default: the facts never change.
    fn edition(&self) -> u64 {
        0
    }

    /// Handles a request of an open session.
    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply;

    /// Handles a notification of an open session.
    fn notification(&self, _notification: &Notification<'_>, _session: &Arc<Session>) {}

    /// Returns the parameters of a tool that are echoed in HTTP headers. Default: none.
    fn header_params(&self, _tool: &str) -> Option<Arc<HeaderParams>> {
        None
    }

    /// Called when a transport starts its graceful shutdown. The service then ends its subscriptions.
    fn closing(&self) {}

    /// Called after `notifications/initialized`. From now on the server may send messages that do not belong to a request.
    fn opened(&self, _session: &Arc<Session>) {}

    /// Called when the session has ended.
    fn closed(&self, _session: &Arc<Session>) {}

    /// Returns the time after which a request is answered with an error. Default: no limit.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Returns whether the service handles a method that is not part of the protocol. Default: `false`.
    fn has_method(&self, _method: &str) -> bool {
        false
    }

    /// Returns a future that fails if the service cannot serve requests, because a server behind the service does not respond.
    /// Called for `ping` and `server/discover` if the request asks for the readiness of the service. Default: `None`, which
    /// means that the service is always ready.
    #[doc(hidden)]
    fn readiness(&self) -> Option<BoxFuture<'static, Result<(), ErrorObject>>> {
        None
    }

    /// Returns the limit on the memory of the subscriptions and cached roots of all sessions. Default: a separate
    /// limit for each session.
    #[doc(hidden)]
    fn subscription_budget(&self) -> Budget {
        Budget::new("subscriptions", 1 << 20)
    }

    /// Returns a message authentication code for `parts`. All processes of the server must use the same key. Default: `None`.
    #[doc(hidden)]
    fn sign(&self, _parts: &[&[u8]]) -> Option<String> {
        None
    }

    /// Returns whether the operator has set the key of [`sign`](Self::sign). If so, all processes of the server have this key, so
    /// data without a valid code was not written by the server. Default: `false`, which means that other processes do not have
    /// the key.
    #[doc(hidden)]
    fn has_shared_key(&self) -> bool {
        false
    }

    /// Returns whether [`sign`](Self::sign) returned `code` for `parts`, in any process of the server. Default: `false`.
    #[doc(hidden)]
    fn has_signed(&self, _parts: &[&[u8]], _code: &str) -> bool {
        false
    }

    /// Returns the middleware around all messages of the server. Called once per session. Default:
    /// none.
    fn layers(&self) -> Option<Layers> {
        None
    }
}

impl<S: Service + ?Sized> Service for Arc<S> {
    fn start(&self) {
        (**self).start();
    }

    fn facts(&self) -> ServerFacts {
        (**self).facts()
    }

    fn edition(&self) -> u64 {
        (**self).edition()
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        (**self).request(request, context)
    }

    fn notification(&self, notification: &Notification<'_>, session: &Arc<Session>) {
        (**self).notification(notification, session);
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        (**self).header_params(tool)
    }

    fn closing(&self) {
        (**self).closing();
    }

    fn opened(&self, session: &Arc<Session>) {
        (**self).opened(session);
    }

    fn closed(&self, session: &Arc<Session>) {
        (**self).closed(session);
    }

    fn deadline(&self) -> Option<Duration> {
        (**self).deadline()
    }

    fn readiness(&self) -> Option<BoxFuture<'static, Result<(), ErrorObject>>> {
        (**self).readiness()
    }

    fn has_method(&self, method: &str) -> bool {
        (**self).has_method(method)
    }

    fn subscription_budget(&self) -> Budget {
        (**self).subscription_budget()
    }

    fn sign(&self, parts: &[&[u8]]) -> Option<String> {
        (**self).sign(parts)
    }

    fn has_shared_key(&self) -> bool {
        (**self).has_shared_key()
    }

    fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        (**self).has_signed(parts, code)
    }

    fn layers(&self) -> Option<Layers> {
        (**self).layers()
    }
}

/// A server that can be served, or the builder of a server.
///
/// Transports accept any type that implements this trait. Every [`Service`] implements it. A builder implements it by building
/// its server.
pub trait IntoService: Sized + Send + 'static {
    /// Returns the server.
    ///
    /// # Errors
    /// The configuration is invalid; the error says what to correct.
    fn into_service(self) -> Result<Arc<dyn Service>, InvalidServer>;
}

impl<S: Service> IntoService for S {
    fn into_service(self) -> Result<Arc<dyn Service>, InvalidServer> {
        Ok(Arc::new(self))
    }
}

/// The error for an invalid configuration of a server. Its text says what to correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidServer(String);

impl InvalidServer {
    /// Creates an error; `problem` says what to correct.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for InvalidServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidServer {}

/// The description of a server that `initialize` and `server/discover` report.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Name, version and descriptive members.
    pub info: Implementation,
    /// The capabilities, derived from the registered items.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The supported revisions.
    pub revisions: Vec<Revision>,
    /// The cache hint for lists.
    pub lists: CacheHint,
    /// The cache hint for the contents of resources.
    pub reads: CacheHint,
    /// The strictness towards clients, and the number of tolerated deviations.
    pub tolerance: Arc<Tolerance>,
}

impl ServerFacts {
    /// Creates facts with all revisions and without instructions.
    pub fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            capabilities,
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            lists: CacheHint::NONE,
            reads: CacheHint::NONE,
            tolerance: Arc::default(),
        }
    }
}
