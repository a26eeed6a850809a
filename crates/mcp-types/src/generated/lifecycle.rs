// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! The handshake and the capabilities that it negotiates.

use crate::{Icon, JsonObject, Meta};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The capabilities of a client; an absent member is not supported.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Requests for input from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Features outside the specification, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, JsonObject>>,
    /// Supported extensions by name, each with its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, JsonObject>>,
    /// Folders and files that the server may work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// Model calls on the server's behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// Requests of the server that may run as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ClientTasksCapability>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ClientCapabilities {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`elicitation`](Self::elicitation).
    #[must_use]
    pub fn with_elicitation(mut self, elicitation: ElicitationCapability) -> Self {
        self.elicitation = Some(elicitation);
        self
    }

    /// Sets [`experimental`](Self::experimental).
    #[must_use]
    pub fn with_experimental(mut self, experimental: BTreeMap<String, JsonObject>) -> Self {
        self.experimental = Some(experimental);
        self
    }

    /// Sets [`extensions`](Self::extensions).
    #[must_use]
    pub fn with_extensions(mut self, extensions: BTreeMap<String, JsonObject>) -> Self {
        self.extensions = Some(extensions);
        self
    }

    /// Sets [`roots`](Self::roots).
    #[must_use]
    pub fn with_roots(mut self, roots: RootsCapability) -> Self {
        self.roots = Some(roots);
        self
    }

    /// Sets [`sampling`](Self::sampling).
    #[must_use]
    pub fn with_sampling(mut self, sampling: SamplingCapability) -> Self {
        self.sampling = Some(sampling);
        self
    }

    /// Sets [`tasks`](Self::tasks).
    #[must_use]
    pub fn with_tasks(mut self, tasks: ClientTasksCapability) -> Self {
        self.tasks = Some(tasks);
        self
    }
}

/// The requests to a client that may run as tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientTaskRequests {
    /// Elicitation requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTaskRequests>,
    /// Sampling requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTaskRequests>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ClientTaskRequests {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`elicitation`](Self::elicitation).
    #[must_use]
    pub fn with_elicitation(mut self, elicitation: ElicitationTaskRequests) -> Self {
        self.elicitation = Some(elicitation);
        self
    }

    /// Sets [`sampling`](Self::sampling).
    #[must_use]
    pub fn with_sampling(mut self, sampling: SamplingTaskRequests) -> Self {
        self.sampling = Some(sampling);
        self
    }
}

/// How a client supports tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientTasksCapability {
    /// Present if the client supports `tasks/cancel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    /// Present if the client supports `tasks/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    /// The requests that may run as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ClientTaskRequests>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ClientTasksCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`cancel`](Self::cancel).
    #[must_use]
    pub fn with_cancel(mut self, cancel: JsonObject) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets [`list`](Self::list).
    #[must_use]
    pub fn with_list(mut self, list: JsonObject) -> Self {
        self.list = Some(list);
        self
    }

    /// Sets [`requests`](Self::requests).
    #[must_use]
    pub fn with_requests(mut self, requests: ClientTaskRequests) -> Self {
        self.requests = Some(requests);
        self
    }
}

/// The elicitation modes that a client supports; empty means forms only.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Present if the client can direct the user to a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<JsonObject>,
    /// Present if the client supports forms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<JsonObject>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ElicitationCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`url`](Self::url).
    #[must_use]
    pub fn with_url(mut self, url: JsonObject) -> Self {
        self.url = Some(url);
        self
    }

    /// Sets [`form`](Self::form).
    #[must_use]
    pub fn with_form(mut self, form: JsonObject) -> Self {
        self.form = Some(form);
        self
    }
}

/// The elicitation requests that may run as tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationTaskRequests {
    /// Present if `elicitation/create` may run as a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<JsonObject>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ElicitationTaskRequests {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`create`](Self::create).
    #[must_use]
    pub fn with_create(mut self, create: JsonObject) -> Self {
        self.create = Some(create);
        self
    }
}

/// The software at one end of a connection.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The name, for programs.
    pub name: String,
    /// The name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version, in any format.
    pub version: String,
    /// The purpose of the software.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons that a user interface may show, in any number of sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// A page with more information, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Implementation {
    /// Creates a value from its required members.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            icons: None,
            website_url: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`icons`](Self::icons).
    #[must_use]
    pub fn with_icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Sets [`website_url`](Self::website_url).
    #[must_use]
    pub fn with_website_url(mut self, website_url: impl Into<String>) -> Self {
        self.website_url = Some(website_url.into());
        self
    }
}

/// The client's side of the handshake.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeRequestParams {
    /// The newest revision that the client supports.
    pub protocol_version: String,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The client software.
    pub client_info: Implementation,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeRequestParams {
    /// Creates a value from its required members.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            client_info,
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The server's side of the handshake.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The negotiated revision; a client that does not support it must disconnect.
    pub protocol_version: String,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The server software.
    pub server_info: Implementation,
    /// Instructions for the use of the server; a host may add them to the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeResult {
    /// Creates a value from its required members.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            server_info,
            instructions: None,
            meta: None,
        }
    }

    /// Sets [`instructions`](Self::instructions).
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// How a server supports prompts.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptsCapability {
    /// Whether a notification is sent when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl PromptsCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`list_changed`](Self::list_changed).
    #[must_use]
    pub fn with_list_changed(mut self, list_changed: bool) -> Self {
        self.list_changed = Some(list_changed);
        self
    }
}

/// How a server supports resources.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Whether a notification is sent when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Whether a client can subscribe to single resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ResourcesCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`list_changed`](Self::list_changed).
    #[must_use]
    pub fn with_list_changed(mut self, list_changed: bool) -> Self {
        self.list_changed = Some(list_changed);
        self
    }

    /// Sets [`subscribe`](Self::subscribe).
    #[must_use]
    pub fn with_subscribe(mut self, subscribe: bool) -> Self {
        self.subscribe = Some(subscribe);
        self
    }
}

/// How a client supports roots.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    /// Whether a notification is sent when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl RootsCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`list_changed`](Self::list_changed).
    #[must_use]
    pub fn with_list_changed(mut self, list_changed: bool) -> Self {
        self.list_changed = Some(list_changed);
        self
    }
}

/// How a client supports sampling.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// Present if `includeContext` may have other values than `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    /// Present if `tools` and `toolChoice` may be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<JsonObject>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl SamplingCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`context`](Self::context).
    #[must_use]
    pub fn with_context(mut self, context: JsonObject) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: JsonObject) -> Self {
        self.tools = Some(tools);
        self
    }
}

/// The sampling requests that may run as tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingTaskRequests {
    /// Present if `sampling/createMessage` may run as a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_message: Option<JsonObject>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl SamplingTaskRequests {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`create_message`](Self::create_message).
    #[must_use]
    pub fn with_create_message(mut self, create_message: JsonObject) -> Self {
        self.create_message = Some(create_message);
        self
    }
}

/// The capabilities of a server; an absent member is not supported.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Present if the server completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<JsonObject>,
    /// Features outside the specification, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, JsonObject>>,
    /// Supported extensions by name, each with its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, JsonObject>>,
    /// Present if the server sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<JsonObject>,
    /// Prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    /// Resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// Requests of the client that may run as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ServerTasksCapability>,
    /// Tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ServerCapabilities {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`completions`](Self::completions).
    #[must_use]
    pub fn with_completions(mut self, completions: JsonObject) -> Self {
        self.completions = Some(completions);
        self
    }

    /// Sets [`experimental`](Self::experimental).
    #[must_use]
    pub fn with_experimental(mut self, experimental: BTreeMap<String, JsonObject>) -> Self {
        self.experimental = Some(experimental);
        self
    }

    /// Sets [`extensions`](Self::extensions).
    #[must_use]
    pub fn with_extensions(mut self, extensions: BTreeMap<String, JsonObject>) -> Self {
        self.extensions = Some(extensions);
        self
    }

    /// Sets [`logging`](Self::logging).
    #[must_use]
    pub fn with_logging(mut self, logging: JsonObject) -> Self {
        self.logging = Some(logging);
        self
    }

    /// Sets [`prompts`](Self::prompts).
    #[must_use]
    pub fn with_prompts(mut self, prompts: PromptsCapability) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// Sets [`resources`](Self::resources).
    #[must_use]
    pub fn with_resources(mut self, resources: ResourcesCapability) -> Self {
        self.resources = Some(resources);
        self
    }

    /// Sets [`tasks`](Self::tasks).
    #[must_use]
    pub fn with_tasks(mut self, tasks: ServerTasksCapability) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: ToolsCapability) -> Self {
        self.tools = Some(tools);
        self
    }
}

/// The requests to a server that may run as tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerTaskRequests {
    /// Tool requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsTaskRequests>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ServerTaskRequests {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: ToolsTaskRequests) -> Self {
        self.tools = Some(tools);
        self
    }
}

/// How a server supports tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerTasksCapability {
    /// Present if the server supports `tasks/cancel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    /// Present if the server supports `tasks/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    /// The requests that may run as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ServerTaskRequests>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ServerTasksCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`cancel`](Self::cancel).
    #[must_use]
    pub fn with_cancel(mut self, cancel: JsonObject) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets [`list`](Self::list).
    #[must_use]
    pub fn with_list(mut self, list: JsonObject) -> Self {
        self.list = Some(list);
        self
    }

    /// Sets [`requests`](Self::requests).
    #[must_use]
    pub fn with_requests(mut self, requests: ServerTaskRequests) -> Self {
        self.requests = Some(requests);
        self
    }
}

/// How a server supports tools.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsCapability {
    /// Whether a notification is sent when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ToolsCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`list_changed`](Self::list_changed).
    #[must_use]
    pub fn with_list_changed(mut self, list_changed: bool) -> Self {
        self.list_changed = Some(list_changed);
        self
    }
}

/// The tool requests that may run as tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolsTaskRequests {
    /// Present if `tools/call` may run as a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<JsonObject>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ToolsTaskRequests {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`call`](Self::call).
    #[must_use]
    pub fn with_call(mut self, call: JsonObject) -> Self {
        self.call = Some(call);
        self
    }
}
