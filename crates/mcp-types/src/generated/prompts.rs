// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{ContentBlock, Icon, Meta, Role};
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    ///
    pub name: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptRequestParams {
    /// A `GetPromptRequestParams` with its required members.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            meta: None,
        }
    }

    /// Sets [`arguments`](Self::arguments).
    #[must_use]
    pub fn with_arguments(mut self, arguments: BTreeMap<String, String>) -> Self {
        self.arguments = Some(arguments);
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetPromptResult {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    pub messages: Vec<PromptMessage>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptResult {
    /// A `GetPromptResult` with its required members.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    ///
    pub prompts: Vec<Prompt>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListPromptsResult {
    /// A `ListPromptsResult` with its required members.
    pub fn new(prompts: Vec<Prompt>) -> Self {
        Self {
            prompts,
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    ///
    pub name: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Prompt {
    /// A `Prompt` with its required members.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: None,
            icons: None,
            meta: None,
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

    /// Sets [`arguments`](Self::arguments).
    #[must_use]
    pub fn with_arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// Sets [`icons`](Self::icons).
    #[must_use]
    pub fn with_icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    ///
    pub name: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl PromptArgument {
    /// A `PromptArgument` with its required members.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: None,
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

    /// Sets [`required`](Self::required).
    #[must_use]
    pub fn with_required(mut self, required: bool) -> Self {
        self.required = Some(required);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    ///
    pub role: Role,
    ///
    pub content: ContentBlock,
}

impl PromptMessage {
    /// A `PromptMessage` with its required members.
    pub fn new(role: impl Into<Role>, content: impl Into<ContentBlock>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}
