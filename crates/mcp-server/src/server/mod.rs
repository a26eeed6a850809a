//! The server: its handle and the service for transports.

pub(crate) mod builder;
mod compose;
pub(crate) mod core;
mod extension;
pub(crate) mod lists;
#[cfg(feature = "log")]
pub(crate) mod log;
mod sessions;
pub(crate) mod settings;
pub(crate) mod subscriptions;
#[cfg(all(test, feature = "testing"))]
mod tests;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::{Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{Reply, RequestContext, ServerFacts, Service, Session};

use self::builder::ServerBuilder;
use self::core::Core;
use self::lists::{Prompts, Resources, Tools};
use crate::handler::server::ReportChange as _;
use crate::{Call, Change, Extraction, FromCall, HandlerError};

/// A server with state `S`: a handle, which a clone shares.
///
/// Create it with [`Server::builder`], and pass it to `serve` of a transport. The lists of a server
/// may change while it is served, with [`tools`](Self::tools), [`prompts`](Self::prompts) and
/// [`resources`](Self::resources); connected clients are notified. Its settings do not change.
pub struct Server<S = ()> {
    pub(crate) core: Arc<Core>,
    state: S,
}

impl Server<()> {
    /// Returns the builder of a server with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name, version)
    }
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Returns the tools, to add and remove some.
    pub fn tools(&self) -> Tools<'_, S> {
        Tools(self)
    }

    /// Returns the prompts, to add and remove some.
    pub fn prompts(&self) -> Prompts<'_, S> {
        Prompts(self)
    }

    /// Returns the resources and resource templates, to add and remove some.
    pub fn resources(&self) -> Resources<'_, S> {
        Resources(self)
    }

    /// Notifies the clients of this process of a change that a [`ChangeBus`](crate::ChangeBus)
    /// delivered.
    pub fn deliver(&self, change: &Change) {
        self.core.deliver(change);
    }

    /// Returns the number of open subscriptions (`subscriptions/listen`, stateless revision).
    pub fn subscribers(&self) -> usize {
        self.core.subscriptions.len()
    }

    /// Notifies clients that the results of `visible_if` rules changed.
    pub fn visibility_changed(&self) {
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            self.core.changed(change);
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Service for Server<S> {
    #[cfg(feature = "tasks")]
    fn start(&self) {
        self.core.start_recovery();
    }

    fn facts(&self) -> ServerFacts {
        self.core.facts()
    }

    fn edition(&self) -> u64 {
        self.core.edition()
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        self.core.route(request, context)
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        self.core
            .tools
            .snapshot()
            .header_params(tool)?
            .header_params
            .clone()
    }

    fn closing(&self) {
        self.core.subscriptions.end();
    }

    fn notification(&self, notification: &Notification<'_>, _session: &Arc<Session>) {
        tracing::trace!(method = %notification.method, "notification");
    }

    fn opened(&self, session: &Arc<Session>) {
        self.core.opened(session);
    }

    fn closed(&self, session: &Arc<Session>) {
        self.core.closed(session);
    }

    fn deadline(&self) -> Option<Duration> {
        self.core.settings.deadline
    }
}

/// The server that serves the call, with the state of the handler. Handlers change its lists.
impl<S: Clone + Send + Sync + 'static> FromCall<S> for Server<S> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, state: &S) -> Extraction<Self> {
        let server: &dyn Any = call.server;
        match server.downcast_ref::<Arc<Core>>() {
            Some(core) => Extraction::Ready(Self {
                core: Arc::clone(core),
                state: state.clone(),
            }),
            None => Extraction::End(HandlerError::new("the call does not belong to a server")),
        }
    }
}

#[cfg(feature = "log")]
impl<S> Server<S> {
    pub(crate) fn weak_core(&self) -> Weak<Core> {
        Arc::downgrade(&self.core)
    }
}

/// A handle that does not keep the server alive, for handlers that change their own server.
pub struct WeakServer<S = ()> {
    core: Weak<Core>,
    state: S,
}

impl<S: Clone> Server<S> {
    /// Returns a handle that does not keep the server alive. A handler that holds a [`Server`]
    /// would create a reference cycle, so that neither is ever dropped.
    pub fn downgrade(&self) -> WeakServer<S> {
        WeakServer {
            core: Arc::downgrade(&self.core),
            state: self.state.clone(),
        }
    }
}

impl<S: Clone> WeakServer<S> {
    /// Returns the server, if it still exists.
    pub fn upgrade(&self) -> Option<Server<S>> {
        Some(Server {
            core: self.core.upgrade()?,
            state: self.state.clone(),
        })
    }
}

impl<S: Clone> Clone for WeakServer<S> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            state: self.state.clone(),
        }
    }
}

impl<S> fmt::Debug for WeakServer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakServer")
    }
}

impl<S: Clone> Clone for Server<S> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            state: self.state.clone(),
        }
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.core.settings.info)
            .finish_non_exhaustive()
    }
}
