// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{Annotations, Icon, Meta, ResourceContents};
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde_json::Value;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "audio", rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    ///
    pub data: String,
    ///
    pub mime_type: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// A `AudioContent` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "arms are decoded in place; a box would cost every reader"
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
    /// An object this crate does not know, kept as it came.
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
            0usize => TextContent::deserialize(members).map(Self::Text),
            1usize => ImageContent::deserialize(members).map(Self::Image),
            2usize => AudioContent::deserialize(members).map(Self::Audio),
            3usize => ResourceLink::deserialize(members).map(Self::ResourceLink),
            _ => EmbeddedResource::deserialize(members).map(Self::Resource),
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
#[serde(tag = "type", rename = "resource")]
#[non_exhaustive]
pub struct EmbeddedResource {
    ///
    pub resource: ResourceContents,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// A `EmbeddedResource` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "image", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    ///
    pub data: String,
    ///
    pub mime_type: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// A `ImageContent` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "resource_link", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
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

impl ResourceLink {
    /// A `ResourceLink` with its required members.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "text")]
#[non_exhaustive]
pub struct TextContent {
    ///
    pub text: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// A `TextContent` with its required members.
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
