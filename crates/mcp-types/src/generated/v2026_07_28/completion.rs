// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//! Completion of prompt and template arguments.

use crate::v2026_07_28::RequestMeta;
use crate::{Completion, CompletionArgument, CompletionContext, CompletionReference, Meta};
use serde::{Deserialize, Serialize};

/// Which argument to complete.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// The prompt or template the argument belongs to.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument and what was typed so far.
    pub argument: CompletionArgument,
    /// What is known about the other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl CompleteRequestParams {
    /// Makes one from its required members.
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

/// Suggestions for an argument.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// The suggestions.
    pub completion: Completion,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteResult {
    /// Makes one from its required members.
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
