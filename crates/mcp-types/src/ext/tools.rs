//! Tools and their results.

use mcp_jsonrpc::DecodeError;
use serde::de::DeserializeOwned;

use crate::{CallToolResult, ContentBlock, TextContent, Tool, ToolAnnotations};

/// Maximum number of characters that an error quotes from the text of a failed tool call.
const MAX_SHOWN: usize = 512;

impl CallToolResult {
    /// Creates a result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// Creates the result of a failed call. The model reads the text and can correct its call.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).with_is_error(true)
    }

    /// Returns whether the call failed. Returns `false` if the member is absent.
    pub fn is_error(&self) -> bool {
        self.is_error.unwrap_or(false)
    }

    /// Decodes the structured content into `T`.
    ///
    /// ```
    /// use mcp_types::CallToolResult;
    /// use serde::Deserialize;
    /// use serde_json::json;
    ///
    /// #[derive(Deserialize)]
    /// struct Weather { temperature: f64 }
    ///
    /// let result = CallToolResult::new(Vec::new()).with_structured_content(json!({ "temperature": 21.5 }));
    /// assert_eq!(result.decoded::<Weather>()?.temperature, 21.5);
    /// # Ok::<(), mcp_jsonrpc::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// The tool failed (the error has the start of its text), there is no structured content, or it does not match `T`.
    pub fn decoded<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        if self.is_error() {
            let text: String = self.joined_text().chars().take(MAX_SHOWN).collect();
            return Err(DecodeError::new("", format!("the tool failed: {text}")));
        }
        let Some(content) = &self.structured_content else {
            let problem = "the tool returned no structured content";
            return Err(DecodeError::new("", problem));
        };
        mcp_jsonrpc::decode(&content.to_string()).map_err(|problem| {
            let pointer = format!("/structuredContent{}", problem.pointer());
            DecodeError::new(pointer, problem.message())
        })
    }

    /// Appends the same JSON text as serialization would, but writes strings with the faster writer of `mcp-jsonrpc`. Speed
    /// matters here, because most of a server's output is tool results.
    ///
    /// # Errors
    /// The errors of serialization. The appended text must then be discarded.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        // Destructured in full, so that a new member is not forgotten here.
        let Self {
            content,
            structured_content,
            is_error,
            meta,
        } = self;
        out.extend_from_slice(b"{\"content\":[");
        for (index, block) in content.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match block {
                ContentBlock::Text(TextContent {
                    text,
                    annotations: None,
                    meta: None,
                }) => {
                    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                    mcp_jsonrpc::write_string(out, text);
                    out.push(b'}');
                }
                block => serde_json::to_writer(&mut *out, block)?,
            }
        }
        out.push(b']');
        if let Some(structured) = structured_content {
            out.extend_from_slice(b",\"structuredContent\":");
            serde_json::to_writer(&mut *out, structured)?;
        }
        if let Some(is_error) = is_error {
            out.extend_from_slice(b",\"isError\":");
            serde_json::to_writer(&mut *out, is_error)?;
        }
        if let Some(meta) = meta {
            out.extend_from_slice(b",\"_meta\":");
            serde_json::to_writer(&mut *out, meta)?;
        }
        out.push(b'}');
        Ok(())
    }

    /// Returns the text blocks, joined by line breaks.
    pub fn joined_text(&self) -> String {
        let blocks: Vec<_> = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        blocks.join("\n")
    }
}

impl Tool {
    /// Returns the name to show to users: the title; otherwise the title in the annotations; otherwise the name.
    pub fn display_name(&self) -> &str {
        let annotated = self
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }
}

impl ToolAnnotations {
    /// Returns whether the tool changes nothing. Returns `false` if the annotation is absent.
    pub fn read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Returns whether the tool may destroy data. Returns `true` if the annotation is absent.
    pub fn destructive(&self) -> bool {
        self.destructive_hint.unwrap_or(true)
    }

    /// Returns whether a repeated call has no further effect. Returns `false` if the annotation is absent.
    pub fn idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Returns whether the tool interacts with external systems. Returns `true` if the annotation is absent.
    pub fn open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_result_that_cannot_be_decoded_says_why() {
        let result = |value: Value| CallToolResult::text("x").with_structured_content(value);
        assert_eq!(
            result(json!({ "n": [7] })).decoded(),
            Ok(json!({ "n": [7] }))
        );
        assert_eq!(result(json!(7)).decoded(), Ok(7));
        let long = "ä".repeat(MAX_SHOWN + 1);
        for (result, pointer, part) in [
            (CallToolResult::text("x"), "", "no structured content"),
            (
                CallToolResult::error("too hot"),
                "",
                "the tool failed: too hot",
            ),
            (CallToolResult::error(&*long), "", &long[..2 * MAX_SHOWN]),
            (
                result(json!({ "sugar": 1 })).with_is_error(true),
                "",
                "the tool failed: x",
            ),
            (result(json!("a")), "/structuredContent", "\"a\""),
            (result(Value::Null), "/structuredContent", "null"),
        ] {
            let error = result.decoded::<u8>().unwrap_err();
            assert_eq!(error.pointer(), pointer, "{error}");
            assert!(error.message().contains(part), "{error}");
            assert!(error.message().len() < 2 * MAX_SHOWN + 100);
        }
    }

    #[test]
    fn results_are_written_as_serde_writes_them() {
        let samples = [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"a\"b\n\u0001\\ é🎉"}],"isError":true}"#,
            r#"{"content":[{"type":"text","text":"x","_meta":{"a":1}},{"type":"text","text":"y"},{"type":"hologram","z":[1]}],"structuredContent":{"n":[1.5,null]},"isError":false,"_meta":{"k":"v"}}"#,
            r#"{"content":[{"type":"text","text":"x","annotations":{"priority":1}},{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
        ];
        for sample in samples {
            let result: CallToolResult = serde_json::from_str(sample).unwrap();
            let mut out = Vec::new();
            result.write_json(&mut out).unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                serde_json::to_string(&result).unwrap()
            );
        }
    }
}
