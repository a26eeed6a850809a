//! Results for the model.

use std::borrow::Cow;

use mcp_client::types::{ContentBlock, ResourceContents};
use mcp_client::{CallToolResult, Error};
use mcp_jsonrpc::decode_document;
use serde_json::{Value, json};

use super::{ModelApi, ToolUse};
use crate::error::HostError;
use crate::setting_names::without_setting_names;

/// A part of a result.
enum Part<'a> {
    Text(String),
    /// The MIME type and the data in base64.
    Media(&'a str, Cow<'a, str>),
}

impl ModelApi {
    /// Returns the messages that answer the calls of one response: append them to `messages`, `input`
    /// (Responses) or `contents` (Gemini), after the response itself.
    ///
    /// Links and embedded text become text, and structured content becomes JSON unless the text has it already. Images are passed
    /// on if the API accepts their type. With Chat Completions, whose tool messages contain only text, they are in a message of
    /// the user. Other media are named in a text. An error becomes a result that tells the model about it.
    pub fn results(self, results: &[(ToolUse, Result<CallToolResult, HostError>)]) -> Vec<Value> {
        let mut media = Vec::new();
        let mut answers = Vec::new();
        for (tool_use, result) in results {
            let (parts, is_error) = match result {
                Ok(result) => (self.parts(result), result.is_error == Some(true)),
                Err(error) => (self.parts_of_error(error), true),
            };
            answers.push(self.answer(tool_use, &parts, is_error));
            if self == Self::OpenAiChat {
                media.extend(
                    parts
                        .iter()
                        .filter_map(|part| chat_media(part, &tool_use.name))
                        .flatten(),
                );
            }
        }
        match self {
            _ if answers.is_empty() => {}
            Self::Anthropic => answers = vec![json!({ "role": "user", "content": answers })],
            Self::Gemini => answers = vec![json!({ "role": "user", "parts": answers })],
            Self::OpenAiChat if !media.is_empty() => {
                answers.push(json!({ "role": "user", "content": media }));
            }
            Self::OpenAiChat | Self::OpenAiResponses => {}
        }
        answers
    }

    /// Returns the result of one call.
    fn answer(self, tool_use: &ToolUse, parts: &[Part<'_>], is_error: bool) -> Value {
        let ToolUse { id, name, .. } = tool_use;
        match self {
            Self::OpenAiChat => {
                let text = joined(parts, is_error);
                json!({ "role": "tool", "tool_call_id": id, "content": text })
            }
            Self::OpenAiResponses => {
                let item = |part: &Part<'_>| match part {
                    Part::Text(text) => json!({ "type": "input_text", "text": text }),
                    Part::Media(mime_type, data) => {
                        json!({ "type": "input_image", "image_url": data_url(mime_type, data) })
                    }
                };
                let output = match parts.iter().any(|part| matches!(part, Part::Media(..))) {
                    true => parts.iter().map(item).collect(),
                    false => Value::from(joined(parts, is_error)),
                };
                json!({ "type": "function_call_output", "call_id": id, "output": output })
            }
            Self::Anthropic => {
                let block = |part: &Part<'_>| match part {
                    Part::Text(text) => json!({ "type": "text", "text": text }),
                    Part::Media(mime_type, data) => json!({
                        "type": "image",
                        "source": { "type": "base64", "media_type": mime_type, "data": data }
                    }),
                };
                let content: Vec<Value> = parts.iter().map(block).collect();
                json!({
                    "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error
                })
            }
            Self::Gemini => {
                let key = if is_error { "error" } else { "output" };
                let mut response =
                    json!({ "name": name, "response": { key: joined(parts, false) } });
                if !id.is_empty() {
                    response["id"] = id.as_str().into();
                }
                let media = parts.iter().filter_map(|part| match part {
                    Part::Text(_) => None,
                    Part::Media(mime_type, data) => {
                        Some(json!({ "inlineData": { "mimeType": mime_type, "data": data } }))
                    }
                });
                let media: Vec<Value> = media.collect();
                if !media.is_empty() {
                    response["parts"] = media.into();
                }
                json!({ "functionResponse": response })
            }
        }
    }

    /// Returns the text of the error. If a tool has run but its output is invalid, also returns the output; without it, the model
    /// would call the tool again.
    fn parts_of_error(self, error: &HostError) -> Vec<Part<'_>> {
        let text = without_setting_names(&error.to_string());
        let mut parts = vec![Part::Text(text)];
        if let HostError::Call { source, .. } = error
            && let Error::Output { result, .. } = &**source
        {
            parts.extend(self.parts(result));
        }
        parts
    }

    /// Returns at least one part. No part is an empty text, because Anthropic rejects empty texts.
    fn parts<'a>(self, result: &'a CallToolResult) -> Vec<Part<'a>> {
        let mut parts: Vec<Part<'a>> = result
            .content
            .iter()
            .map(|block| self.part(block))
            .collect();
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        if let Some(structured) = &result.structured_content {
            let is_same = |part: &Part<'_>| {
                let Part::Text(text) = part else { return false };
                decode_document::<Value>(text).is_ok_and(|value| value == *structured)
            };
            if !parts.iter().any(is_same) {
                parts.push(Part::Text(structured.to_string()));
            }
        }
        if parts.is_empty() {
            parts.push(Part::Text("(the tool returned no content)".to_owned()));
        }
        parts
    }

    fn part(self, block: &ContentBlock) -> Part<'_> {
        match block {
            ContentBlock::Text(text) => Part::Text(text.text.clone()),
            ContentBlock::Image(image) => self.media(&image.mime_type, &image.data, "image"),
            ContentBlock::Audio(audio) => self.media(&audio.mime_type, &audio.data, "audio"),
            ContentBlock::ResourceLink(link) => {
                let details = [&link.mime_type, &link.description].into_iter().flatten();
                let details: String = details.map(|text| format!(", {text}")).collect();
                Part::Text(format!("[resource {:?}: {}{details}]", link.name, link.uri))
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::Text(text) => {
                    Part::Text(format!("[{}]\n{}", text.uri, text.text))
                }
                ResourceContents::Blob(blob) => {
                    let mime_type = blob
                        .mime_type
                        .as_deref()
                        .unwrap_or("application/octet-stream");
                    self.media(mime_type, &blob.blob, &blob.uri)
                }
                _ => Part::Text("[a resource of an unknown type]".to_owned()),
            },
            _ => Part::Text("[content of an unknown type]".to_owned()),
        }
    }

    fn media<'a>(self, mime_type: &'a str, data: &'a str, what: &str) -> Part<'a> {
        let accepted: &[&str] = match self {
            Self::OpenAiChat => &[
                "image/png",
                "image/jpeg",
                "image/gif",
                "image/webp",
                "audio/wav",
                "audio/mpeg",
                "audio/mp3",
            ],
            Self::OpenAiResponses | Self::Anthropic => {
                &["image/png", "image/jpeg", "image/gif", "image/webp"]
            }
            Self::Gemini => &["image/png", "image/jpeg", "image/webp", "application/pdf"],
        };
        let Some(data) = base64(data) else {
            return Part::Text(format!("[{what}: data of {mime_type} that is not base64]"));
        };
        if accepted.contains(&mime_type) {
            return Part::Media(mime_type, data);
        }
        let bytes = data.len() / 4 * 3;
        Part::Text(format!(
            "[{what}: about {bytes} bytes of {mime_type}, which this model API does not accept]"
        ))
    }
}

/// Returns base64 as model APIs accept it: without white space, and without the beginning of a `data:` URL. `None` if the text is not base64.
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

/// Returns the text of all parts. The media of a tool message of Chat Completions are in the next message.
fn joined(parts: &[Part<'_>], is_error: bool) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Media(mime_type, _) => format!("[{mime_type}, attached]"),
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    match is_error {
        true => format!("Error: {text}"),
        false => text,
    }
}

/// Returns the content parts of a message of the user for a part that a tool message cannot have.
fn chat_media(part: &Part<'_>, tool: &str) -> Option<[Value; 2]> {
    let Part::Media(mime_type, data) = part else {
        return None;
    };
    let caption = json!({ "type": "text", "text": format!("Part of the result of {tool}:") });
    let media = match *mime_type {
        "audio/wav" => {
            json!({ "type": "input_audio", "input_audio": { "data": data, "format": "wav" } })
        }
        "audio/mpeg" | "audio/mp3" => {
            json!({ "type": "input_audio", "input_audio": { "data": data, "format": "mp3" } })
        }
        _ => json!({ "type": "image_url", "image_url": { "url": data_url(mime_type, data) } }),
    };
    Some([caption, media])
}

fn data_url(mime_type: &str, data: &str) -> String {
    format!("data:{mime_type};base64,{data}")
}
