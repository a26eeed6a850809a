//! The seam between a session and a server.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{Notification, Request};
use mcp_types::{Implementation, ServerCapabilities};

use crate::http_headers::HeaderParams;
use crate::modern::CacheHint;
use crate::{Reply, RequestContext, Revision, Session};

/// A whole server as one value: transports drive it, `mcp-server` builds it.
///
/// The session has already answered `initialize` and `ping`, refused what the negotiated
/// revision or the declared capabilities do not allow, and handled cancellation.
pub trait Service: Send + Sync + 'static {
    /// Whether the server can be served at all; transports ask before they start.
    ///
    /// # Errors
    /// What has to be mended, for the person who starts the server.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// What the handshake tells the client, or `server/discover`. Asked once per session.
    fn facts(&self) -> ServerFacts;

    /// Changes whenever [`facts`](Self::facts) do: what serves requests without a handshake asks
    /// for them only then. Default: they never change.
    fn edition(&self) -> u64 {
        0
    }

    /// A request of a session that is open.
    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply;

    /// A notification of a session that is open.
    fn notification(&self, _notification: &Notification<'_>, _session: &Arc<Session>) {}

    /// The parameters of a tool that have HTTP headers of their own. Default: none.
    fn header_params(&self, _tool: &str) -> Option<Arc<HeaderParams>> {
        None
    }

    /// A transport stops serving: what was meant to last, such as subscriptions, ends now and in
    /// good order.
    fn closing(&self) {}

    /// The client sent `notifications/initialized`: from now on the server may speak unasked.
    fn opened(&self, _session: &Arc<Session>) {}

    /// The session ended.
    fn closed(&self, _session: &Arc<Session>) {}

    /// How long a request may take. Default: no limit.
    fn deadline(&self) -> Option<Duration> {
        None
    }
}

impl<S: Service + ?Sized> Service for Arc<S> {
    fn ready(&self) -> Result<(), String> {
        (**self).ready()
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
}

/// What a server tells of itself in the handshake.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Name, version and the rest.
    pub info: Implementation,
    /// What it offers; derived from what is registered.
    pub capabilities: ServerCapabilities,
    /// Advice for the model.
    pub instructions: Option<String>,
    /// The revisions it serves.
    pub revisions: Vec<Revision>,
    /// How long clients may keep its lists.
    pub lists: CacheHint,
    /// How long clients may keep what they read of its resources.
    pub reads: CacheHint,
}

impl ServerFacts {
    /// Facts with every revision served and no instructions.
    pub fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            capabilities,
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            lists: CacheHint::NONE,
            reads: CacheHint::NONE,
        }
    }
}
