// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! The capabilities of both sides.

use crate::{
    ElicitationCapability, JsonObject, PromptsCapability, ResourcesCapability, SamplingCapability,
    ToolsCapability,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The capabilities of a client; an absent member is not supported.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation>
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
}

/// How a client supports roots.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RootsCapability {
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl RootsCapability {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The capabilities of a server; an absent member is not supported.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation>
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

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: ToolsCapability) -> Self {
        self.tools = Some(tools);
        self
    }
}
