//! Converts results of tools to messages for the model.

use mcp_client::types::ContentBlock;
use mcp_client::{CallToolResult, Error};
use mcp_jsonrpc::decode_document;
use serde_json::{Value, json};

use super::block::{Block, Part};
use super::search::{TOOL_SEARCH, loaded_tools};
use super::{ModelApi, ToolUse};
use crate::error::HostError;
use crate::host::HostTool;
use crate::setting_names::without_setting_names;

impl ModelApi {
    /// Returns the messages that answer the calls of one response. Append them after the response: to `messages`, to `input`
    /// (Responses) or to `contents` (Gemini).
    ///
    /// Links and embedded text become text. Structured content becomes JSON, unless a text already contains it. Images are passed
    /// on if the API accepts their type. In Chat Completions, tool messages can contain only text, so a user message contains the
    /// images. Other media become a text that names the media. An error becomes a result that describes the error.
    pub fn results(self, results: &[(ToolUse, Result<CallToolResult, HostError>)]) -> Vec<Value> {
        let mut media = Vec::new();
        let mut answers = Vec::new();
        for (tool_use, result) in results {
            if tool_use.name == TOOL_SEARCH
                && let Some(answer) = self.answer_of_search(tool_use, result.as_ref().ok())
            {
                answers.push(answer);
                continue;
            }
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
            Self::Anthropic | Self::Gemini => answers = vec![self.user_message(&answers)],
            Self::OpenAiChat if !media.is_empty() => answers.push(self.user_message(&media)),
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
                    Part::Text(text) => self.text_content(text),
                    Part::Media(mime_type, data) => self.media_content(mime_type, data),
                };
                let output = match parts.iter().any(|part| matches!(part, Part::Media(..))) {
                    true => parts.iter().map(item).collect(),
                    false => Value::from(joined(parts, is_error)),
                };
                json!({ "type": "function_call_output", "call_id": id, "output": output })
            }
            Self::Anthropic => {
                let block = |part: &Part<'_>| match part {
                    Part::Text(text) => self.text_content(text),
                    Part::Media(mime_type, data) => self.media_content(mime_type, data),
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
                    Part::Media(mime_type, data) => Some(self.media_content(mime_type, data)),
                });
                let media: Vec<Value> = media.collect();
                if !media.is_empty() {
                    response["parts"] = media.into();
                }
                json!({ "functionResponse": response })
            }
        }
    }

    /// Returns the answer to a search, with which the API loads the found tools. Returns `None` if the answer is like the result
    /// of any other tool. For Anthropic, this is the case if no tools were found. For APIs that cannot load tools, this is always
    /// the case.
    fn answer_of_search(
        self,
        tool_use: &ToolUse,
        result: Option<&CallToolResult>,
    ) -> Option<Value> {
        let found = result.map(loaded_tools).unwrap_or_default();
        match self {
            Self::Anthropic if !found.is_empty() => {
                let reference =
                    |tool: &HostTool| json!({ "type": "tool_reference", "tool_name": tool.name });
                let content: Vec<Value> = found.iter().map(reference).collect();
                Some(
                    json!({ "type": "tool_result", "tool_use_id": tool_use.id, "content": content }),
                )
            }
            Self::OpenAiResponses => Some(json!({
                "type": "tool_search_output",
                "call_id": tool_use.id,
                "execution": "client",
                "status": "completed",
                "tools": self.deferred(&found).tools
            })),
            _ => None,
        }
    }

    /// Returns the text of the error. If a tool has run but its output is invalid, also returns the output. Without the output,
    /// the model would call the tool again.
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

    /// Returns the parts of a result, at least one. No part is only white space, because Anthropic rejects such texts.
    fn parts<'a>(self, result: &'a CallToolResult) -> Vec<Part<'a>> {
        let mut parts: Vec<Part<'a>> = result
            .content
            .iter()
            .map(|block| self.part(block))
            .collect();
        parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
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
        Block::of(block).into_part(self.result_media())
    }

    /// Returns the MIME types of the media that the API accepts in results of tools. In Chat Completions, a user message contains
    /// these media.
    fn result_media(self) -> &'static [&'static str] {
        match self {
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
        }
    }
}

/// Returns the text of all parts. For media, the text names only the type: the media are in the next message (Chat Completions)
/// or beside the text (Gemini).
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

/// Returns a caption and the media, as content parts of a user message, if `part` is media. A tool message of Chat Completions
/// cannot contain media.
fn chat_media(part: &Part<'_>, tool: &str) -> Option<[Value; 2]> {
    let Part::Media(mime_type, data) = part else {
        return None;
    };
    let caption = json!({ "type": "text", "text": format!("Part of the result of {tool}:") });
    let media = ModelApi::OpenAiChat.media_content(mime_type, data);
    Some([caption, media])
}
