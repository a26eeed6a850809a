//! The server handle, and its implementation of the service that transports drive.

pub(crate) mod builder;
mod compose;
pub(crate) mod core;
pub(crate) mod extension;
pub(crate) mod lists;
#[cfg(feature = "log")]
pub(crate) mod log;
mod sessions;
pub(crate) mod settings;
#[cfg(feature = "tasks")]
mod tasks;
#[cfg(all(test, feature = "testing"))]
mod tests;

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::{Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::middleware::Layers;
use mcp_protocol::{Budget, Reply, RequestContext, ServerFacts, Service, Session, Tolerance};

use self::builder::ServerBuilder;
use self::core::Core;
use self::lists::{Prompts, Resources, Tools};
use crate::handler::server::ReportChange as _;
use crate::{Call, Change, Extraction, FromCall, HandlerError};

/// A handle to a server with state `S`. All clones refer to the same server.
///
/// Create it with [`Server::builder`], and pass it, or a clone, to `serve` of a transport. While it
/// is served, [`tools`](Self::tools), [`prompts`](Self::prompts) and [`resources`](Self::resources)
/// change its lists and notify connected clients. Its settings cannot be changed.
///
/// A handler can take the `Server` that serves its call as a parameter.
///
/// ```
/// use mcp_server::{Server, Tool};
///
/// let server = Server::builder("clock", "1.0.0").tool(Tool::new("now", || "noon")).build()?;
/// let handle = server.clone();
/// // `server` is passed to `serve` of a transport. Meanwhile:
/// handle.tools().add(Tool::new("today", || "Monday"))?;
/// handle.tools().remove("now");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server<S = ()> {
    pub(crate) core: Arc<Core>,
    state: S,
}

impl Server<()> {
    /// Returns a builder for a server with this name and version, which clients receive.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name, version)
    }
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Returns a handle that adds and removes tools while the server runs.
    ///
    /// In session-based revisions, a server that has no tools when a session is opened does not declare the tools capability. The
    /// session can then neither list nor call tools that are added later. The same is true for prompts and resources.
    pub fn tools(&self) -> Tools<'_, S> {
        Tools(self)
    }

    /// Returns a handle that adds and removes prompts while the server runs.
    pub fn prompts(&self) -> Prompts<'_, S> {
        Prompts(self)
    }

    /// Returns a handle that adds and removes resources and resource templates while the server
    /// runs, and that notifies subscribers of a resource.
    pub fn resources(&self) -> Resources<'_, S> {
        Resources(self)
    }

    /// Notifies clients of a change, in all processes of the server if it has a
    /// [`ChangeBus`](crate::ChangeBus). [`Change::only_for`] restricts the notification to the clients of one user.
    pub fn changed(&self, change: Change) {
        self.core.changed(change);
    }

    /// Notifies the clients of this process of a change. Call it for each change that arrives on the
    /// [`ChangeBus`](crate::ChangeBus); a server without a bus does not need this method.
    pub fn deliver(&self, change: &Change) {
        self.core.deliver(change);
    }

    /// Returns the scopes that the tools require now, for the metadata of a server with authorization.
    pub fn scopes(&self) -> BTreeSet<String> {
        let tools = self.core.tools.snapshot();
        let scopes = tools.all().filter_map(|tool| tool.scope.as_deref());
        scopes
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the strictness of the server, and the number of tolerated deviations of its clients.
    pub fn tolerance(&self) -> &Tolerance {
        &self.core.settings.tolerance
    }

    /// Returns the number of open subscriptions (`subscriptions/listen`, stateless revision).
    pub fn subscribers(&self) -> usize {
        self.core.subscriptions.len()
    }

    /// Notifies clients that all lists may have changed. Call it when a
    /// [`visible_if`](crate::Tool::visible_if) rule returns another result than before.
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

    fn notification(&self, notification: &Notification<'_>, session: &Arc<Session>) {
        self.core.notify(notification, session);
    }

    fn has_method(&self, method: &str) -> bool {
        self.core.methods.get(method).is_some()
    }

    fn subscription_budget(&self) -> Budget {
        self.core.subscriptions.budget().clone()
    }

    fn sign(&self, parts: &[&[u8]]) -> Option<String> {
        Some(self.core.settings.keys.mac(parts))
    }

    fn has_shared_key(&self) -> bool {
        self.core.settings.keys.is_shared()
    }

    fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        self.core.settings.keys.has_signed(parts, code)
    }

    fn layers(&self) -> Option<Layers> {
        self.core.layers.clone()
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

/// The server that serves the call, for handlers that change its lists. `S` is the state type of the handler. In a handler of a
/// merged or mounted server, this parameter is the outer server. Items that the handler adds get no prefix.
impl<S: Clone + Send + Sync + 'static> FromCall<S> for Server<S> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, state: &S) -> Extraction<Self> {
        let server: &dyn Any = call.server;
        match server.downcast_ref::<Arc<Core>>() {
            Some(core) => Extraction::Ready(Self {
                core: Arc::clone(core),
                state: state.clone(),
            }),
            None => Extraction::End(HandlerError::new(
                "the `Server` parameter cannot be extracted: the call has no server",
            )),
        }
    }
}

#[cfg(feature = "log")]
impl<S> Server<S> {
    pub(crate) fn weak_core(&self) -> Weak<Core> {
        Arc::downgrade(&self.core)
    }
}

/// A handle that does not keep the server alive. Store it, instead of a [`Server`], in the state of
/// the same server. Returned by [`Server::downgrade`].
pub struct WeakServer<S = ()> {
    core: Weak<Core>,
    state: S,
}

impl<S: Clone> Server<S> {
    /// Returns a handle that does not keep the server alive. Use it in the state or a handler of the same server: a [`Server`]
    /// there would own itself, and would never be dropped.
    pub fn downgrade(&self) -> WeakServer<S> {
        WeakServer {
            core: Arc::downgrade(&self.core),
            state: self.state.clone(),
        }
    }
}

impl<S: Clone> WeakServer<S> {
    /// Returns the server, or `None` if all its handles were dropped.
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
