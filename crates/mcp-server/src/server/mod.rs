//! The server: registration, handles and the service for transports.

mod builder;
pub(crate) mod core;
mod extension;
#[cfg(feature = "log")]
pub(crate) mod log;
mod sessions;
pub(crate) mod subscriptions;
#[cfg(all(test, feature = "testing"))]
mod tests;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::{Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{Reply, RequestContext, ServerFacts, Service, Session};

use self::core::Core;
use crate::registry::resource::Registered;
use crate::{Change, Prompt, RegistrationError, Resource, Tool};

/// A server with state `S`. A clone is another handle to the same server.
///
/// Methods that begin with `add_` and `remove_` work before and while the server is served;
/// connected clients are notified of changed lists. Builder methods such as [`tool`](Self::tool)
/// and [`title`](Self::title) set the server up. On a server that is already served they leave it
/// unchanged and return a copy that is served separately. Capabilities are derived from the
/// registered items.
///
/// Pass the server to `serve` of a transport, which reports failed registrations. They are reported
/// once: a second call serves the server without the rejected items.
pub struct Server<S = ()> {
    pub(crate) core: Arc<Core>,
    state: S,
}

impl Server<()> {
    /// Creates a server with this name and version and without registrations.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            core: Core::new(name, version),
            state: (),
        }
    }

    /// Sets the state, which handlers take as [`State<T>`](crate::State). It is cloned for each
    /// handler and call: put large data into an `Arc`.
    #[must_use]
    pub fn state<S: Clone + Send + Sync + 'static>(self, state: S) -> Server<S> {
        Server {
            core: self.core,
            state,
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: Tool<S>) -> Self {
        self.tools([tool])
    }

    /// Adds tools, usually from the [`tools!`](crate::tools) macro.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool<S>>) -> Self {
        let server = self.for_building();
        let added = server.add_tools(tools);
        server.note(added)
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(self, prompt: Prompt<S>) -> Self {
        self.prompts([prompt])
    }

    /// Adds prompts.
    #[must_use]
    pub fn prompts(self, prompts: impl IntoIterator<Item = Prompt<S>>) -> Self {
        let server = self.for_building();
        let added = server.add_prompts(prompts);
        server.note(added)
    }

    /// Adds a resource or a resource template.
    #[must_use]
    pub fn resource(self, resource: Resource<S>) -> Self {
        self.resources([resource])
    }

    /// Adds resources and resource templates.
    #[must_use]
    pub fn resources(self, resources: impl IntoIterator<Item = Resource<S>>) -> Self {
        let server = self.for_building();
        let added = server.add_resources(resources);
        server.note(added)
    }

    /// Returns the server for a builder method: itself before it is served, then a copy.
    pub(crate) fn for_building(self) -> Self {
        if !self.core.is_served() {
            return self;
        }
        Self {
            core: self.core.fork(),
            state: self.state,
        }
    }

    /// Records a failed registration, which `serve` reports.
    pub(crate) fn note(self, added: Result<(), RegistrationError>) -> Self {
        if let Err(problem) = added {
            self.core.note(problem);
        }
        self
    }

    /// Adds tools while the server runs, and notifies clients.
    ///
    /// # Errors
    /// A tool cannot be registered; the error names the tool and the reason. No tool is added then.
    pub fn add_tools(
        &self,
        tools: impl IntoIterator<Item = Tool<S>>,
    ) -> Result<(), RegistrationError> {
        let entries: Result<Vec<_>, _> = tools
            .into_iter()
            .map(|tool| tool.register(self.state.clone()))
            .collect();
        self.core.tools.add(entries?)?;
        self.core.changed(Change::Tools);
        Ok(())
    }

    /// Removes a tool while the server runs, and notifies clients. Returns whether the tool
    /// existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.core.tools.remove(name);
        if removed {
            self.core.changed(Change::Tools);
        }
        removed
    }

    /// Adds prompts while the server runs, and notifies clients.
    ///
    /// # Errors
    /// A prompt cannot be registered; the error names the prompt and the reason. No prompt is added
    /// then.
    pub fn add_prompts(
        &self,
        prompts: impl IntoIterator<Item = Prompt<S>>,
    ) -> Result<(), RegistrationError> {
        let entries: Result<Vec<_>, _> = prompts
            .into_iter()
            .map(|prompt| prompt.register(self.state.clone()))
            .collect();
        self.core.prompts.add(entries?)?;
        self.core.changed(Change::Prompts);
        Ok(())
    }

    /// Removes a prompt while the server runs, and notifies clients. Returns whether the prompt
    /// existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.core.prompts.remove(name);
        if removed {
            self.core.changed(Change::Prompts);
        }
        removed
    }

    /// Adds resources and templates while the server runs, and notifies clients.
    ///
    /// # Errors
    /// A resource or template cannot be registered; the error names it and the reason. Nothing is
    /// added then.
    pub fn add_resources(
        &self,
        resources: impl IntoIterator<Item = Resource<S>>,
    ) -> Result<(), RegistrationError> {
        let (mut fixed, mut templates) = (Vec::new(), Vec::new());
        for resource in resources {
            match resource.register(self.state.clone())? {
                Registered::Fixed(entry) => fixed.push(entry),
                Registered::Template(entry) => templates.push(entry),
            }
        }
        self.core.add_resources(fixed, templates)?;
        self.core.changed(Change::Resources);
        Ok(())
    }

    /// Removes a resource by its URI or a template by its text, and notifies clients. Returns
    /// whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.core.resources.remove(uri) || self.core.templates.remove(uri);
        if removed {
            self.core.changed(Change::Resources);
        }
        removed
    }

    /// Notifies every subscribed client that this resource changed.
    pub fn resource_updated(&self, uri: &str) {
        self.core.changed(Change::Resource(uri.to_owned()));
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
    fn ready(&self) -> Result<(), String> {
        self.core.ready()
    }

    fn start(&self) {
        self.core.start();
        #[cfg(feature = "tasks")]
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
        self.core.settings().deadline
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
        let settings = self.core.settings();
        f.debug_struct("Server")
            .field("info", &settings.info)
            .finish_non_exhaustive()
    }
}
