// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Content blocks, which tools and prompts return.

use crate::{Annotations, Icon, Meta, ResourceContents};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A content block with audio.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "audio", rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The audio data, in base64.
    pub data: String,
    /// The audio type, such as `audio/wav`.
    pub mime_type: String,
    /// Hints on audience, priority and last modification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// Creates a value from its required members.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
        }
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

/// A block of content.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum ContentBlock {
    /// `type` is `text`.
    Text(TextContent),
    /// `type` is `image`.
    Image(ImageContent),
    /// `type` is `audio`.
    Audio(AudioContent),
    /// `type` is `resource_link`.
    ResourceLink(ResourceLink),
    /// `type` is `resource`.
    Resource(EmbeddedResource),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<TextContent> for ContentBlock {
    fn from(arm: TextContent) -> Self {
        Self::Text(arm)
    }
}

impl From<ImageContent> for ContentBlock {
    fn from(arm: ImageContent) -> Self {
        Self::Image(arm)
    }
}

impl From<AudioContent> for ContentBlock {
    fn from(arm: AudioContent) -> Self {
        Self::Audio(arm)
    }
}

impl From<ResourceLink> for ContentBlock {
    fn from(arm: ResourceLink) -> Self {
        Self::ResourceLink(arm)
    }
}

impl From<EmbeddedResource> for ContentBlock {
    fn from(arm: EmbeddedResource) -> Self {
        Self::Resource(arm)
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(arm) => arm.serialize(serializer),
            Self::Image(arm) => arm.serialize(serializer),
            Self::Audio(arm) => arm.serialize(serializer),
            Self::ResourceLink(arm) => arm.serialize(serializer),
            Self::Resource(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for ContentBlock {
    const NAME: &'static str = "ContentBlock";
    const TAG: &'static str = "type";
    const TAGS: &'static [&'static str] = &["text", "image", "audio", "resource_link", "resource"];

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => TextContent::deserialize(members).map(Self::Text),
            1 => ImageContent::deserialize(members).map(Self::Image),
            2 => AudioContent::deserialize(members).map(Self::Audio),
            3 => ResourceLink::deserialize(members).map(Self::ResourceLink),
            _ => EmbeddedResource::deserialize(members).map(Self::Resource),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// A content block with a resource and its contents.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "resource")]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The contents, with the URI of the resource.
    pub resource: ResourceContents,
    /// Hints on audience, priority and last modification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// Creates a value from its required members.
    pub fn new(resource: impl Into<ResourceContents>) -> Self {
        Self {
            resource: resource.into(),
            annotations: None,
            meta: None,
        }
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

/// A content block with an image.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "image", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The image data, in base64.
    pub data: String,
    /// The image type, such as `image/png`.
    pub mime_type: String,
    /// Hints on audience, priority and last modification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// Creates a value from its required members.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
        }
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

/// A content block with a link to a resource, which does not have to be listed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "resource_link", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI of the resource.
    pub uri: String,
    /// The name for programs, and for people if there is no title.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description for people and models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of the contents, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Icons that a user interface may show, in any number of sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The length of the raw contents in bytes, before base64 encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Hints on audience, priority and last modification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceLink {
    /// Creates a value from its required members.
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

/// A content block with text.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "text")]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints on audience, priority and last modification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// Creates a value from its required members.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            annotations: None,
            meta: None,
        }
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
