//! Messages and their content in the formats of model APIs.

use serde_json::{Value, json};

use super::ModelApi;

impl ModelApi {
    /// Returns the MIME types of media that a message of the user can have.
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

    /// Returns a text as content of a message of the user, or of a result.
    pub(super) fn text_content(self, text: &str) -> Value {
        match self {
            Self::OpenAiChat | Self::Anthropic => json!({ "type": "text", "text": text }),
            Self::OpenAiResponses => json!({ "type": "input_text", "text": text }),
            Self::Gemini => json!({ "text": text }),
        }
    }

    /// Returns media in base64 as content of a message of the user, or of a result. The API accepts the MIME type.
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

    /// Returns a message of the user.
    pub(super) fn user_message(self, content: Vec<Value>) -> Value {
        match self {
            Self::Gemini => json!({ "role": "user", "parts": content }),
            _ => json!({ "role": "user", "content": content }),
        }
    }

    /// Returns a message of the model, which has only text.
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
