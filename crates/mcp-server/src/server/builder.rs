//! The builder of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::middleware::{Middleware, SharedMiddleware};
use mcp_protocol::{IntoService, InvalidServer, Revision, Service, Strictness, Tolerance};
use mcp_types::{Icon, JsonObject};

use super::Server;
use super::core::{Core, Parts};
use super::settings::{GuardedRequest, Settings};
#[cfg(feature = "state-keys")]
use crate::StateKeys;
use crate::handler::erase;
use crate::registry::lister::ForResourceList;
use crate::registry::method::{ForMethod, ForNotification, MethodEntry};
use crate::registry::resource::Registered;
use crate::{
    BuildError, CacheHint, ChangeBus, Handler, IntoPrompts, IntoResources, IntoTools,
    RegistrationError,
};

/// The builder of a [`Server`] with state `S`. Create it with [`Server::builder`].
///
/// Pass the builder to `serve` of a transport, or call [`build`](Self::build) first if you need a
/// [`Server`] to change its lists while it runs. `build` and `serve` report all items that cannot
/// be registered in one error. The builder derives the server's capabilities from the added items.
///
/// A builder is not `Clone`: build first, then clone the `Server`.
///
/// ```
/// use mcp_server::{Server, Tool};
///
/// let server = Server::builder("clock", "1.0.0")
///     .title("Clock")
///     .tool(Tool::new("tick", || "tock"))
///     .build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[must_use = "a builder does nothing until it is built or served"]
pub struct ServerBuilder<S = ()> {
    state: S,
    pub(crate) parts: Box<Parts>,
}

impl ServerBuilder<()> {
    pub(super) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            state: (),
            parts: Box::new(Parts::new(Settings::new(name, version))),
        }
    }
}

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Sets the state. Handlers that are added afterwards receive this state as [`State<T>`](crate::State). Handlers that were
    /// added before keep the earlier state, which is `()` at first. The state is cloned for each handler and each call: put large
    /// data into an `Arc`.
    pub fn state<T: Clone + Send + Sync + 'static>(self, state: T) -> ServerBuilder<T> {
        ServerBuilder {
            state,
            parts: self.parts,
        }
    }

    /// Adds a tool. For a function `add` with `#[tool]`, pass `add::tool()`.
    pub fn tool(self, tool: impl IntoTools<S>) -> Self {
        self.tools(tool)
    }

    /// Adds tools, for example `value.tools()` of a type with `#[tools]`.
    pub fn tools(mut self, tools: impl IntoTools<S>) -> Self {
        for tool in tools.into_tools() {
            match tool.register(self.state.clone()) {
                Ok(entry) => self.parts.tools.push(entry),
                Err(problem) => self.parts.problems.push(problem),
            }
        }
        self
    }

    /// Adds a prompt. For a function `review` with `#[prompt]`, pass `review::prompt()`.
    pub fn prompt(self, prompt: impl IntoPrompts<S>) -> Self {
        self.prompts(prompt)
    }

    /// Adds prompts.
    pub fn prompts(mut self, prompts: impl IntoPrompts<S>) -> Self {
        for prompt in prompts.into_prompts() {
            match prompt.register(self.state.clone()) {
                Ok(entry) => self.parts.prompts.push(entry),
                Err(problem) => self.parts.problems.push(problem),
            }
        }
        self
    }

    /// Adds a resource or a resource template. For a function `readme` with `#[resource]`, pass
    /// `readme::resource()`.
    pub fn resource(self, resource: impl IntoResources<S>) -> Self {
        self.resources(resource)
    }

    /// Adds resources and resource templates.
    pub fn resources(mut self, resources: impl IntoResources<S>) -> Self {
        for resource in resources.into_resources() {
            match resource.register(self.state.clone()) {
                Ok(Registered::Fixed(entry)) => self.parts.resources.push(entry),
                Ok(Registered::Template(entry)) => self.parts.templates.push(entry),
                Err(problem) => self.parts.problems.push(problem),
            }
        }
        self
    }

    /// Adds the resources of a data source to `resources/list`. A server has at most one data
    /// source.
    ///
    /// The handler returns all resources as a `Vec`. To list them page by page, it takes a
    /// [`Cursor`](crate::Cursor) and returns a [`ResourcePage`](crate::ResourcePage) for each
    /// request; [`page_size`](Self::page_size) does not apply. The first page begins with all
    /// registered resources that the client may see. To let clients read the listed resources, add
    /// a resource template.
    ///
    /// ```
    /// use mcp_server::types::Resource as Listed;
    /// use mcp_server::{Cursor, Resource, ResourcePage, Server};
    ///
    /// async fn rows(Cursor(after): Cursor) -> ResourcePage {
    ///     let start = after.and_then(|id| id.parse().ok()).unwrap_or(0);
    ///     let rows = (start + 1..=start + 50).map(|id| Listed::new(format!("row://{id}"), "row"));
    ///     ResourcePage::new(rows.collect(), (start < 100).then(|| (start + 50).to_string()))
    /// }
    ///
    /// let server = Server::builder("rows", "1.0.0").list_resources(rows);
    /// # let _ = server;
    /// ```
    pub fn list_resources<M>(mut self, handler: impl Handler<ForResourceList, S, M>) -> Self {
        if self.parts.lister.is_some() {
            let problem = "resources/list has two data sources; combine them in one handler";
            return self.problem(RegistrationError::new(problem));
        }
        self.parts.lister = Some(erase(handler, self.state.clone(), false));
        self
    }

    /// Adds a method that is not part of the protocol. The handler is written like the handler of a tool, with two differences.
    /// `T` in `Args<T>` is the type of the params, and the handler returns [`Json<T>`](crate::Json), a JSON value or nothing. The
    /// result must be an object.
    ///
    /// Choose a name with your own prefix, such as `com.example/search`. [`build`](Self::build) reports an error
    /// for a name of the protocol, in any letter case, and for a name that is registered twice. To
    /// declare the method to clients, add it with an [`Extension`](crate::Extension).
    ///
    /// ```
    /// use mcp_server::types::JsonObject;
    /// use mcp_server::{Args, Json, Server};
    ///
    /// let server = Server::builder("echo", "1.0.0")
    ///     .method("com.example/echo", |Args(params): Args<JsonObject>| Json(params));
    /// # let _ = server;
    /// ```
    pub fn method<M>(
        mut self,
        name: impl Into<String>,
        handler: impl Handler<ForMethod, S, M>,
    ) -> Self {
        self.parts.methods.push(MethodEntry {
            name: name.into(),
            run: erase(handler, self.state.clone(), false),
            owner: None,
        });
        self
    }

    /// Adds a handler for a notification that is not part of the protocol. The rules of [`method`](Self::method) apply. The
    /// handler returns nothing. An async handler runs in the background of the tokio runtime. Errors are logged.
    pub fn on_notification<M>(
        mut self,
        name: impl Into<String>,
        handler: impl Handler<ForNotification, S, M>,
    ) -> Self {
        self.parts.notifications.push(MethodEntry {
            name: name.into(),
            run: erase(handler, self.state.clone(), false),
            owner: None,
        });
        self
    }

    /// Adds middleware around all messages of the server, in both directions. The first middleware added is the outermost: it
    /// receives inbound messages first and outbound messages last.
    ///
    /// ```
    /// use mcp_server::middleware::{Next, Request};
    /// use mcp_server::{Server, Tool};
    ///
    /// let server = Server::builder("clock", "1.0.0")
    ///     .tool(Tool::new("tick", || "tock"))
    ///     .layer(async |request: Request, next: Next| {
    ///         eprintln!("{}", request.method());
    ///         next.run(request).await
    ///     });
    /// # let _ = server;
    /// ```
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        self.parts.layers.push(SharedMiddleware::new(middleware));
        self
    }

    /// Returns a builder with the same name, version and state, but without items.
    pub(super) fn empty(&self) -> Self {
        let info = &self.parts.settings.info;
        Self {
            state: self.state.clone(),
            parts: Box::new(Parts::new(Settings::new(&info.name, &info.version))),
        }
    }

    /// Builds the server.
    ///
    /// # Errors
    /// At least one item cannot be registered, for example because two tools have the same name.
    /// The error lists every problem.
    pub fn build(self) -> Result<Server<S>, BuildError> {
        let core = Core::new(*self.parts).map_err(BuildError::new)?;
        Ok(Server {
            core: Arc::new(core),
            state: self.state,
        })
    }

    /// Records a problem that [`build`](Self::build) reports.
    pub(crate) fn problem(mut self, problem: RegistrationError) -> Self {
        self.parts.problems.push(problem);
        self
    }

    pub(crate) fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.parts.settings);
        self
    }

    /// Sets instructions for the model on how to use the server.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// Sets the display name.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.info.title = Some(title.into()))
    }

    /// Sets the description of the server.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.info.description = Some(description.into()))
    }

    /// Sets the URL of the website.
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.info.website_url = Some(url.into()))
    }

    /// Adds an icon.
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.info.icons.get_or_insert_default().push(icon))
    }

    /// Sets the protocol revisions that the server supports. Default: all.
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.set(|settings| settings.revisions = revisions.into_iter().collect())
    }

    /// Sets the maximum number of items per page of a list. 0 is treated as 1. Default: 2,000.
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items)
    }

    /// Sets how long a handler may run before its request is answered with an error; `None` for no
    /// limit. Default: 10 minutes.
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.set(|settings| settings.deadline = deadline.into())
    }

    /// Sets whether harmless deviations of clients from the specification are tolerated; default:
    /// yes. [`Deviation`](mcp_protocol::Deviation) lists them.
    pub fn strictness(self, strictness: Strictness) -> Self {
        self.set(|settings| settings.tolerance = Arc::new(Tolerance::new(strictness)))
    }

    /// Makes the server not declare the logging capability. The server then sends no log messages to clients.
    pub fn without_logging(self) -> Self {
        self.set(|settings| settings.logging = false)
    }

    /// Makes the server not declare the subscription capability. Clients then cannot subscribe to resources.
    pub fn without_subscriptions(self) -> Self {
        self.set(|settings| settings.subscribe = false)
    }

    /// Makes the server not notify clients when a list changes.
    pub fn without_list_changes(self) -> Self {
        self.set(|settings| settings.list_changed = false)
    }

    /// Declares an experimental capability with its settings.
    pub fn experimental(self, name: impl Into<String>, value: JsonObject) -> Self {
        self.set(|settings| {
            settings.experimental.insert(name.into(), value);
        })
    }

    /// Sets how long clients of the stateless revision may cache lists. Default: no caching. All lists are private if a
    /// list can differ between clients: if an item has a [visibility rule](crate::Tool::visible_if), if a list has more than one
    /// page, because a cursor belongs to one principal, or if there is a [data source](Self::list_resources).
    pub fn cache_lists(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.lists = hint)
    }

    /// Sets how long clients of the stateless revision may cache resource contents. Default: no
    /// caching.
    pub fn cache_resources(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.reads = hint)
    }

    /// Sets the keys that encrypt the state of a call between its round trips, for servers with several processes. Default: a
    /// random key. With the default, only the process that started a call can continue the call.
    #[cfg(feature = "state-keys")]
    pub fn state_keys(self, keys: StateKeys) -> Self {
        self.set(|settings| settings.keys = Arc::new(keys))
    }

    /// Sets the bus that distributes change notifications to other processes; see [`ChangeBus`].
    /// Default: only clients of this process are notified.
    pub fn change_bus(self, bus: impl ChangeBus) -> Self {
        self.set(|settings| settings.bus = Some(Arc::new(bus)))
    }

    /// Adds a check that runs before each request and may reject it with an error, for example for access control or rate limits.
    /// Checks run in the order in which they were added, until one of them rejects the request. `initialize`, `server/discover`,
    /// `ping` and `resources/unsubscribe` are not checked. A subscription to a resource is checked twice: as
    /// `resources/subscribe` or `subscriptions/listen`, and as `resources/read`. The second check prevents notifications about a
    /// resource that the client may not read.
    pub fn guard(
        self,
        guard: impl Fn(&GuardedRequest<'_>) -> Result<(), ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.set(|settings| settings.guards.push(Box::new(guard)))
    }
}

impl<S: Clone + Send + Sync + 'static> IntoService for ServerBuilder<S> {
    fn into_service(self) -> Result<Arc<dyn Service>, InvalidServer> {
        match self.build() {
            Ok(server) => Ok(Arc::new(server)),
            Err(error) => Err(InvalidServer::new(error.to_string())),
        }
    }
}

impl<S> fmt::Debug for ServerBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("info", &self.parts.settings.info)
            .finish_non_exhaustive()
    }
}
