//! Truncates results that are too long for the model. The model receives the beginning, and reads the rest in parts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mcp_client::types::{ResourceContents, TextContent, Tool};
use mcp_client::{CallToolResult, ContentBlock};
use mcp_jsonrpc::{decode_document, prefix};
use mcp_protocol::lock;
use serde_json::{Value, json};

/// Name of the tool of the host that reads results. No tool of a server can have this name, because the names of servers' tools
/// contain `__` or end with a hash.
pub(crate) const READ_RESULT: &str = "read_result";

/// Maximum number of stored texts. The oldest texts are removed first.
const MAX_TEXTS: usize = 32;
/// Maximum total size of the stored texts, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// The complete texts of truncated results.
#[derive(Debug)]
pub(crate) struct LongResults {
    /// Maximum size of the text that the model receives at once, in bytes.
    limit: usize,
    stored: Mutex<Stored>,
}

#[derive(Debug, Default)]
struct Stored {
    texts: VecDeque<(u64, Arc<str>)>,
    bytes: usize,
    last: u64,
}

impl LongResults {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1_024),
            stored: Mutex::default(),
        }
    }

    /// Returns the definition of the tool with which the model reads the rest of a result.
    pub(crate) fn tool() -> Tool {
        let schema = json!({
            "type": "object",
            "properties": {
                "handle": { "type": "integer", "description": "The handle of the result" },
                "offset": { "type": "integer", "minimum": 0, "description": "Where to go on, in bytes" }
            },
            "required": ["handle", "offset"]
        });
        let schema = serde_json::from_value(schema).unwrap_or_default();
        Tool::new(READ_RESULT, schema).with_description("Returns more of a result that was cut.")
    }

    /// Truncates the texts of a result, so that their total size is within the limit, and stores the complete texts. If a result
    /// is truncated, its structured content is removed, because the model receives this content as text.
    pub(crate) fn cut(&self, mut result: CallToolResult) -> CallToolResult {
        let structured = structured_text(&result);
        let texts = result.content.iter().filter_map(text_of).map(str::len);
        if texts.sum::<usize>() + structured.as_ref().map_or(0, String::len) <= self.limit {
            return result;
        }
        result.structured_content = None;
        result.content.extend(structured.map(ContentBlock::text));
        let mut room = self.limit;
        for block in &mut result.content {
            let Some(text) = text_of(block) else { continue };
            if text.len() <= room {
                room -= text.len();
                continue;
            }
            let whole: Arc<str> = text.into();
            let first = prefix(&whole, room);
            let end = first.len();
            room = 0;
            let handle = self.keep(Arc::clone(&whole));
            *block = ContentBlock::text(format!(
                "{first}\n[{end} of {} bytes. Read on with {READ_RESULT}: {}]",
                whole.len(),
                json!({ "handle": handle, "offset": end })
            ));
        }
        result
    }

    fn keep(&self, text: Arc<str>) -> u64 {
        let mut stored = lock(&self.stored);
        stored.last += 1;
        stored.bytes += text.len();
        let handle = stored.last;
        stored.texts.push_back((handle, text));
        while stored.texts.len() > 1 && (stored.texts.len() > MAX_TEXTS || stored.bytes > MAX_BYTES)
        {
            if let Some((_, removed)) = stored.texts.pop_front() {
                stored.bytes -= removed.len();
            }
        }
        handle
    }

    /// Removes all texts. The handles of removed texts are not used for other texts.
    pub(crate) fn clear(&self) {
        let mut stored = lock(&self.stored);
        stored.texts.clear();
        stored.bytes = 0;
    }

    /// Answers a call of the tool that reads the rest of a result.
    pub(crate) fn read(&self, input: &Value) -> CallToolResult {
        let number = |name: &str| input[name].as_u64();
        let (Some(handle), Some(offset)) = (number("handle"), number("offset")) else {
            return failed("handle and offset must be integers".to_owned());
        };
        let stored = lock(&self.stored);
        let found = stored.texts.iter().find(|(known, _)| *known == handle);
        let Some(text) = found.map(|(_, text)| Arc::clone(text)) else {
            let text = "this result is no longer stored; call its tool again";
            return failed(text.to_owned());
        };
        drop(stored);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(rest) = text.get(start..) else {
            return failed(format!(
                "offset must be at most {}, and at the beginning of a character",
                text.len()
            ));
        };
        let mut part = prefix(rest, self.limit).to_owned();
        let end = start + part.len();
        if end < text.len() {
            part += &format!(
                "\n[{end} of {} bytes. Read on with {READ_RESULT}: {}]",
                text.len(),
                json!({ "handle": handle, "offset": end })
            );
        }
        CallToolResult::new(vec![ContentBlock::text(part)])
    }
}

/// Returns the structured content as text; `None` if the result has no structured content, or if a text block
/// already has the same content.
fn structured_text(result: &CallToolResult) -> Option<String> {
    let structured = result.structured_content.as_ref()?;
    let is_same = |text: &str| decode_document::<Value>(text).is_ok_and(|v| v == *structured);
    let mut texts = result.content.iter().filter_map(text_of);
    (!texts.any(is_same)).then(|| structured.to_string())
}

/// Returns the text of a content block, as the model receives it.
fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(TextContent { text, .. }) => Some(text),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::Text(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

fn failed(text: String) -> CallToolResult {
    let mut result = CallToolResult::new(vec![ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}
