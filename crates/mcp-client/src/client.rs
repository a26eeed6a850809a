//! A connected client.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use mcp_protocol::{Closed, Connection, Delivery, Link, Revision, Rules, Timeouts, downgrade};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{
    CompleteRequest, CompleteRequestParams, CompletionArgument, CompletionContext,
    CompletionReference, GetPromptRequest, GetPromptRequestParams, Implementation, JsonObject,
    LoggingLevel, PingRequest, ReadResourceRequest, ReadResourceRequestParams, Request, Root,
    ServerCapabilities, SetLevelRequest, SetLevelRequestParams, method,
};
use serde_json::Value;

use crate::agreed::Agreed;
use crate::builder::{Builder, KeepAlive};
use crate::cache::Cache;
use crate::call::Call;
use crate::inbound::ClientInbound;
use crate::known::KnownTools;
use crate::progress::Table;
use crate::questions::Approve;
use crate::subscription::Subscription;
use crate::tasks::{TaskHandle, TaskTicket};
use crate::tools::{ToolCall, ToolRound};
use crate::{Error, Verdict, roots};

/// A client of one server. Cloning gives another handle to the same connection; when the last
/// one is dropped the connection is ended.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) connection: Arc<dyn Connection>,
    pub(crate) inbound: Arc<ClientInbound>,
    pub(crate) progress: Arc<Table>,
    pub(crate) agreed: Agreed,
    pub(crate) timeouts: Timeouts,
    /// How many rounds of questions a call may take.
    pub(crate) rounds: u32,
    pub(crate) approve: Option<Approve>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) tools: KnownTools,
}

impl Shared {
    pub(crate) fn rules(&self) -> &'static Rules {
        self.agreed.rules()
    }
}

impl Client {
    /// Describes a client of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder::new(name, version)
    }

    pub(crate) fn start(shared: Shared, keep_alive: Option<KeepAlive>) -> Self {
        let client = Self(Arc::new(shared));
        let Shared {
            agreed, inbound, ..
        } = &*client.0;
        if agreed.envelope.is_some() && inbound.wants_changes() {
            inbound.listener.want_lists(&agreed.capabilities);
            if inbound.listener.is_wanted() {
                inbound.listener.start(&client.0);
            }
        }
        if let Some(keep_alive) = keep_alive {
            tokio::spawn(watch(Arc::downgrade(&client.0), keep_alive));
        }
        client
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Who the server says it is; `unknown` if it does not say.
    pub fn server(&self) -> &Implementation {
        &self.0.agreed.server
    }

    /// What the server declared it can do.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.0.agreed.capabilities
    }

    /// The server's advice for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.0.agreed.instructions.as_deref()
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.0.agreed.revision
    }

    /// What was found out about the server, for the [next connection](crate::Negotiation::Prior) to
    /// it.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.revision())
    }

    /// Fails if the server does not offer this method: for hosts that cannot do without it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names the missing capability.
    pub fn require<R: Request>(&self) -> Result<(), Error> {
        self.0.offers(R::METHOD)
    }

    /// Any request the protocol has a type for.
    pub fn request<R: Request>(&self, params: &R::Params) -> Call<R> {
        Call::new(self, params)
    }

    /// Asks for a sign of life. A server without sessions, which knows no ping, is asked what it
    /// is.
    pub fn ping(&self) -> Call<PingRequest> {
        Call::bare(self)
    }

    /// Calls a tool with arguments, a JSON object or `null` for none. Questions that the server
    /// wants answered first go to the handlers of the [`Builder`]. A call that the server goes on
    /// with as a task is still one await: it is looked at until it has ended.
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Into<Value>) -> ToolCall {
        ToolCall::new(self, name.into(), arguments.into())
    }

    /// Sends one request of a tool call, and gives what it comes to: the result, or the questions
    /// that the server wants answered first. For hosts that answer questions in their own time. A
    /// task is an outcome of a kind that is not known there, with all its members.
    pub fn call_tool_once(
        &self,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> ToolRound {
        ToolRound::new(self.call_tool(name, arguments))
    }

    /// Comes back to a task: one whose [ticket](TaskHandle::ticket) was stored.
    pub fn task(&self, ticket: TaskTicket) -> TaskHandle {
        TaskHandle::resumed(self, ticket)
    }

    /// Writes a prompt with these arguments.
    pub fn get_prompt<K: Into<String>, V: Into<String>>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Call<GetPromptRequest> {
        let arguments: BTreeMap<String, String> = arguments
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        Call::new(self, &params)
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceRequest> {
        Call::new(self, &ReadResourceRequestParams::new(uri))
    }

    /// Completes an argument of a prompt or a variable of a resource template. `resolved` holds
    /// the arguments that are known already.
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
        resolved: BTreeMap<String, String>,
    ) -> Call<CompleteRequest> {
        let argument = CompletionArgument::new(argument, value);
        let mut params = CompleteRequestParams::new(reference, argument);
        if !resolved.is_empty() {
            params.context = Some(CompletionContext::default().with_arguments(resolved));
        }
        downgrade::complete_params(&mut params, self.0.rules());
        Call::new(self, &params)
    }

    /// Forgets all results that were kept, so that the next calls see the server as it is.
    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// Asks the server to log from this level up. A server without sessions is not asked at once:
    /// every request from now on says so.
    pub fn set_log_level(&self, level: LoggingLevel) -> Call<SetLevelRequest> {
        Call::new(self, &SetLevelRequestParams::new(level))
    }

    /// Subscribes to changes of a resource.
    ///
    /// # Errors
    /// The server offers no subscriptions, or refuses this one.
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<Subscription, Error> {
        Subscription::to(self, uri.into()).await
    }

    /// Which changes a server without sessions has agreed to tell of; `None` if none were asked
    /// for, or if it does not.
    pub fn hears_of(&self) -> Option<SubscriptionFilter> {
        self.0.inbound.listener.honoured()
    }

    /// Replaces the roots and tells the server, if it has a session: others ask each time.
    ///
    /// # Errors
    /// A root that is no `file://` URI, or the client did not declare roots when it connected.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let roots: Vec<Root> = roots.into_iter().collect();
        for root in &roots {
            roots::check(root).map_err(|error| Error::Invalid(error.to_string()))?;
        }
        if !self.0.inbound.set_roots(roots) {
            return Err(Error::Invalid(
                "roots were not declared; give the builder some, even an empty list".to_owned(),
            ));
        }
        if self.0.rules().stateless {
            return Ok(());
        }
        self.0
            .link
            .notify(
                method::NOTIFICATIONS_ROOTS_LIST_CHANGED,
                None,
                Delivery::Always,
            )
            .map_err(Error::Closed)
    }

    /// Ends the connection in good order: a child process is asked, then told, then killed.
    /// Pending calls fail.
    ///
    /// # Errors
    /// The transport could not be ended in good order; it is ended all the same.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.0.connection.close().await?)
    }

    /// Completes when the connection has ended, with the reason.
    pub async fn closed(&self) -> Closed {
        self.0.connection.closed().await
    }

    /// Calls of this client that could receive progress now.
    #[doc(hidden)]
    pub fn live_progress_tokens(&self) -> usize {
        self.0.progress.len()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", self.server())
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

/// Pings until the client is gone; ends the connection after too many misses.
async fn watch(client: Weak<Shared>, keep_alive: KeepAlive) {
    let mut missed = 0;
    loop {
        tokio::time::sleep(keep_alive.interval).await;
        let Some(shared) = client.upgrade() else {
            return;
        };
        let ping = match &shared.agreed.envelope {
            None => shared.link.request(method::PING, None),
            Some(envelope) => {
                let params = envelope.params(&JsonObject::new());
                shared.link.request(method::SERVER_DISCOVER, Some(params))
            }
        };
        match tokio::time::timeout(keep_alive.interval, ping).await {
            Ok(Ok(_)) => missed = 0,
            Ok(Err(_)) => return,
            Err(_) => {
                missed += 1;
                tracing::warn!(missed, "the server does not answer pings");
            }
        }
        if missed >= keep_alive.misses {
            tracing::error!(missed, "the server is not alive; closing");
            if let Err(error) = shared.connection.close().await {
                tracing::debug!(%error, "closing failed");
            }
            return;
        }
    }
}
