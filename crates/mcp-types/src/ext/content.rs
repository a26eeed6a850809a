//! Convenience methods for content blocks, for resource contents, and for messages that consist of them.

use crate::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, OneOrMany, Prompt, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceLink, ResourceTemplate, Role,
    SamplingMessage, SamplingMessageContentBlock, TextContent,
};

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Creates an image block. `data` is base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Creates an audio block. `data` is base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// Creates a link to a resource. The server need not list this resource.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink::new(uri, name))
    }

    /// Creates a block with the contents of a resource.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(block) = self {
            Some(&block.text)
        } else {
            None
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl SamplingMessageContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(block) = self {
            Some(&block.text)
        } else {
            None
        }
    }
}

impl From<&str> for SamplingMessageContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for SamplingMessageContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for OneOrMany<SamplingMessageContentBlock> {
    fn from(text: &str) -> Self {
        Self::One(text.into())
    }
}

impl From<String> for OneOrMany<SamplingMessageContentBlock> {
    fn from(text: String) -> Self {
        Self::One(text.into())
    }
}

impl ReadResourceResult {
    /// Returns the texts of the contents, joined by line breaks. Binary contents are left out.
    ///
    /// ```
    /// use mcp_types::{ReadResourceResult, ResourceContents};
    ///
    /// let image = ResourceContents::blob("notes://1/image", "iVBORw0KGgo=");
    /// let texts = ["Buy milk", "Call Ada"].map(|text| ResourceContents::text("notes://1", text));
    /// let [first, second] = texts;
    /// let result = ReadResourceResult::new(vec![first, image, second]);
    /// assert_eq!(result.joined_text(), "Buy milk\nCall Ada");
    /// ```
    pub fn joined_text(&self) -> String {
        let texts = self.contents.iter().filter_map(ResourceContents::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl ResourceContents {
    /// Returns the text of text contents.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            _ => None,
        }
    }

    /// Creates the contents of a text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(crate::TextResourceContents::new(uri, text))
    }

    /// Creates the contents of a binary resource. `blob` is base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(crate::BlobResourceContents::new(uri, blob))
    }

    /// Sets the MIME type. Does nothing if the kind of contents is unknown.
    #[must_use]
    pub fn with_mime_type(self, mime_type: impl Into<String>) -> Self {
        match self {
            Self::Text(contents) => Self::Text(contents.with_mime_type(mime_type)),
            Self::Blob(contents) => Self::Blob(contents.with_mime_type(mime_type)),
            Self::Unknown(raw) => Self::Unknown(raw),
        }
    }

    /// Returns the URI of the contents.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Unknown(raw) => raw.get("uri")?.as_str(),
        }
    }
}

impl PromptMessage {
    /// Creates a message from the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message from the assistant.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

impl SamplingMessage {
    /// Creates a message from the user.
    pub fn user(content: impl Into<OneOrMany<SamplingMessageContentBlock>>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message from the assistant.
    pub fn assistant(content: impl Into<OneOrMany<SamplingMessageContentBlock>>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

impl Prompt {
    /// Returns the name to show to users: the title or, if there is no title, the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Resource {
    /// Returns the name to show to users: the title or, if there is no title, the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl ResourceTemplate {
    /// Returns the name to show to users: the title or, if there is no title, the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
