// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Completion of prompt and template arguments.

use crate::v2026_07_28::RequestMeta;
use crate::{Completion, CompletionArgument, CompletionContext, CompletionReference, Meta};
use serde::{Deserialize, Serialize};

/// The argument to complete.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// The prompt or resource template that the argument belongs to.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument and its current value.
    pub argument: CompletionArgument,
    /// The other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl CompleteRequestParams {
    /// Creates a value from its required members.
    pub fn new(
        reference: impl Into<CompletionReference>,
        argument: CompletionArgument,
        meta: RequestMeta,
    ) -> Self {
        Self {
            reference: reference.into(),
            argument,
            context: None,
            meta,
        }
    }

    /// Sets [`context`](Self::context).
    #[must_use]
    pub fn with_context(mut self, context: CompletionContext) -> Self {
        self.context = Some(context);
        self
    }
}

/// Suggested values for an argument.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The suggested values.
    pub completion: Completion,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteResult {
    /// Creates a value from its required members.
    pub fn new(completion: Completion) -> Self {
        Self {
            result_type: crate::constant::Complete,
            completion,
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
