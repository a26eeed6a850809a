// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Completion of prompt and template arguments.

use crate::Meta;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The argument to complete.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
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
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteRequestParams {
    /// Creates a value from its required members.
    pub fn new(reference: impl Into<CompletionReference>, argument: CompletionArgument) -> Self {
        Self {
            reference: reference.into(),
            argument,
            context: None,
            meta: None,
        }
    }

    /// Sets [`context`](Self::context).
    #[must_use]
    pub fn with_context(mut self, context: CompletionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// Suggested values for an argument.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteResult {
    /// The suggested values.
    pub completion: Completion,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteResult {
    /// Creates a value from its required members.
    pub fn new(completion: Completion) -> Self {
        Self {
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

/// Suggested values, the best first.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The total number of values, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// At most 100 values.
    pub values: Vec<String>,
    /// Whether there are further values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl Completion {
    /// Creates a value from its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            total: None,
            values,
            has_more: None,
        }
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets [`has_more`](Self::has_more).
    #[must_use]
    pub fn with_has_more(mut self, has_more: bool) -> Self {
        self.has_more = Some(has_more);
        self
    }
}

/// The argument that is being completed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The name of the argument.
    pub name: String,
    /// The current value.
    pub value: String,
}

impl CompletionArgument {
    /// Creates a value from its required members.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// The other arguments of the same prompt or template.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The values of completed arguments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
}

impl CompletionContext {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`arguments`](Self::arguments).
    #[must_use]
    pub fn with_arguments(mut self, arguments: BTreeMap<String, String>) -> Self {
        self.arguments = Some(arguments);
        self
    }
}

/// The prompt or resource template that an argument belongs to.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum CompletionReference {
    /// `type` is `ref/prompt`.
    Prompt(PromptReference),
    /// `type` is `ref/resource`.
    Resource(ResourceTemplateReference),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<PromptReference> for CompletionReference {
    fn from(arm: PromptReference) -> Self {
        Self::Prompt(arm)
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(arm: ResourceTemplateReference) -> Self {
        Self::Resource(arm)
    }
}

impl Serialize for CompletionReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(arm) => arm.serialize(serializer),
            Self::Resource(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for CompletionReference {
    const NAME: &'static str = "CompletionReference";
    const TAG: &'static str = "type";
    const TAGS: &'static [&'static str] = &["ref/prompt", "ref/resource"];

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => PromptReference::deserialize(members).map(Self::Prompt),
            _ => ResourceTemplateReference::deserialize(members).map(Self::Resource),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// A reference to a prompt.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ref/prompt")]
#[non_exhaustive]
pub struct PromptReference {
    /// The name of the prompt.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// Creates a value from its required members.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// A reference to a resource or a resource template.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ref/resource")]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The URI or the URI template.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// Creates a value from its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}
