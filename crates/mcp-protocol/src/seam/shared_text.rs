//! Results that are written once and sent many times.

use std::fmt;
use std::sync::Arc;

use crate::modern::ResultMeta;

/// A JSON object on one line that is written once and sent many times, such as a list. It has none of the members that
/// a [`ResultMeta`] adds.
///
/// The brace that closes the envelope of an answer is kept behind it, and a stamp goes before its members. So all that
/// differs between two answers stands before the [tail](Self::tail), and whoever sends that as it stands has no third
/// piece to send.
#[derive(Clone)]
pub struct SharedText(Arc<str>);

impl SharedText {
    /// Keeps the text of an object, which has no line breaks.
    ///
    /// # Panics
    /// There is something around the braces of the object, or they are missing.
    pub fn new(mut object: String) -> Self {
        assert!(
            object.starts_with('{') && object.ends_with('}'),
            "no JSON object from brace to brace: {object:.80}"
        );
        object.push('}');
        Self(object.into())
    }

    /// The text of the object.
    pub fn as_str(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }

    /// Appends what stands before the [tail](Self::tail): the opening brace, and what a stamp adds.
    pub fn write_start(&self, out: &mut Vec<u8>, stamp: Option<&ResultMeta>) {
        out.push(b'{');
        if let Some(stamp) = stamp {
            stamp.write_members(out);
            if self.as_str() != "{}" {
                out.push(b',');
            }
        }
    }

    /// What follows the opening brace, and the brace that closes the envelope.
    pub fn tail(&self) -> &str {
        &self.0[1..]
    }

    /// Appends the object with what a stamp adds.
    pub(crate) fn write(&self, out: &mut Vec<u8>, stamp: Option<&ResultMeta>) {
        self.write_start(out, stamp);
        out.extend_from_slice(&self.as_str().as_bytes()[1..]);
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use mcp_types::Implementation;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_tail_ends_the_envelope_with_and_without_a_stamp() {
        let stamp = ResultMeta::new(&Implementation::new("s", "1"), None);
        for text in ["{}", r#"{"tools":[]}"#] {
            let shared = SharedText::new(text.to_owned());
            assert_eq!(shared.as_str(), text);
            for stamp in [None, Some(&stamp)] {
                let mut object = Vec::new();
                shared.write(&mut object, stamp);
                let object: Value = serde_json::from_slice(&object).unwrap();
                let mut envelope = br#"{"result":"#.to_vec();
                shared.write_start(&mut envelope, stamp);
                envelope.extend_from_slice(shared.tail().as_bytes());
                let envelope: Value = serde_json::from_slice(&envelope).unwrap();
                assert_eq!(envelope, json!({ "result": object }));
                assert_eq!(object.get("tools").is_some(), text.len() > 2);
                assert_eq!(object.get("resultType").is_some(), stamp.is_some());
            }
        }
    }
}
