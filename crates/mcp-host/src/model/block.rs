//! Converts content from servers to text and media for a model, and builds messages in the formats of model APIs.

use std::borrow::Cow;

use mcp_client::types::{ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::ModelApi;
use crate::text::{one_line, printable};

/// A block of content from a server.
#[derive(Debug, Clone, Hash)]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Media(Media<'a>),
}

/// An image, a recording or a file.
#[derive(Debug, Clone, Hash)]
pub(super) struct Media<'a> {
    pub(super) mime_type: Cow<'a, str>,
    /// The data in base64, exactly as the server has sent it.
    pub(super) data: Cow<'a, str>,
    /// The URI of a resource; otherwise, the kind of content, such as `image`.
    pub(super) name: Cow<'a, str>,
}

/// A part of a message for a model.
pub(super) enum Part<'a> {
    Text(String),
    /// The MIME type and the data in base64.
    Media(Cow<'a, str>, Cow<'a, str>),
}

impl<'a> Block<'a> {
    /// Converts a content block. A resource link becomes a text with the name and the URI of the resource.
    pub(super) fn of(block: &'a ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Self::text(&*text.text),
            ContentBlock::Image(image) => Self::media(&image.mime_type, &image.data, "image"),
            ContentBlock::Audio(audio) => Self::media(&audio.mime_type, &audio.data, "audio"),
            ContentBlock::ResourceLink(link) => {
                let details = [&link.mime_type, &link.description].into_iter().flatten();
                let details: String = details.map(|text| format!(", {text}")).collect();
                Self::text(format!("[resource {:?}: {}{details}]", link.name, link.uri))
            }
            ContentBlock::Resource(resource) => Self::of_contents(&resource.resource, None),
            _ => Self::text("[content of an unknown type]"),
        }
    }

    /// Converts the contents of a resource. A text begins with the URI of the resource, unless this URI is `known_uri`.
    pub(super) fn of_contents(contents: &'a ResourceContents, known_uri: Option<&str>) -> Self {
        match contents {
            ResourceContents::Text(text) if known_uri == Some(&text.uri) => Self::text(&*text.text),
            ResourceContents::Text(text) => {
                Self::text(format!("[{}]\n{}", shortened(&text.uri), text.text))
            }
            ResourceContents::Blob(blob) => {
                let mime_type = blob.mime_type.as_deref();
                let mime_type = mime_type.unwrap_or("application/octet-stream");
                Self::media(mime_type, &blob.blob, &blob.uri)
            }
            _ => Self::text("[a resource of an unknown type]"),
        }
    }

    fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    fn media(mime_type: &'a str, data: &'a str, name: &'a str) -> Self {
        Self::Media(Media {
            mime_type: mime_type.into(),
            data: data.into(),
            name: name.into(),
        })
    }

    pub(super) fn into_owned(self) -> Block<'static> {
        match self {
            Self::Text(text) => Block::Text(text.into_owned().into()),
            Self::Media(media) => Block::Media(Media {
                mime_type: media.mime_type.into_owned().into(),
                data: media.data.into_owned().into(),
                name: media.name.into_owned().into(),
            }),
        }
    }

    pub(super) fn borrowed(&self) -> Block<'_> {
        match self {
            Self::Text(text) => Block::Text(Cow::Borrowed(text)),
            Self::Media(media) => Block::media(&media.mime_type, &media.data, &media.name),
        }
    }

    /// Converts the block to a part of a message in which only media of the types `accepted` are allowed. Other media, and media
    /// whose data is not base64, become a text that names the media.
    pub(super) fn into_part(self, accepted: &[&str]) -> Part<'a> {
        let Media {
            mime_type,
            data,
            name,
        } = match self {
            Self::Text(text) => return Part::Text(text.into_owned()),
            Self::Media(media) => media,
        };
        let data = match data {
            Cow::Borrowed(data) => base64(data),
            Cow::Owned(data) => base64(&data).map(|data| data.into_owned().into()),
        };
        let accepted = accepted.contains(&&*mime_type);
        let (name, mime_type) = match accepted && data.is_some() {
            true => (name, mime_type),
            false => (shortened(&name).into(), shortened(&mime_type).into()),
        };
        let Some(data) = data else {
            return Part::Text(format!("[{name}: data of {mime_type} that is not base64]"));
        };
        if data.is_empty() {
            return Part::Text(format!("[{name}: {mime_type} without data]"));
        }
        if accepted {
            return Part::Media(mime_type, data);
        }
        let bytes = data.len() / 4 * 3;
        Part::Text(format!(
            "[{name}: about {bytes} bytes of {mime_type}, which this model API does not accept]"
        ))
    }
}

/// Returns a text from a server on one line, cut to at most 200 characters, and with invisible characters escaped.
pub(super) fn shortened(text: &str) -> String {
    const MAX: usize = 200;
    let mut characters = text.chars();
    let shown: String = characters.by_ref().take(MAX).collect();
    let shown = one_line(&printable(&shown));
    match characters.next() {
        Some(_) => shown + "..",
        None => shown,
    }
}

/// Returns base64 in the form that model APIs accept: without white space, and without the beginning of a `data:` URL. Returns
/// `None` if the text is not base64.
fn base64(text: &str) -> Option<Cow<'_, str>> {
    let data = match text.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => text,
    };
    let is_space = |byte: u8| byte.is_ascii_whitespace();
    let data = match data.bytes().any(is_space) {
        true => Cow::Owned(data.split_ascii_whitespace().collect()),
        false => Cow::Borrowed(data),
    };
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let is_complete = data.len().is_multiple_of(4) && data.len() - digits.len() <= 2;
    (is_complete && digits.bytes().all(is_digit)).then_some(data)
}

impl ModelApi {
    /// Returns the MIME types of the media that the API accepts in a user message.
    pub(super) fn message_media(self) -> &'static [&'static str] {
        match self {
            Self::OpenAiChat => &[
                "image/png",
                "image/jpeg",
                "image/gif",
                "image/webp",
                "audio/wav",
                "audio/mpeg",
                "audio/mp3",
                "application/pdf",
            ],
            Self::OpenAiResponses | Self::Anthropic => &[
                "image/png",
                "image/jpeg",
                "image/gif",
                "image/webp",
                "application/pdf",
            ],
            Self::Gemini => &[
                "image/png",
                "image/jpeg",
                "image/webp",
                "image/heic",
                "image/heif",
                "audio/wav",
                "audio/mpeg",
                "audio/mp3",
                "audio/aiff",
                "audio/aac",
                "audio/ogg",
                "audio/flac",
                "application/pdf",
            ],
        }
    }

    /// Returns a text as a content part of a user message or of a tool result.
    pub(super) fn text_content(self, text: &str) -> Value {
        match self {
            Self::OpenAiChat | Self::Anthropic => json!({ "type": "text", "text": text }),
            Self::OpenAiResponses => json!({ "type": "input_text", "text": text }),
            Self::Gemini => json!({ "text": text }),
        }
    }

    /// Returns media in base64 as a content part of a user message or of a tool result. Call this method only if the API accepts
    /// `mime_type`.
    pub(super) fn media_content(self, mime_type: &str, data: &str) -> Value {
        let url = || format!("data:{mime_type};base64,{data}");
        let is_pdf = mime_type == "application/pdf";
        // OpenAI needs a name, and takes the type from it.
        let name = "attachment.pdf";
        match (self, mime_type) {
            (Self::OpenAiChat, "audio/wav") => {
                json!({ "type": "input_audio", "input_audio": { "data": data, "format": "wav" } })
            }
            (Self::OpenAiChat, "audio/mpeg" | "audio/mp3") => {
                json!({ "type": "input_audio", "input_audio": { "data": data, "format": "mp3" } })
            }
            (Self::OpenAiChat, _) if is_pdf => {
                json!({ "type": "file", "file": { "filename": name, "file_data": url() } })
            }
            (Self::OpenAiChat, _) => json!({ "type": "image_url", "image_url": { "url": url() } }),
            (Self::OpenAiResponses, _) if is_pdf => {
                json!({ "type": "input_file", "filename": name, "file_data": url() })
            }
            (Self::OpenAiResponses, _) => json!({ "type": "input_image", "image_url": url() }),
            (Self::Anthropic, _) => json!({
                "type": if is_pdf { "document" } else { "image" },
                "source": { "type": "base64", "media_type": mime_type, "data": data }
            }),
            (Self::Gemini, _) => {
                json!({ "inlineData": { "mimeType": mime_type, "data": data } })
            }
        }
    }

    /// Returns a user message.
    pub(super) fn user_message(self, content: &[Value]) -> Value {
        match self {
            Self::Gemini => json!({ "role": "user", "parts": content }),
            _ => json!({ "role": "user", "content": content }),
        }
    }

    /// Returns a message of the model, which can contain only text.
    pub(super) fn model_message(self, text: &str) -> Value {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => {
                json!({ "role": "assistant", "content": text })
            }
            Self::Anthropic => {
                json!({ "role": "assistant", "content": [self.text_content(text)] })
            }
            Self::Gemini => json!({ "role": "model", "parts": [self.text_content(text)] }),
        }
    }
}
