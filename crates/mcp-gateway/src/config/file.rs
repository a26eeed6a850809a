//! The shape of the configuration file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::gateway::{AccessPolicy, ClientLimits};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// Read by `mcp_host::Config`.
    #[expect(dead_code, reason = "only the key is checked")]
    mcp_servers: IgnoredAny,
    #[serde(default)]
    pub(super) gateway: Section,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Section {
    pub(super) listen: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) instructions: Option<String>,
    /// In milliseconds.
    pub(super) list_timeout: Option<NonZeroU32>,
    pub(super) auth: Option<AuthSection>,
    pub(super) search_above: Option<usize>,
    pub(super) access: AccessPolicy,
    pub(super) limits: ClientLimits,
    /// By the name under `mcpServers`.
    pub(super) servers: BTreeMap<String, ServerSection>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AuthSection {
    pub(super) issuer: String,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct ServerSection {
    /// The prefix of names, instead of the name of the server.
    pub(super) namespace: Option<String>,
    #[serde(rename = "required")]
    pub(super) is_required: bool,
    #[serde(rename = "shared")]
    pub(super) is_shared: bool,
    #[serde(rename = "readOnly")]
    pub(super) is_read_only: bool,
    /// By the name at the server.
    pub(super) tools: BTreeMap<String, ToolSection>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct ToolSection {
    pub(super) rename: Option<String>,
    #[serde(rename = "hide")]
    pub(super) is_hidden: bool,
    pub(super) description: Option<String>,
    /// The arguments with fixed values.
    pub(super) arguments: BTreeMap<String, Value>,
}
