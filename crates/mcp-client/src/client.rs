//! A connected client.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_protocol::{Closed, Delivery, Revision, downgrade};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{
    CompleteRequest, CompleteRequestParams, CompletionArgument, CompletionContext,
    CompletionReference, GetPromptRequest, GetPromptRequestParams, Implementation, LoggingLevel,
    PingRequest, Prompt, ReadResourceRequest, ReadResourceRequestParams, Request, Resource,
    ResourceTemplate, Root, ServerCapabilities, SetLevelRequest, SetLevelRequestParams, Task, Tool,
    method,
};
use serde_json::Value;

use crate::builder::Builder;
use crate::call::tool::{ToolCall, ToolRoundTrip};
use crate::call::{Call, lists};
use crate::connect::keep_alive::{self, KeepAlive};
use crate::connect::negotiation::KnownVersion;
use crate::error::Error;
use crate::inbound::roots;
use crate::shared::Shared;
use crate::subscriptions::Subscription;
use crate::tasks::{TaskHandle, TaskRef};

/// A client of one server. Cloning gives another handle to the same connection; when the last
/// one is dropped the connection is ended.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

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
        if agreed.meta.is_some() && inbound.wants_changes() {
            inbound.listener.want_lists(&agreed.capabilities);
            if inbound.listener.has_wanted() {
                inbound.listener.start(&client.0);
            }
        }
        if let Some(keep_alive) = keep_alive {
            keep_alive::start(&client.0, keep_alive);
        }
        client
    }

    /// Who the server says it is; `unknown` if it does not say.
    pub fn server_info(&self) -> &Implementation {
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
    pub fn known_version(&self) -> KnownVersion {
        KnownVersion::of(self.revision())
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
        Call::new(&self.0, params)
    }

    /// Asks for a sign of life. A server without sessions, which knows no ping, is asked what it
    /// is.
    pub fn ping(&self) -> Call<PingRequest> {
        Call::without_params(&self.0)
    }

    /// Lists all tools. Icons that are not safe to load are removed, and output schemas are remembered
    /// for checking results. On HTTP with the stateless revision, tools with invalid `x-mcp-header`
    /// annotations are left out.
    ///
    /// # Errors
    /// As any call; also if the server repeats a cursor, or sends more than 1,000 pages or 100,000
    /// items.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        lists::tools(&self.0).await
    }

    /// Lists all prompts.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        lists::prompts(&self.0).await
    }

    /// Lists all resources.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        lists::resources(&self.0).await
    }

    /// Lists all resource templates.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        lists::resource_templates(&self.0).await
    }

    /// Lists all tasks that the server keeps for this client (2025-11-25). Servers that cannot
    /// distinguish their clients do not offer this list.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_tasks(&self) -> Result<Vec<Task>, Error> {
        lists::tasks(&self.0).await
    }

    /// Calls a tool with arguments, a JSON object or `null` for none. Questions that the server
    /// wants answered first go to the handlers of the [`Builder`]. A call that the server goes on
    /// with as a task is still one await: it is looked at until it has ended.
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Into<Value>) -> ToolCall {
        ToolCall::new(&self.0, name.into(), arguments.into())
    }

    /// Sends one request of a tool call, and gives what it comes to: the result, or the questions
    /// that the server wants answered first. For hosts that answer questions in their own time. A
    /// task is an outcome of a kind that is not known there, with all its members.
    pub fn call_tool_once(
        &self,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> ToolRoundTrip {
        ToolRoundTrip::new(self.call_tool(name, arguments))
    }

    /// Comes back to a task: one whose [ticket](TaskHandle::ticket) was stored.
    pub fn task(&self, task: TaskRef) -> TaskHandle {
        TaskHandle::resumed(&self.0, task)
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
        Call::new(&self.0, &params)
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceRequest> {
        Call::new(&self.0, &ReadResourceRequestParams::new(uri))
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
        Call::new(&self.0, &params)
    }

    /// Forgets all results that were kept, so that the next calls see the server as it is.
    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// Asks the server to log from this level up. A server without sessions is not asked at once:
    /// every request from now on says so.
    pub fn set_log_level(&self, level: LoggingLevel) -> Call<SetLevelRequest> {
        Call::new(&self.0, &SetLevelRequestParams::new(level))
    }

    /// Subscribes to changes of a resource.
    ///
    /// # Errors
    /// The server offers no subscriptions, or refuses this one.
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<Subscription, Error> {
        Subscription::open(&self.0, uri.into()).await
    }

    /// Which changes a server without sessions has agreed to tell of; `None` if none were asked
    /// for, or if it does not.
    pub fn subscribed_changes(&self) -> Option<SubscriptionFilter> {
        self.0.inbound.listener.acknowledged_filter()
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
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", self.server_info())
            .field("revision", &self.revision())
            .field("progress_tokens", &self.0.progress.len())
            .finish_non_exhaustive()
    }
}
