// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Resources, resource templates and their contents.

use crate::v2026_07_28::{CacheScope, InputResponses, RequestMeta};
use crate::{Meta, Resource, ResourceContents, ResourceTemplate};
use serde::{Deserialize, Serialize};

/// One page of the resource templates of a server.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The templates.
    pub resource_templates: Vec<ResourceTemplate>,
    /// How long the result stays fresh after its receipt, in milliseconds; missing and negative values read as 0.
    #[serde(default, deserialize_with = "crate::number::at_least_zero")]
    pub ttl_ms: u64,
    /// The requests that a cached result may answer; absent means private.
    #[serde(default)]
    pub cache_scope: CacheScope,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourceTemplatesResult {
    /// Creates a value from its required members.
    pub fn new(
        resource_templates: Vec<ResourceTemplate>,
        ttl_ms: u64,
        cache_scope: impl Into<CacheScope>,
    ) -> Self {
        Self {
            result_type: crate::constant::Complete,
            resource_templates,
            ttl_ms,
            cache_scope: cache_scope.into(),
            next_cursor: None,
            meta: None,
        }
    }

    /// Sets [`next_cursor`](Self::next_cursor).
    #[must_use]
    pub fn with_next_cursor(mut self, next_cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(next_cursor.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// One page of the resources of a server.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The resources.
    pub resources: Vec<Resource>,
    /// How long the result stays fresh after its receipt, in milliseconds; missing and negative values read as 0.
    #[serde(default, deserialize_with = "crate::number::at_least_zero")]
    pub ttl_ms: u64,
    /// The requests that a cached result may answer; absent means private.
    #[serde(default)]
    pub cache_scope: CacheScope,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourcesResult {
    /// Creates a value from its required members.
    pub fn new(resources: Vec<Resource>, ttl_ms: u64, cache_scope: impl Into<CacheScope>) -> Self {
        Self {
            result_type: crate::constant::Complete,
            resources,
            ttl_ms,
            cache_scope: cache_scope.into(),
            next_cursor: None,
            meta: None,
        }
    }

    /// Sets [`next_cursor`](Self::next_cursor).
    #[must_use]
    pub fn with_next_cursor(mut self, next_cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(next_cursor.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The resource to read.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// The URI of the resource, which does not have to be listed.
    pub uri: String,
    /// Responses to the input requests of the earlier result, under the same keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The request state of the earlier result, unchanged; only the server can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl ReadResourceRequestParams {
    /// Creates a value from its required members.
    pub fn new(uri: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            uri: uri.into(),
            input_responses: None,
            request_state: None,
            meta,
        }
    }

    /// Sets [`input_responses`](Self::input_responses).
    #[must_use]
    pub fn with_input_responses(mut self, input_responses: InputResponses) -> Self {
        self.input_responses = Some(input_responses);
        self
    }

    /// Sets [`request_state`](Self::request_state).
    #[must_use]
    pub fn with_request_state(mut self, request_state: impl Into<String>) -> Self {
        self.request_state = Some(request_state.into());
        self
    }
}

/// The contents of a resource.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The contents; a folder may have several.
    pub contents: Vec<ResourceContents>,
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

impl ReadResourceResult {
    /// Creates a value from its required members.
    pub fn new(
        contents: Vec<ResourceContents>,
        ttl_ms: u64,
        cache_scope: impl Into<CacheScope>,
    ) -> Self {
        Self {
            result_type: crate::constant::Complete,
            contents,
            ttl_ms,
            cache_scope: cache_scope.into(),
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
