// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{Annotations, Icon, Meta};
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde_json::Value;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobResourceContents {
    ///
    pub uri: String,
    ///
    pub blob: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl BlobResourceContents {
    /// A `BlobResourceContents` with its required members.
    pub fn new(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            blob: blob.into(),
            mime_type: None,
            meta: None,
        }
    }

    /// Sets [`mime_type`](Self::mime_type).
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
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
pub struct ListResourceTemplatesResult {
    ///
    pub resource_templates: Vec<ResourceTemplate>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourceTemplatesResult {
    /// A `ListResourceTemplatesResult` with its required members.
    pub fn new(resource_templates: Vec<ResourceTemplate>) -> Self {
        Self {
            resource_templates,
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
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    ///
    pub resources: Vec<Resource>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourcesResult {
    /// A `ListResourcesResult` with its required members.
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            resources,
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
pub struct ReadResourceRequestParams {
    ///
    pub uri: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceRequestParams {
    /// A `ReadResourceRequestParams` with its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
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
#[non_exhaustive]
pub struct ReadResourceResult {
    ///
    pub contents: Vec<ResourceContents>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceResult {
    /// A `ReadResourceResult` with its required members.
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
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
pub struct Resource {
    ///
    pub uri: String,
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
    pub mime_type: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Resource {
    /// A `Resource` with its required members.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            size: None,
            annotations: None,
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

    /// Sets [`mime_type`](Self::mime_type).
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets [`icons`](Self::icons).
    #[must_use]
    pub fn with_icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Sets [`size`](Self::size).
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets [`annotations`](Self::annotations).
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
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
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "arms are decoded in place; a box would cost every reader"
)]
pub enum ResourceContents {
    /// `text` is there.
    Text(TextResourceContents),
    /// `blob` is there.
    Blob(BlobResourceContents),
    /// An object this crate does not know, kept as it came.
    Unknown(Value),
}

impl From<TextResourceContents> for ResourceContents {
    fn from(arm: TextResourceContents) -> Self {
        Self::Text(arm)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(arm: BlobResourceContents) -> Self {
        Self::Blob(arm)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(arm) => arm.serialize(serializer),
            Self::Blob(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::shaped(deserializer)
    }
}

impl crate::union::ShapedUnion for ResourceContents {
    const NAME: &'static str = "ResourceContents";
    fn classify(members: &crate::JsonObject) -> Option<usize> {
        if crate::union::has(members, &["text"]) {
            return Some(0usize);
        }
        if crate::union::has(members, &["blob"]) {
            return Some(1usize);
        }
        None
    }

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0usize => TextResourceContents::deserialize(members).map(Self::Text),
            _ => BlobResourceContents::deserialize(members).map(Self::Blob),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    ///
    pub uri_template: String,
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
    pub mime_type: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceTemplate {
    /// A `ResourceTemplate` with its required members.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
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

    /// Sets [`mime_type`](Self::mime_type).
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets [`icons`](Self::icons).
    #[must_use]
    pub fn with_icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Sets [`annotations`](Self::annotations).
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
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
pub struct ResourceUpdatedNotificationParams {
    ///
    pub uri: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceUpdatedNotificationParams {
    /// A `ResourceUpdatedNotificationParams` with its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
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
#[non_exhaustive]
pub struct SubscribeRequestParams {
    ///
    pub uri: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscribeRequestParams {
    /// A `SubscribeRequestParams` with its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
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
pub struct TextResourceContents {
    ///
    pub uri: String,
    ///
    pub text: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextResourceContents {
    /// A `TextResourceContents` with its required members.
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            text: text.into(),
            mime_type: None,
            meta: None,
        }
    }

    /// Sets [`mime_type`](Self::mime_type).
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
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
pub struct UnsubscribeRequestParams {
    ///
    pub uri: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UnsubscribeRequestParams {
    /// A `UnsubscribeRequestParams` with its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
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
