//! Reads YAML, as in the files of Goose and Continue, with the core schema of YAML 1.2.
//!
//! An alias repeats a value, so a short text can describe a huge document. The size of the document is therefore limited, not
//! only the size of the text. Tags and repeated keys are rejected, because different parsers interpret them in different ways.

use std::collections::HashMap;

use mcp_skills::yaml_scalar;
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// Maximum depth of lists and mappings, including the lists and mappings that aliases repeat.
const MAX_DEPTH: usize = 64;
/// Maximum size of all values of a document in memory, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// The size of a value without its text, in bytes.
const VALUE_BYTES: usize = 64;

/// A complete value.
#[derive(Clone)]
struct Node {
    value: Value,
    depth: usize,
    bytes: usize,
}

/// A list or mapping that is not complete.
struct Open {
    value: Value,
    /// The key whose value is read next.
    key: Option<String>,
    depth: usize,
    bytes: usize,
    anchor: usize,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// The values that aliases can repeat, by anchor.
    anchors: HashMap<usize, Node>,
    /// The size of all values and of the copies for anchors, in bytes.
    bytes: usize,
    root: Option<Value>,
}

/// Reads one document.
///
/// # Errors
/// The text is not YAML, or uses a part of YAML that is not supported. The error names the line.
pub(super) fn to_json(text: &str) -> Result<Value, String> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("the text is not YAML: {error}"))?;
        let line = span.start.line();
        let added = builder.add(event);
        added.map_err(|problem| format!("line {line}: {problem}"))?;
    }
    Ok(builder.root.unwrap_or_default())
}

impl Builder {
    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err("tags such as \"!!str\" are not supported; remove the tag".to_owned());
            }
            Event::Scalar(text, style, anchor, None) => {
                if let Some(open) = self.open.last_mut()
                    && let (Value::Object(members), None) = (&open.value, &open.key)
                {
                    if members.contains_key(&*text) {
                        return Err(format!(
                            "the key {text:?} is repeated; remove one of the two"
                        ));
                    }
                    open.key = Some(text.into_owned());
                    return Ok(());
                }
                let bytes = VALUE_BYTES + text.len();
                let value = yaml_scalar(&text, style);
                let depth = 0;
                return self.complete(
                    Node {
                        value,
                        depth,
                        bytes,
                    },
                    bytes,
                    anchor,
                );
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node =
                    node.ok_or("an alias is inside the value that it repeats; remove the alias")?;
                let bytes = node.bytes;
                return self.complete(node, bytes, 0);
            }
            Event::SequenceStart(anchor, None) => self.begin(Value::Array(Vec::new()), anchor),
            Event::MappingStart(anchor, None) => self.begin(Value::Object(Map::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let node = Node {
                        value: open.value,
                        depth: open.depth + 1,
                        bytes: open.bytes,
                    };
                    return self.complete(node, VALUE_BYTES, open.anchor);
                }
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        self.check_depth(0)
    }

    fn begin(&mut self, value: Value, anchor: usize) {
        self.open.push(Open {
            value,
            key: None,
            depth: 0,
            bytes: VALUE_BYTES,
            anchor,
        });
    }

    fn check_depth(&self, depth: usize) -> Result<(), String> {
        match self.open.len() + depth <= MAX_DEPTH {
            true => Ok(()),
            false => Err(format!("the value has more than {MAX_DEPTH} levels")),
        }
    }

    /// Adds a complete value to the list or mapping that contains it. `bytes` is the part of the value's size that was not
    /// counted before.
    fn complete(&mut self, node: Node, bytes: usize, anchor: usize) -> Result<(), String> {
        self.check_depth(node.depth)?;
        self.bytes += bytes;
        if anchor != 0 {
            self.bytes += node.bytes;
        }
        if self.bytes > MAX_BYTES {
            return Err(format!(
                "with all aliases replaced, the file has more than {MAX_BYTES} bytes"
            ));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            return match self.root.replace(node.value) {
                None => Ok(()),
                Some(_) => Err("a second document begins; write one document".to_owned()),
            };
        };
        open.depth = open.depth.max(node.depth);
        open.bytes += node.bytes;
        match (&mut open.value, open.key.take()) {
            (Value::Array(items), _) => items.push(node.value),
            (Value::Object(members), Some(key)) => {
                open.bytes += key.len();
                members.insert(key, node.value);
            }
            _ => return Err("a key is a list, a mapping or an alias; write text".to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_converted_to_json_by_the_core_schema() {
        let text = "# comment\r\na: yes # not a boolean\r\nb: true\r\nc: 300\r\nd: \"300\"\r\ne:\r\n  - x: 1.5\r\n    y:\r\n  - [1, 'two']\r\n\
                    f: |\r\n  two\r\n  lines\r\n8080: v1\r\ng: 2026-01-01\r\n";
        let expected = json!({
            "a": "yes", "b": true, "c": 300, "d": "300", "e": [{ "x": 1.5, "y": null }, [1, "two"]], "f": "two\nlines\n",
            "8080": "v1", "g": "2026-01-01"
        });
        assert_eq!(to_json(text).unwrap(), expected);
        assert_eq!(to_json("").unwrap(), Value::Null);
    }

    #[test]
    fn an_alias_repeats_a_value() {
        let text = "a: &one {x: 1}\nb: *one\nc: [&two 2, *two]\n";
        let expected = json!({ "a": { "x": 1 }, "b": { "x": 1 }, "c": [2, 2] });
        assert_eq!(to_json(text).unwrap(), expected);
    }

    #[test]
    fn a_document_that_parsers_interpret_differently_is_an_error_with_a_line() {
        for (text, problem) in [
            ("a: 1\na: 2", "line 2: the key \"a\" is repeated"),
            ("a: !!str 1", "line 1: tags"),
            ("[a]: 1", "a key is a list"),
            ("a: &x 1\n*x : 2", "line 2: a key"),
            ("a: &x [*x]", "an alias is inside the value that it repeats"),
            ("a: 1\n---\nb: 2", "second document"),
            ("a: [", "not YAML"),
            ("a: *none", "not YAML"),
        ] {
            let error = to_json(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn lists_and_mappings_have_a_maximum_depth() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(to_json(&nested(MAX_DEPTH)).is_ok());
        let error = to_json(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert!(error.contains("more than 64 levels"), "{error}");
        // Each alias adds a level.
        let chain = |levels: usize| {
            let next = |level: usize| format!("- &a{level} [*a{}]\n", level - 1);
            "- &a0 []\n".to_owned() + &(1..levels).map(next).collect::<String>()
        };
        assert!(to_json(&chain(MAX_DEPTH - 1)).is_ok());
        let error = to_json(&chain(MAX_DEPTH)).unwrap_err();
        assert!(error.contains("more than 64 levels"), "{error}");
    }

    #[test]
    fn aliases_cannot_multiply_the_size_of_a_document() {
        // The size includes the value, its copy for the anchor, and its copy for each alias.
        let repeated = |text: usize, times: usize| {
            format!(
                "[&a {}{}]",
                "x".repeat(text - VALUE_BYTES),
                ", *a".repeat(times)
            )
        };
        let length = (MAX_BYTES - VALUE_BYTES) / 16;
        assert!(to_json(&repeated(length, 14)).is_ok());
        let error = to_json(&repeated(length + 1, 14)).unwrap_err();
        assert!(error.contains("more than 16777216 bytes"), "{error}");
        let nested = |level: usize| {
            let aliases = vec![format!("*a{}", level - 1); 9];
            format!("- &a{level} [{}]\n", aliases.join(", "))
        };
        let laughs = "- &a0 lol\n".to_owned() + &(1..10).map(nested).collect::<String>();
        let error = to_json(&laughs).unwrap_err();
        assert!(error.contains("with all aliases replaced"), "{error}");
    }
}
