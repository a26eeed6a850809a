//! A server: what is registered, and who is connected.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::{Delivery, Reply, RequestContext, Revision, ServerFacts, Service, Session};
use mcp_types::{Icon, Implementation, JsonObject, method};

use crate::prompt::PromptEntry;
use crate::registry::Registry;
use crate::resource::{Registered, ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;
use crate::{Prompt, RegistrationError, Resource, Tool};

/// How long a handler may take unless told otherwise.
const DEADLINE: Duration = Duration::from_secs(600);
/// Items on one page of a list unless told otherwise.
const PAGE_SIZE: usize = 2_000;

/// A server with state `S`. Cloning gives another handle to the same server.
///
/// Building and changing at run time are the same thing: `add_tool` and its kin work before and
/// while the server is served, and connected clients are told that a list changed. Capabilities
/// are derived from what is registered.
///
/// Hand it to a transport's `serve`; what could not be registered is reported there.
pub struct Server<S = ()> {
    pub(crate) core: Arc<Core>,
    state: S,
}

/// Everything that does not depend on the state's type.
pub(crate) struct Core {
    pub(crate) tools: Registry<ToolEntry>,
    pub(crate) prompts: Registry<PromptEntry>,
    pub(crate) resources: Registry<ResourceEntry>,
    pub(crate) templates: Registry<TemplateEntry>,
    pub(crate) settings: Mutex<Arc<Settings>>,
    sessions: Mutex<Vec<Weak<Session>>>,
    problems: Mutex<Vec<RegistrationError>>,
}

/// A check that runs before a request is served.
type Guard = Arc<dyn Fn(&Guarded<'_>) -> Result<(), ErrorObject> + Send + Sync>;

/// A request about to be served, as a [`Server::guard`] sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Guarded<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool, prompt or URI it is about; `None` for lists and settings.
    pub target: Option<&'a str>,
    /// The request.
    pub context: &'a RequestContext,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) page_size: usize,
    pub(crate) deadline: Option<Duration>,
    pub(crate) logging: bool,
    pub(crate) subscribe: bool,
    pub(crate) list_changed: bool,
    pub(crate) experimental: std::collections::BTreeMap<String, JsonObject>,
    guard: Option<Guard>,
}

impl Server<()> {
    /// A server of this name and version with nothing registered.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let settings = Settings {
            info: Implementation::new(name, version),
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            page_size: PAGE_SIZE,
            deadline: Some(DEADLINE),
            logging: true,
            subscribe: true,
            list_changed: true,
            experimental: std::collections::BTreeMap::new(),
            guard: None,
        };
        Self {
            core: Arc::new(Core {
                tools: Registry::default(),
                prompts: Registry::default(),
                resources: Registry::default(),
                templates: Registry::default(),
                settings: Mutex::new(Arc::new(settings)),
                sessions: Mutex::default(),
                problems: Mutex::default(),
            }),
            state: (),
        }
    }

    /// Gives the server its state, which handlers take as [`State<T>`](crate::State). It is
    /// cloned for each handler and call: wrap what is large in an `Arc`.
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
        let added = self.add_tools(tools);
        self.note(added)
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(self, prompt: Prompt<S>) -> Self {
        self.prompts([prompt])
    }

    /// Adds prompts.
    #[must_use]
    pub fn prompts(self, prompts: impl IntoIterator<Item = Prompt<S>>) -> Self {
        let added = self.add_prompts(prompts);
        self.note(added)
    }

    /// Adds a resource or a resource template.
    #[must_use]
    pub fn resource(self, resource: Resource<S>) -> Self {
        self.resources([resource])
    }

    /// Adds resources and resource templates.
    #[must_use]
    pub fn resources(self, resources: impl IntoIterator<Item = Resource<S>>) -> Self {
        let added = self.add_resources(resources);
        self.note(added)
    }

    /// Remembers a failed registration for `serve` to report.
    fn note(self, added: Result<(), RegistrationError>) -> Self {
        if let Err(problem) = added {
            lock(&self.core.problems).push(problem);
        }
        self
    }

    /// Adds tools while the server runs; clients are told.
    ///
    /// # Errors
    /// Names the tool and why it cannot be registered; then none is added.
    pub fn add_tools(
        &self,
        tools: impl IntoIterator<Item = Tool<S>>,
    ) -> Result<(), RegistrationError> {
        let entries: Result<Vec<_>, _> = tools
            .into_iter()
            .map(|tool| tool.register(self.state.clone()))
            .collect();
        self.core.tools.add(entries?)?;
        self.core.changed(method::NOTIFICATIONS_TOOLS_LIST_CHANGED);
        Ok(())
    }

    /// Removes a tool while the server runs; clients are told. Whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.core.tools.remove(name);
        if removed {
            self.core.changed(method::NOTIFICATIONS_TOOLS_LIST_CHANGED);
        }
        removed
    }

    /// Adds prompts while the server runs; clients are told.
    ///
    /// # Errors
    /// Names the prompt and why it cannot be registered; then none is added.
    pub fn add_prompts(
        &self,
        prompts: impl IntoIterator<Item = Prompt<S>>,
    ) -> Result<(), RegistrationError> {
        let entries: Result<Vec<_>, _> = prompts
            .into_iter()
            .map(|prompt| prompt.register(self.state.clone()))
            .collect();
        self.core.prompts.add(entries?)?;
        self.core
            .changed(method::NOTIFICATIONS_PROMPTS_LIST_CHANGED);
        Ok(())
    }

    /// Removes a prompt while the server runs; clients are told. Whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.core.prompts.remove(name);
        if removed {
            self.core
                .changed(method::NOTIFICATIONS_PROMPTS_LIST_CHANGED);
        }
        removed
    }

    /// Adds resources and templates while the server runs; clients are told.
    ///
    /// # Errors
    /// Names the resource and why it cannot be registered; then none is added.
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
        self.core.resources.add(fixed)?;
        self.core.templates.add(templates)?;
        self.core
            .changed(method::NOTIFICATIONS_RESOURCES_LIST_CHANGED);
        Ok(())
    }

    /// Removes a resource, or a template by its template text, while the server runs; clients
    /// are told. Whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.core.resources.remove(uri) || self.core.templates.remove(uri);
        if removed {
            self.core
                .changed(method::NOTIFICATIONS_RESOURCES_LIST_CHANGED);
        }
        removed
    }

    /// Tells every client that subscribed to this resource that it changed.
    pub fn resource_updated(&self, uri: &str) {
        let params = mcp_types::ResourceUpdatedNotificationParams::new(uri);
        let Ok(params) = serde_json::to_vec(&params) else {
            return;
        };
        for session in self.core.sessions() {
            if session.is_subscribed(uri) {
                session.notify(
                    method::NOTIFICATIONS_RESOURCES_UPDATED,
                    Some(&params),
                    Delivery::Always,
                );
            }
        }
    }

    /// Tells clients that who may see what has changed: for `visible_if` rules.
    pub fn visibility_changed(&self) {
        for method in [
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
        ] {
            self.core.changed(method);
        }
    }

    /// Advice for the model on how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// The name to show to people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.info.title = Some(title.into()))
    }

    /// What the server is for.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.info.description = Some(description.into()))
    }

    /// Where to read more.
    #[must_use]
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.info.website_url = Some(url.into()))
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.info.icons.get_or_insert_default().push(icon))
    }

    /// The revisions to serve; default: all.
    #[must_use]
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.set(|settings| settings.revisions = revisions.into_iter().collect())
    }

    /// Items on one page of a list; default 2,000. Set it before the server is served.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items)
    }

    /// How long a handler may take before its request is answered with an error; default 10
    /// minutes, `None` for no limit.
    #[must_use]
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.set(|settings| settings.deadline = deadline.into())
    }

    /// Whether to declare logging, without which no log message is sent; default: yes.
    #[must_use]
    pub fn logging(self, logging: bool) -> Self {
        self.set(|settings| settings.logging = logging)
    }

    /// Whether clients may subscribe to resources; default: yes.
    #[must_use]
    pub fn subscriptions(self, subscribe: bool) -> Self {
        self.set(|settings| settings.subscribe = subscribe)
    }

    /// Whether to tell clients when a list changes; default: yes.
    #[must_use]
    pub fn announce_changes(self, announce: bool) -> Self {
        self.set(|settings| settings.list_changed = announce)
    }

    /// Declares an experimental capability.
    #[must_use]
    pub fn experimental(self, name: impl Into<String>, value: JsonObject) -> Self {
        self.set(|settings| {
            settings.experimental.insert(name.into(), value);
        })
    }

    /// Adds a check that runs before any request is served and may refuse it: access control,
    /// rate limits. The last one set counts.
    #[must_use]
    pub fn guard(
        self,
        guard: impl Fn(&Guarded<'_>) -> Result<(), ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.set(|settings| settings.guard = Some(Arc::new(guard)))
    }

    fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut lock(&self.core.settings)));
        self
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&lock(&self.settings))
    }

    /// The sessions that live.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        let sessions = lock(&self.sessions);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells all clients that a list changed.
    fn changed(&self, method: &str) {
        for session in self.sessions() {
            if session.announces(method) {
                session.notify(method, None, Delivery::Always);
            }
        }
    }
}

impl Settings {
    pub(crate) fn check(&self, guarded: &Guarded<'_>) -> Result<(), ErrorObject> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard(guarded))
    }
}

impl<S: Clone + Send + Sync + 'static> Service for Server<S> {
    fn ready(&self) -> Result<(), String> {
        let problems = lock(&self.core.problems);
        if problems.is_empty() {
            return Ok(());
        }
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Err(problems.join("; "))
    }

    fn facts(&self) -> ServerFacts {
        self.core.facts()
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        self.core.route(request, context)
    }

    fn notification(&self, notification: &Notification<'_>, _session: &Arc<Session>) {
        tracing::trace!(method = %notification.method, "notification");
    }

    fn opened(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.core.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    fn closed(&self, session: &Arc<Session>) {
        lock(&self.core.sessions).retain(|known| !std::ptr::eq(known.as_ptr(), &**session));
    }

    fn deadline(&self) -> Option<Duration> {
        self.core.settings().deadline
    }
}

/// A handle that does not keep the server alive: for handlers that change their own server.
pub struct WeakServer<S = ()> {
    core: Weak<Core>,
    state: S,
}

impl<S: Clone> Server<S> {
    /// A handle that does not keep the server alive. A handler that holds a [`Server`] would
    /// keep it, and itself, alive for ever.
    pub fn downgrade(&self) -> WeakServer<S> {
        WeakServer {
            core: Arc::downgrade(&self.core),
            state: self.state.clone(),
        }
    }
}

impl<S: Clone> WeakServer<S> {
    /// The server, if it still exists.
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
