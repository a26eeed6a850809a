// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Prompts and the messages they expand to.

use crate::v2026_07_28::{CacheScope, InputResponses, RequestMeta};
use crate::{Meta, Prompt, PromptMessage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The prompt to expand and its arguments.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    /// The name of the prompt.
    pub name: String,
    /// The values of the arguments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
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

impl GetPromptRequestParams {
    /// Creates a value from its required members.
    pub fn new(name: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            meta,
        }
    }

    /// Sets [`arguments`](Self::arguments).
    #[must_use]
    pub fn with_arguments(mut self, arguments: BTreeMap<String, String>) -> Self {
        self.arguments = Some(arguments);
        self
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

/// An expanded prompt.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetPromptResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The purpose of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages for a model, in order.
    pub messages: Vec<PromptMessage>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptResult {
    /// Creates a value from its required members.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            result_type: crate::constant::Complete,
            description: None,
            messages,
            meta: None,
        }
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// One page of the prompts of a server.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The prompts.
    pub prompts: Vec<Prompt>,
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

impl ListPromptsResult {
    /// Creates a value from its required members.
    pub fn new(prompts: Vec<Prompt>, ttl_ms: u64, cache_scope: impl Into<CacheScope>) -> Self {
        Self {
            result_type: crate::constant::Complete,
            prompts,
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
