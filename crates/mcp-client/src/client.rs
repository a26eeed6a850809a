//! A connected client.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::{Closed, Connection, Delivery, MethodName, Revision, Tolerance, downgrade};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{
    CompleteRequest, CompleteRequestParams, CompletionArgument, CompletionReference,
    GetPromptRequest, GetPromptRequestParams, Implementation, LoggingLevel, Notification,
    PingRequest, Prompt, ReadResourceRequest, ReadResourceRequestParams, Request, Resource,
    ResourceTemplate, Root, ServerCapabilities, SetLevelRequest, SetLevelRequestParams, Task, Tool,
    method,
};
use serde_json::Value;

use crate::builder::ClientBuilder;
use crate::call::{Call, RawCall, not_an_object};
use crate::connect::keep_alive::{self, KeepAlive};
use crate::connect::negotiation::KnownVersion;
use crate::error::Error;
use crate::inbound::roots;
use crate::lists::{self, ListCall};
use crate::shared::Shared;
use crate::subscriptions::Subscription;
use crate::tasks::{TaskHandle, TaskRef};
use crate::tool_call::{ToolCall, ToolRoundTrip};

/// A client of one server. Cloning returns another handle to the same connection. The connection
/// ends when the last handle is dropped.
///
/// ```no_run
/// # async fn run(transport: impl mcp_client::Transport) -> Result<(), mcp_client::Error> {
/// use mcp_client::Client;
/// use mcp_client::serde_json::json;
///
/// let client = Client::builder("my-host", "1.0.0").on_elicit(async |form| form.decline()).connect(transport).await?;
/// for tool in client.list_tools().await? {
///     println!("{}", tool.display_name());
/// }
/// let result = client.call_tool("add", json!({ "a": 2, "b": 3 })).on_progress(|step| println!("{}", step.progress)).await?;
/// println!("{}", result.joined_text());
/// let note = client.read_resource("note:///7").await?;
/// # let _ = note;
/// client.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Shared>);

impl Client {
    /// Creates the builder of a client. The server receives `name` and `version`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    pub(crate) fn start(shared: Shared, keep_alive: Option<KeepAlive>) -> Self {
        let client = Self(Arc::new(shared));
        let Shared {
            agreed, inbound, ..
        } = &*client.0;
        if agreed.meta.is_some() && inbound.wants_changes() {
            inbound.listener.want_lists(&agreed.capabilities, &client.0);
        }
        if let Some(keep_alive) = keep_alive {
            keep_alive::start(&client.0, keep_alive);
        }
        client
    }

    /// Returns the server's name and version; `unknown` if it does not declare them.
    pub fn server_info(&self) -> &Implementation {
        &self.0.agreed.server
    }

    /// Returns the capabilities that the server declared.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.0.agreed.capabilities
    }

    /// Returns the server's instructions for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.0.agreed.instructions.as_deref()
    }

    /// Returns the negotiated revision.
    pub fn revision(&self) -> Revision {
        self.0.agreed.revision
    }

    /// Returns the strictness of the client, and the number of tolerated deviations of the server.
    pub fn tolerance(&self) -> &Tolerance {
        &self.0.tolerance
    }

    /// Returns the negotiated version, for the [next connection](crate::Negotiation::Prior) to this
    /// server.
    pub fn known_version(&self) -> KnownVersion {
        KnownVersion::of(self.revision())
    }

    /// Checks that the server offers a method that the host requires.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names the missing capability.
    pub fn require<R: Request>(&self) -> Result<(), Error> {
        self.0.offers(R::METHOD)
    }

    /// Creates a call for any request type `R` of the protocol.
    pub fn request<R: Request>(&self, params: &R::Params) -> Call<R> {
        Call::new(&self.0, params)
    }

    /// Creates a request whose method is known only at run time. Its params are an object or null.
    pub fn request_raw(&self, method: impl Into<MethodName>, params: Value) -> RawCall {
        RawCall::new(&self.0, method.into(), params)
    }

    /// Sends a notification, usually a notification that is not part of the protocol.
    ///
    /// # Errors
    /// The connection has ended, or the params cannot be written as a JSON object.
    pub fn notify<N: Notification>(&self, params: &N::Params) -> Result<(), Error> {
        let params = serde_json::to_value(params)
            .map_err(|error| Error::invalid(format!("{}: {error}", N::METHOD)))?;
        self.notify_raw(N::METHOD, params)
    }

    /// Sends a notification whose method is known only at run time.
    ///
    /// # Errors
    /// The connection has ended, or the params are not a JSON object.
    pub fn notify_raw(&self, method: &str, params: Value) -> Result<(), Error> {
        let shared = &self.0;
        let Value::Object(params) = params else {
            return Err(not_an_object(method));
        };
        let params = match &shared.agreed.meta {
            Some(meta) => meta.write(&params, None, &[]),
            None => mcp_jsonrpc::text_of(&Value::Object(params)).into_bytes(),
        };
        shared
            .link
            .notify(method, Some(&params), Delivery::Always)
            .map_err(Error::Closed)
    }

    /// Sends `ping`. On the stateless revision, which has no `ping`, sends `server/discover`
    /// instead.
    pub fn ping(&self) -> Call<PingRequest> {
        Call::without_params(&self.0)
    }

    /// Lists all tools. Removes icons that are not safe to load. Stores the output schemas, with which the client later checks
    /// results. On HTTP with the stateless revision, leaves out tools with invalid `x-mcp-header` annotations.
    pub fn list_tools(&self) -> ListCall<Tool> {
        lists::tools(&self.0)
    }

    /// Lists all prompts.
    pub fn list_prompts(&self) -> ListCall<Prompt> {
        lists::prompts(&self.0)
    }

    /// Lists all resources.
    pub fn list_resources(&self) -> ListCall<Resource> {
        lists::resources(&self.0)
    }

    /// Lists all resource templates. If the server has resources but does not know this request, the list is empty.
    pub fn list_resource_templates(&self) -> ListCall<ResourceTemplate> {
        lists::resource_templates(&self.0)
    }

    /// Lists all tasks that the server keeps for this client (2025-11-25). Servers that cannot
    /// distinguish their clients do not offer this list.
    pub fn list_tasks(&self) -> ListCall<Task> {
        lists::tasks(&self.0)
    }

    /// Calls a tool. `arguments` is a JSON object, or `null` for no arguments. The handlers of the [`ClientBuilder`] answer
    /// requests for input. If the server continues the call as a task, the returned value still waits for the final result.
    ///
    /// If a server of 2025-11-25 declares tasks, the client lists all tools before the first call of an unlisted tool. The list
    /// says which tools run only as tasks. [`ClientBuilder::without_listing_tools`] disables this request.
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Into<Value>) -> ToolCall {
        ToolCall::new(&self.0, name.into(), arguments.into())
    }

    /// Sends one request of a tool call, for hosts that collect input themselves. Returns the result of the tool or the input
    /// requests of the server. If the server creates a task, returns the unchanged JSON of the response as a result of unknown
    /// type.
    pub fn call_tool_once(
        &self,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> ToolRoundTrip {
        ToolRoundTrip::new(self.call_tool(name, arguments))
    }

    /// Returns the handle of a task whose [reference](TaskHandle::task_ref) was stored.
    pub fn task(&self, task: TaskRef) -> TaskHandle {
        TaskHandle::resumed(&self.0, task)
    }

    /// Gets a prompt. [`arguments`](Call::arguments) sets its arguments.
    pub fn get_prompt(&self, name: impl Into<String>) -> Call<GetPromptRequest> {
        Call::new(&self.0, &GetPromptRequestParams::new(name))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceRequest> {
        Call::new(&self.0, &ReadResourceRequestParams::new(uri))
    }

    /// Completes an argument of a prompt or a variable of a resource template. [`resolved`](Call::resolved) sets the
    /// arguments that are already known.
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Call<CompleteRequest> {
        let argument = CompletionArgument::new(argument, value);
        let mut params = CompleteRequestParams::new(reference, argument);
        downgrade::complete_params(&mut params, self.0.rules());
        Call::new(&self.0, &params)
    }

    /// Removes all cached results.
    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// Sets the minimum level of the server's log messages. On the stateless revision, the client sends nothing now; every later
    /// request declares the level.
    pub fn set_log_level(&self, level: LoggingLevel) -> Call<SetLevelRequest> {
        Call::new(&self.0, &SetLevelRequestParams::new(level))
    }

    /// Subscribes to changes of a resource.
    ///
    /// # Errors
    /// Returns an error if the server offers no subscriptions, or rejects this subscription.
    pub async fn subscribe(&self, uri: impl Into<Arc<str>>) -> Result<Subscription, Error> {
        Subscription::open(&self.0, uri.into()).await
    }

    /// Returns the subscription filter that a stateless server has accepted. Returns `None` if the client requested nothing or
    /// the server accepted nothing.
    pub fn subscribed_changes(&self) -> Option<SubscriptionFilter> {
        self.0.inbound.listener.acknowledged_filter()
    }

    /// Replaces the roots. In a session, also notifies the server. A stateless server requests the roots whenever it needs them.
    ///
    /// # Errors
    /// Returns an error if a root is not a `file://` URI, or if the client did not declare roots
    /// when it connected.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let roots: Vec<Root> = roots.into_iter().collect();
        for root in &roots {
            roots::check(root).map_err(|error| Error::invalid(error.to_string()))?;
        }
        if !self.0.inbound.set_roots(roots) {
            return Err(Error::invalid(
                "the client did not declare roots; call ClientBuilder::roots before connecting, for \
                 example with an empty list"
                    .to_owned(),
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

    /// Returns the connection, for a gateway that passes messages on as JSON text. Requests that are sent through this connection
    /// have no timeouts, and do not get the metadata of the stateless revision.
    pub fn connection(&self) -> &Arc<dyn Connection> {
        &self.0.connection
    }

    /// Closes the connection gracefully. A child process is first asked to end, and is killed if it does not end. Pending calls
    /// fail.
    ///
    /// # Errors
    /// Returns an error if the transport could not be closed gracefully. The transport is closed in any case.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.0.connection.close().await?)
    }

    /// Waits until the connection has ended, and returns the reason.
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
