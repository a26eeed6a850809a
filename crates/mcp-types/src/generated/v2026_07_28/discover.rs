// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Discovery of a server, and the errors for an unsupported revision or a missing client capability.

use crate::Meta;
use crate::v2026_07_28::{CacheScope, ClientCapabilities, ServerCapabilities};
use serde::{Deserialize, Serialize};

/// The identity and the capabilities of a server.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/discover>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The revisions that the server supports.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for the use of the server; a host may add them to the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How long the result stays fresh after its receipt, in milliseconds; missing and negative values read as 0.
    #[serde(default, deserialize_with = "crate::number::at_least_zero")]
    pub ttl_ms: u64,
    /// The requests that a cached result may answer; absent means private.
    #[serde(default)]
    pub cache_scope: CacheScope,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DiscoverResult {
    /// Creates a value from its required members.
    pub fn new(
        supported_versions: Vec<String>,
        capabilities: ServerCapabilities,
        ttl_ms: u64,
        cache_scope: impl Into<CacheScope>,
    ) -> Self {
        Self {
            result_type: crate::constant::Complete,
            supported_versions,
            capabilities,
            instructions: None,
            ttl_ms,
            cache_scope: cache_scope.into(),
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

/// The data of the error for a client that lacks a required capability.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/schema#missingrequiredclientcapabilityerror>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapability {
    /// The missing capabilities.
    pub required_capabilities: ClientCapabilities,
}

impl MissingRequiredClientCapability {
    /// Creates a value from its required members.
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self {
            required_capabilities,
        }
    }
}

/// The data of the error for an unsupported revision.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/schema#unsupportedprotocolversionerror>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedProtocolVersion {
    /// The revisions that the server supports; the client may retry with one of them.
    pub supported: Vec<String>,
    /// The revision of the request.
    pub requested: String,
}

impl UnsupportedProtocolVersion {
    /// Creates a value from its required members.
    pub fn new(supported: Vec<String>, requested: impl Into<String>) -> Self {
        Self {
            supported,
            requested: requested.into(),
        }
    }
}
