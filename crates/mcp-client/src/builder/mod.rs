//! The settings of a client before it connects.

mod custom;
mod extension;

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Revision, Strictness, Timeouts, Tolerance, Transport};
use mcp_types::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, CreateMessageResult,
    ElicitResult, ElicitationCapability, ElicitationTaskRequests, Icon, Implementation, JsonObject,
    LoggingMessageNotificationParams, MetaKey, MetaKeyKind, Root, RootsCapability,
    SamplingCapability, SamplingTaskRequests, v2026_07_28,
};
use serde_json::Value;

use crate::cache::known_tools::KnownTools;
use crate::cache::{Cache, CacheLimits};
use crate::connect::ConnectOptions;
use crate::connect::keep_alive::KeepAlive;
use crate::connect::negotiation::{Negotiation, Policy};
use crate::inbound::ClientInbound;
use crate::inbound::handlers::{Callback, ChangedList, ElicitForm, ElicitUrl, Handlers, Sample};
use crate::inbound::roots::{self, InvalidRoot};
use crate::inbound::tasks::TaskLimits;
use crate::request::progress::ProgressTable;
use crate::shared::Shared;
use crate::{Client, Error};

pub use extension::Extension;

/// The settings of a client before it connects.
///
/// Adding a handler makes the client declare the capability that belongs to the handler.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing before `connect`"]
pub struct ClientBuilder {
    info: Implementation,
    handlers: Handlers,
    roots: Option<Result<Vec<Root>, InvalidRoot>>,
    timeouts: Timeouts,
    policy: Policy,
    anonymous: bool,
    max_round_trips: u32,
    max_list_bytes: usize,
    lists_before_call: bool,
    cache: CacheLimits,
    connect_timeout: Duration,
    keep_alive: Option<KeepAlive>,
    tasks: Option<TaskLimits>,
    strictness: Strictness,
    experimental: std::collections::BTreeMap<String, JsonObject>,
    extensions: std::collections::BTreeMap<String, JsonObject>,
    /// The capabilities of the client on whose behalf a gateway connects.
    relayed: Option<ClientCapabilities>,
}

impl ClientBuilder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            handlers: Handlers::default(),
            roots: None,
            timeouts: Timeouts::default(),
            policy: Policy::default(),
            anonymous: false,
            max_round_trips: 10,
            max_list_bytes: 128 << 20,
            lists_before_call: true,
            cache: CacheLimits::default(),
            connect_timeout: Duration::from_secs(30),
            keep_alive: None,
            tasks: None,
            strictness: Strictness::default(),
            experimental: std::collections::BTreeMap::new(),
            extensions: std::collections::BTreeMap::new(),
            relayed: None,
        }
    }

    /// Declares the identity of another client, for a gateway that passes server requests to that client. `capabilities`
    /// replaces the capabilities of the handlers in this builder. A gateway wraps the [`Transport`] to receive the requests.
    pub fn relay(mut self, client: Implementation, capabilities: ClientCapabilities) -> Self {
        self.info = client;
        self.relayed = Some(capabilities);
        self
    }

    /// Sets the client's name that is shown to users.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets the default timeouts of all calls.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how long [`connect`](Self::connect) may take, from starting the transport to the end of the negotiation; default: 30
    /// s. Over HTTP this time includes the sign-in of a user. Set a longer timeout if the server requires authorization.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the newest revision to use; default: the newest supported revision. With a session-based revision, the client sends
    /// `initialize` without a probe.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.policy.newest = revision;
        self
    }

    /// Sets how the client determines the server's revision; default: [`Negotiation::Auto`], which first sends
    /// `server/discover`.
    pub fn negotiation(mut self, negotiation: Negotiation) -> Self {
        self.policy.negotiation = negotiation;
        self
    }

    /// Sets how long the client waits for the response to `server/discover` before it sends `initialize`; default: 5 s. Over
    /// HTTP, the time of a sign-in is not included. With [`Negotiation::Stateless`], and with [`Negotiation::Prior`] of a
    /// stateless revision, the client never sends `initialize`, so the timeout has no effect.
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.policy.probe_timeout = timeout;
        self
    }

    /// Omits the client's name and version in requests of the stateless revision, where they are optional.
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    /// Sets the maximum number of round trips of one call; default: 10.
    pub fn max_round_trips(mut self, limit: u32) -> Self {
        self.max_round_trips = limit;
        self
    }

    /// Sets the maximum memory of one list with all its pages, in bytes; default: 128 MiB. The client estimates the memory from
    /// the JSON text before it decodes a page. A larger list is an error.
    pub fn max_list_bytes(mut self, bytes: usize) -> Self {
        self.max_list_bytes = bytes;
        self
    }

    /// Disables the tool list request before the first [`call_tool`](Client::call_tool) of a tool that was not listed yet. By
    /// default, the client sends this request to servers of 2025-11-25 that declare tasks, because the list says which tools must
    /// be called as tasks. With this setting, the client calls an unlisted tool without a task. The client then lists the tools
    /// only if the server rejects the call, or if the call requests a task ([`ToolCall::as_task`](crate::ToolCall::as_task)).
    pub fn without_listing_tools(mut self) -> Self {
        self.lists_before_call = false;
        self
    }

    /// Sets whether harmless deviations of servers from the specification are tolerated; default:
    /// yes. [`Deviation`](crate::Deviation) lists them.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the limits of the result cache; [`CacheLimits::NONE`] disables it. Cached results
    /// belong to this client and its credentials, and are not shared.
    pub fn cache(mut self, limits: CacheLimits) -> Self {
        self.cache = limits;
        self
    }

    /// Enables pings that check whether the server still responds; default: off.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// Lets servers send elicitation and sampling requests as tasks (2025-11-25): the client
    /// returns a task at once, and the server fetches the result later. The stateless revision does
    /// not have this feature.
    ///
    /// The tasks belong to the connection and end with it. Only the server of the connection can see them.
    pub fn tasks(mut self, limits: TaskLimits) -> Self {
        self.tasks = Some(limits);
        self
    }

    /// Lets servers continue tool calls as tasks (the tasks extension, since 2026-07-28). The program awaits the call as usual.
    /// The call then ends when the task ends, which can take long, so set [`ToolCall::timeouts`](crate::ToolCall::timeouts). Off
    /// by default, like every extension. Tools of 2025-11-25 that only run as tasks do not need this setting.
    pub fn task_calls(mut self) -> Self {
        self.extensions.extend(v2026_07_28::tasks_extension());
        self
    }

    /// Declares an experimental capability.
    pub fn experimental(mut self, name: impl Into<String>, value: JsonObject) -> Self {
        self.experimental.insert(name.into(), value);
        self
    }

    /// Declares an extension with its settings; pass an empty object for an extension without settings. [`Client::capabilities`]
    /// returns the server's extensions.
    ///
    /// The identifier has a prefix, as in `com.example/search`. Connecting fails if the identifier is malformed.
    pub fn extension(mut self, identifier: impl Into<String>, settings: JsonObject) -> Self {
        self.extensions.insert(identifier.into(), settings);
        self
    }

    /// Sets the handler of form elicitation.
    pub fn on_elicit<F>(mut self, handler: impl Fn(ElicitForm) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.form = Some(Arc::new(move |form| {
            let answer = handler(form);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Sets the handler of URL elicitation.
    pub fn on_elicit_url<F>(
        mut self,
        handler: impl Fn(ElicitUrl) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.url = Some(Arc::new(move |url| {
            let answer = handler(url);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Sets a callback that receives the id of an accepted URL elicitation when the elicitation is complete. Only servers with
    /// sessions notify the client of the completion.
    pub fn on_elicit_url_done(mut self, handler: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.handlers.url_done = Some(Arc::new(handler));
        self
    }

    /// Sets the handler of sampling requests. The handler should let a person review and reject each request.
    pub fn on_sample<F>(mut self, handler: impl Fn(Sample) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.handlers.sample = Some(Arc::new(move |sample| Box::pin(handler(sample))));
        self
    }

    /// Declares that the model behind [`on_sample`](Self::on_sample) supports tools.
    pub fn sampling_tools(mut self) -> Self {
        self.handlers.sampling_tools = true;
        self
    }

    /// Declares that [`on_sample`](Self::on_sample) supports `includeContext`.
    pub fn sampling_context(mut self) -> Self {
        self.handlers.sampling_context = true;
        self
    }

    /// Sets the roots. [`Client::set_roots`] changes them later.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        let checked = roots.iter().try_for_each(roots::check);
        self.roots = Some(checked.map(|()| roots));
        self
    }

    /// Adds a callback for log messages of the server. All callbacks are called, in the order in which they were added. On the
    /// stateless revision, a server sends log messages only for requests that declare a level. If a callback is added, all
    /// requests declare the level `info`. [`Client::set_log_level`] changes this level.
    pub fn on_log(
        mut self,
        handler: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        add_callback(&mut self.handlers.log, handler);
        self
    }

    /// Adds a callback for list changes of the server. All callbacks are called, in the order in which they were added. On the
    /// stateless revision, the client keeps a stream open for these changes if the server declares list changes.
    pub fn on_change(mut self, handler: impl Fn(ChangedList) + Send + Sync + 'static) -> Self {
        add_callback(&mut self.handlers.changed, handler);
        self
    }

    /// Sets a callback for the end of the change notifications on the stateless revision. The callback receives the reason: the
    /// server rejected the subscription, or the stream could not be reopened. The connection can still work. If the server ends
    /// the stream, the client first reopens the stream and does not call this callback.
    pub fn on_changes_ended(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.handlers.changes_ended = Some(Arc::new(handler));
        self
    }

    /// Sets a callback that receives the name and arguments of each tool call before it is sent. If the callback returns `false`,
    /// the call fails.
    pub fn approve(
        mut self,
        approve: impl Fn(&str, &Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.handlers.approve = Some(Arc::new(approve));
        self
    }

    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.handlers.form.is_some() || self.handlers.url.is_some() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = self.handlers.form.as_ref().map(|_| JsonObject::new());
            elicitation.url = self.handlers.url.as_ref().map(|_| JsonObject::new());
            capabilities.elicitation = Some(elicitation);
        }
        if self.handlers.sample.is_some() {
            let mut sampling = SamplingCapability::default();
            sampling.tools = self.handlers.sampling_tools.then(JsonObject::new);
            sampling.context = self.handlers.sampling_context.then(JsonObject::new);
            capabilities.sampling = Some(sampling);
        }
        if self.roots.is_some() {
            capabilities.roots = Some(RootsCapability::default().with_list_changed(true));
        }
        capabilities.tasks = self.tasks.map(|_| self.task_capability());
        if !self.experimental.is_empty() {
            capabilities.experimental = Some(self.experimental.clone());
        }
        if !self.extensions.is_empty() {
            capabilities.extensions = Some(self.extensions.clone());
        }
        capabilities
    }

    /// Returns the tasks capability. It lists the server requests that have a handler, because these requests can run as tasks.
    fn task_capability(&self) -> ClientTasksCapability {
        let mut requests = ClientTaskRequests::default();
        if self.handlers.form.is_some() || self.handlers.url.is_some() {
            let create = ElicitationTaskRequests::default().with_create(JsonObject::new());
            requests.elicitation = Some(create);
        }
        if self.handlers.sample.is_some() {
            let create = SamplingTaskRequests::default().with_create_message(JsonObject::new());
            requests.sampling = Some(create);
        }
        ClientTasksCapability::default()
            .with_list(JsonObject::new())
            .with_cancel(JsonObject::new())
            .with_requests(requests)
    }

    /// Returns an error for the first malformed extension identifier.
    fn check_extensions(&self) -> Result<(), Error> {
        let is_sound = |identifier: &&String| {
            let kind = MetaKey::check(identifier);
            matches!(kind, Ok(MetaKeyKind::Prefixed | MetaKeyKind::Reserved))
        };
        match self
            .extensions
            .keys()
            .find(|identifier| !is_sound(identifier))
        {
            None => Ok(()),
            Some(identifier) => Err(Error::invalid(format!(
                "extension {identifier:?}: the identifier needs a prefix, as in \"com.example/name\""
            ))),
        }
    }

    /// Connects and negotiates the revision, with a probe, with `initialize`, or with both.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if a setting is invalid.
    /// - [`Error::Transport`] if the transport cannot be started.
    /// - [`Error::Connect`] if the server does not respond in time or rejects the client, or if
    ///   there is no common revision. The connection is then closed. If the transport is a pipe,
    ///   the error contains the server's lines on stderr and its lines on stdout that are not
    ///   messages.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection.
    pub async fn connect(mut self, transport: impl Transport) -> Result<Client, Error> {
        self.check_extensions()?;
        self.handlers.custom.check(&self.extensions)?;
        let capabilities = self.relayed.take().unwrap_or_else(|| self.capabilities());
        let roots = self
            .roots
            .transpose()
            .map_err(|error| Error::invalid(error.to_string()))?;
        let approve = self.handlers.approve.clone();
        let has_log = self.handlers.log.is_some();
        let progress = Arc::new(ProgressTable::default());
        let layers = self.handlers.custom.layers();
        let tolerance = Arc::new(Tolerance::new(self.strictness));
        let inbound = ClientInbound::new(
            self.handlers,
            capabilities.clone(),
            roots.unwrap_or_default(),
            Arc::clone(&progress),
            Cache::new(self.cache),
            self.tasks,
            Arc::clone(&tolerance),
        );
        let options = ConnectOptions {
            info: self.info,
            anonymous: self.anonymous,
            capabilities,
            timeouts: self.timeouts,
            connect_timeout: self.connect_timeout,
            policy: self.policy,
            tolerance,
            wants_log: has_log,
        };
        let transport: Box<dyn Transport> = Box::new(transport);
        let transport = match &layers {
            Some(layers) => layers.wrap_transport(transport),
            None => transport,
        };
        let (connection, agreed) = options.connect(transport, &inbound).await?;
        let has_headers = agreed.meta.is_some() && connection.has_headers();
        let shared = Shared {
            link: connection.link(),
            connection,
            cache: Arc::clone(&inbound.cache),
            inbound,
            progress,
            agreed,
            timeouts: self.timeouts,
            max_round_trips: self.max_round_trips,
            max_list_bytes: self.max_list_bytes,
            lists_before_call: self.lists_before_call,
            approve,
            tools: KnownTools::new(has_headers),
            tolerance: options.tolerance,
        };
        Ok(Client::start(shared, self.keep_alive))
    }
}

/// Adds `handler` to the existing callbacks. `handler` is called after all of them.
fn add_callback<T: Clone + 'static>(
    callbacks: &mut Option<Callback<T>>,
    handler: impl Fn(T) + Send + Sync + 'static,
) {
    *callbacks = Some(match callbacks.take() {
        None => Arc::new(handler),
        Some(earlier) => Arc::new(move |value: T| {
            earlier(value.clone());
            handler(value);
        }),
    });
}
