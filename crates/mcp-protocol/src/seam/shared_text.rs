//! Results that are serialized once and sent many times.

use mcp_jsonrpc::ResultTail;

use crate::modern::ResultMeta;

/// A JSON object on one line that is serialized once and sent many times, such as a list. It has none
/// of the members that [`ResultMeta`] adds.
///
/// Result metadata is written before the members of the object. Two responses with the same text
/// therefore differ only before the [tail](Self::tail), which a transport can send without a copy.
#[derive(Debug, Clone)]
pub struct SharedText(ResultTail);

impl SharedText {
    /// Creates a shared text from the text of an object without line breaks.
    ///
    /// # Panics
    /// The text does not start and end with the braces of the object.
    pub fn new(object: String) -> Self {
        Self(ResultTail::new(object))
    }

    /// Returns the text of the object.
    pub fn as_str(&self) -> &str {
        self.0.object()
    }

    /// Appends the text before the [tail](Self::tail): the opening brace and the result metadata.
    pub fn write_start(&self, out: &mut Vec<u8>, meta: Option<&ResultMeta>) {
        out.push(b'{');
        if let Some(meta) = meta {
            meta.write_members(out);
            if self.as_str() != "{}" {
                out.push(b',');
            }
        }
    }

    /// Returns the end of every response with this text.
    pub fn tail(&self) -> &ResultTail {
        &self.0
    }

    /// Appends the object with result metadata.
    pub(crate) fn write(&self, out: &mut Vec<u8>, meta: Option<&ResultMeta>) {
        self.write_start(out, meta);
        out.extend_from_slice(&self.as_str().as_bytes()[1..]);
    }
}

#[cfg(test)]
mod tests {
    use mcp_types::Implementation;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_tail_ends_the_envelope_with_and_without_result_metadata() {
        let meta = ResultMeta::new(&Implementation::new("s", "1"), None);
        for text in ["{}", r#"{"tools":[]}"#] {
            let shared = SharedText::new(text.to_owned());
            assert_eq!(shared.as_str(), text);
            for meta in [None, Some(&meta)] {
                let mut object = Vec::new();
                shared.write(&mut object, meta);
                let object: Value = serde_json::from_slice(&object).unwrap();
                let mut envelope = br#"{"result":"#.to_vec();
                shared.write_start(&mut envelope, meta);
                envelope.extend_from_slice(shared.tail().as_ref());
                let envelope: Value = serde_json::from_slice(&envelope).unwrap();
                assert_eq!(envelope, json!({ "result": object }));
                assert_eq!(object.get("tools").is_some(), text.len() > 2);
                assert_eq!(object.get("resultType").is_some(), meta.is_some());
            }
        }
    }
}
