// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{Icon, JsonObject, Meta};
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, JsonObject>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ClientTasksCapability>,
    /// Members this revision does not know, kept as they came.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ClientCapabilities {
    /// An empty `ClientCapabilities`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientTaskRequests {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTaskRequests>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTaskRequests>,
}

impl ClientTaskRequests {
    /// An empty `ClientTaskRequests`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientTasksCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ClientTaskRequests>,
}

impl ClientTasksCapability {
    /// An empty `ClientTasksCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<JsonObject>,
}

impl ElicitationCapability {
    /// An empty `ElicitationCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationTaskRequests {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<JsonObject>,
}

impl ElicitationTaskRequests {
    /// An empty `ElicitationTaskRequests`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    ///
    pub name: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    pub version: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Implementation {
    /// A `Implementation` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeRequestParams {
    ///
    pub protocol_version: String,
    ///
    pub capabilities: ClientCapabilities,
    ///
    pub client_info: Implementation,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeRequestParams {
    /// A `InitializeRequestParams` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    ///
    pub protocol_version: String,
    ///
    pub capabilities: ServerCapabilities,
    ///
    pub server_info: Implementation,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeResult {
    /// A `InitializeResult` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptsCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl PromptsCapability {
    /// An empty `PromptsCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
}

impl ResourcesCapability {
    /// An empty `ResourcesCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl RootsCapability {
    /// An empty `RootsCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<JsonObject>,
}

impl SamplingCapability {
    /// An empty `SamplingCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingTaskRequests {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_message: Option<JsonObject>,
}

impl SamplingTaskRequests {
    /// An empty `SamplingTaskRequests`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, JsonObject>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ServerTasksCapability>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// Members this revision does not know, kept as they came.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ServerCapabilities {
    /// An empty `ServerCapabilities`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerTaskRequests {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsTaskRequests>,
}

impl ServerTaskRequests {
    /// An empty `ServerTaskRequests`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerTasksCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ServerTaskRequests>,
}

impl ServerTasksCapability {
    /// An empty `ServerTasksCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsCapability {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl ToolsCapability {
    /// An empty `ToolsCapability`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolsTaskRequests {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<JsonObject>,
}

impl ToolsTaskRequests {
    /// An empty `ToolsTaskRequests`; every member is optional.
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
