//! Who the client is, what it offers, and how it waits.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Revision, Timeouts, Transport};
use mcp_types::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, CreateMessageResult,
    ElicitResult, ElicitationCapability, ElicitationTaskRequests, Icon, Implementation, JsonObject,
    LoggingMessageNotificationParams, MetaKey, MetaKeyKind, Root, RootsCapability,
    SamplingCapability, SamplingTaskRequests, v2026_07_28,
};
use serde_json::Value;

use crate::call::cache::{Cache, CacheLimits};
use crate::call::known_tools::KnownTools;
use crate::call::progress::ProgressTable;
use crate::connect::ConnectOptions;
use crate::connect::keep_alive::KeepAlive;
use crate::connect::negotiation::{Negotiation, Policy};
use crate::inbound::ClientInbound;
use crate::inbound::handlers::{ChangedList, ElicitForm, ElicitUrl, Handlers, Sample};
use crate::inbound::roots::{self, InvalidRoot};
use crate::inbound::tasks::TaskLimits;
use crate::shared::Shared;
use crate::{Client, Error};

/// Describes a client before it connects.
///
/// Giving a handler declares the capability behind it.
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `connect`"]
pub struct Builder {
    info: Implementation,
    handlers: Handlers,
    roots: Option<Result<Vec<Root>, InvalidRoot>>,
    timeouts: Timeouts,
    policy: Policy,
    anonymous: bool,
    max_round_trips: u32,
    lists_before_call: bool,
    cache: CacheLimits,
    keep_alive: Option<KeepAlive>,
    tasks: Option<TaskLimits>,
    experimental: std::collections::BTreeMap<String, JsonObject>,
    extensions: std::collections::BTreeMap<String, JsonObject>,
}

impl Builder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            handlers: Handlers::default(),
            roots: None,
            timeouts: Timeouts::default(),
            policy: Policy::default(),
            anonymous: false,
            max_round_trips: 10,
            lists_before_call: true,
            cache: CacheLimits::default(),
            keep_alive: None,
            tasks: None,
            experimental: std::collections::BTreeMap::new(),
            extensions: std::collections::BTreeMap::new(),
        }
    }

    /// The name to show to people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// Timeouts of every call that brings none of its own.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The newest revision to speak; default: the newest there is. With one that has a handshake,
    /// servers are not asked for those that have none.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.policy.newest = revision;
        self
    }

    /// How to find out which era the server is of; default: by asking.
    pub fn negotiation(mut self, negotiation: Negotiation) -> Self {
        self.policy.negotiation = negotiation;
        self
    }

    /// How long a server at the end of a pipe may be silent when it is asked for
    /// `server/discover`, before it is taken for one that waits for a handshake; default: 5 s. Over
    /// HTTP silence is a failure.
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.policy.probe_timeout = timeout;
        self
    }

    /// Does not say who the client is, where that is not required: in requests to servers without
    /// a handshake.
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    /// How many rounds of questions one call may take before it fails; default: 10.
    pub fn max_round_trips(mut self, limit: u32) -> Self {
        self.max_round_trips = limit;
        self
    }

    /// Sets whether the first [`call_tool`](Client::call_tool) of an unlisted tool lists all tools
    /// before; default: `true`. This only concerns servers of 2025-11-25 that declare tasks: the
    /// list says which tools must be called as tasks. With `false`, such a tool is called without a
    /// task, and the tools are listed only if the server rejects the call, or if the call asks for a
    /// task ([`ToolCall::as_task`](crate::ToolCall::as_task)).
    pub fn list_tools_before_call(mut self, is_enabled: bool) -> Self {
        self.lists_before_call = is_enabled;
        self
    }

    /// What is kept of results that the server lets its clients keep; [`CacheLimits::NONE`]
    /// switches that off. What is kept belongs to this client and its credentials, and is shown
    /// to no other.
    pub fn cache(mut self, limits: CacheLimits) -> Self {
        self.cache = limits;
        self
    }

    /// Watches over the connection with pings; default: no.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// Lets servers ask as tasks (2025-11-25): what they ask for with a `task` member is answered
    /// at once with a task, and the server comes back for what the user or the model has said.
    /// Later revisions have no such thing.
    ///
    /// The tasks belong to the connection and end with it. Nobody but its server sees them.
    pub fn tasks(mut self, limits: TaskLimits) -> Self {
        self.tasks = Some(limits);
        self
    }

    /// Lets servers go on with tool calls as tasks (the extension for tasks, since 2026-07-28).
    /// A call is one await all the same; it may take long then, so mind
    /// [`ToolCall::timeouts`](crate::ToolCall::timeouts). Off unless called, as all extensions
    /// are; tools of 2025-11-25 that run as tasks only need nothing of it.
    pub fn task_calls(mut self) -> Self {
        self.extensions.extend(v2026_07_28::tasks_extension());
        self
    }

    /// Declares an experimental capability.
    pub fn experimental(mut self, name: impl Into<String>, value: JsonObject) -> Self {
        self.experimental.insert(name.into(), value);
        self
    }

    /// Declares that the client knows an extension, with its settings; an empty object where it has
    /// none. What the server declared is in [`Client::capabilities`].
    ///
    /// The identifier has a prefix, as in `com.example/search`; with one that is not well formed
    /// nothing is connected.
    pub fn extension(mut self, identifier: impl Into<String>, settings: JsonObject) -> Self {
        self.extensions.insert(identifier.into(), settings);
        self
    }

    /// Answers forms.
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

    /// Answers requests to open a URL.
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

    /// Is told, with the elicitation's id, when what happens behind an accepted URL is done. Only
    /// servers with sessions tell.
    pub fn on_elicit_url_done(mut self, handler: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.handlers.url_done = Some(Arc::new(handler));
        self
    }

    /// Answers questions to the model. Let a person see and refuse them.
    pub fn on_sample<F>(mut self, handler: impl Fn(Sample) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.handlers.sample = Some(Arc::new(move |sample| Box::pin(handler(sample))));
        self
    }

    /// Declares that the model behind [`on_sample`](Self::on_sample) can use tools.
    pub fn sampling_tools(mut self) -> Self {
        self.handlers.sampling_tools = true;
        self
    }

    /// Declares that [`on_sample`](Self::on_sample) honours `includeContext`.
    pub fn sampling_context(mut self) -> Self {
        self.handlers.sampling_context = true;
        self
    }

    /// Offers roots; they can be changed later with [`Client::set_roots`].
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        let checked = roots.iter().try_for_each(roots::check);
        self.roots = Some(checked.map(|()| roots));
        self
    }

    /// Is told what the server logs.
    pub fn on_log(
        mut self,
        handler: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.handlers.log = Some(Arc::new(handler));
        self
    }

    /// Is told when a list of the server changed. Of a server without sessions this keeps a stream
    /// open, if the server announces that it tells.
    pub fn on_change(mut self, handler: impl Fn(ChangedList) + Send + Sync + 'static) -> Self {
        self.handlers.changed = Some(Arc::new(handler));
        self
    }

    /// Is asked, with name and arguments, before a tool is called; `false` stops the call.
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

    /// The questions that may be tasks are those that are answered.
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

    /// Names the first extension that is not called by an identifier.
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
            Some(identifier) => Err(Error::Invalid(format!(
                "extension {identifier:?}: the identifier needs a prefix, as in \"com.example/name\""
            ))),
        }
    }

    /// Connects, and finds out which revision to speak: by asking, by a handshake, or by both.
    ///
    /// # Errors
    /// The transport cannot be started, the server does not answer in time or refuses, or there
    /// is no common revision. The connection is closed then.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection.
    pub async fn connect(self, transport: impl Transport) -> Result<Client, Error> {
        self.check_extensions()?;
        let capabilities = self.capabilities();
        let roots = self
            .roots
            .transpose()
            .map_err(|error| Error::Invalid(error.to_string()))?;
        let approve = self.handlers.approve.clone();
        let progress = Arc::new(ProgressTable::default());
        let inbound = Arc::new(ClientInbound::new(
            self.handlers,
            capabilities.clone(),
            roots.unwrap_or_default(),
            Arc::clone(&progress),
            Cache::new(self.cache),
            self.tasks,
        ));
        let options = ConnectOptions {
            info: self.info,
            anonymous: self.anonymous,
            capabilities,
            timeouts: self.timeouts,
            policy: self.policy,
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
            lists_before_call: self.lists_before_call,
            approve,
            tools: KnownTools::new(has_headers),
        };
        Ok(Client::start(shared, self.keep_alive))
    }
}
