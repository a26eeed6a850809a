//! Reads arguments of tools and prompts from the command line.

pub(crate) mod numbers;

use std::fs::File;
use std::path::Path;

use mcp_host::read_text;
use mcp_schema::{Origin, Validator};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use numbers::check_numbers;

/// Maximum size of a file with arguments or answers, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Maximum number of references that are followed from one schema to the next.
const MAX_REFERENCES: usize = 16;

/// Reads the arguments of a tool; `schema` is its input schema.
pub(crate) fn of_tool(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    for word in words {
        if word == "-" {
            let text = read_text(std::io::stdin(), MAX_FILE_BYTES)
                .map_err(|error| Failure::usage(format!("stdin: {error}")))?;
            arguments.extend(object("stdin", &text)?);
        } else if let Some(path) = word.strip_prefix('@') {
            arguments.extend(object(path, &file(path)?)?);
        } else if let Some((name, text)) = json_word(word) {
            let value = mcp_jsonrpc::decode_document(text).map_err(|error| {
                Failure::usage(format!("argument {name}: {text:?} is not JSON: {error}"))
            })?;
            check_numbers(text)
                .map_err(|problem| Failure::usage(format!("argument {name}: {problem}")))?;
            arguments.insert(name.to_owned(), value);
        } else {
            let (name, text) = pair(word)?;
            let text = text_or_file(text)?;
            let value = of_schema(name, &text, schema)
                .map_err(|problem| Failure::usage(format!("argument {name}: {problem}")))?;
            match (arguments.get_mut(name), value) {
                // A repeated word adds to a list.
                (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
                (_, value) => {
                    arguments.insert(name.to_owned(), value);
                }
            }
        }
    }
    Ok(arguments)
}

/// Reads the arguments of a prompt. Their values are texts.
pub(crate) fn of_prompt(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let read = |word: &String| {
        let (name, text) = pair(word)?;
        Ok((name.to_owned(), text_or_file(text)?))
    };
    words.iter().map(read).collect()
}

/// Splits a word `name:=json`, if the name is directly followed by `:=`.
fn json_word(word: &str) -> Option<(&str, &str)> {
    let at = word.find('=')?;
    let name = word[..at].strip_suffix(':')?;
    Some((name, &word[at + 1..]))
}

/// Splits a word `name=text`.
pub(crate) fn pair(word: &str) -> Result<(&str, &str), Failure> {
    match word.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name, text)),
        _ => Err(Failure::usage(format!(
            "argument {word:?}: expected name=text, name:=JSON, @FILE or -"
        ))),
    }
}

fn text_or_file(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(path) => file(path),
        None => Ok(text.to_owned()),
    }
}

fn file(path: &str) -> Result<String, Failure> {
    text_of_file(path).map_err(|error| Failure::usage(format!("file {path:?}: {error}")))
}

/// Reads a text file of at most [`MAX_FILE_BYTES`], in each encoding that [`read_text`] accepts.
pub(crate) fn text_of_file(path: impl AsRef<Path>) -> std::io::Result<String> {
    read_text(File::open(path)?, MAX_FILE_BYTES)
}

fn object(source: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    let members = mcp_jsonrpc::decode_document(text)
        .map_err(|error| Failure::usage(format!("{source}: expected a JSON object: {error}")))?;
    check_numbers(text).map_err(|problem| Failure::usage(format!("{source}: {problem}")))?;
    Ok(members)
}

/// Converts text to a value that the schema of a field accepts.
///
/// # Errors
/// The schema does not accept the text; the error says why.
pub(crate) fn typed(name: &str, text: &str, field: &Value) -> Result<Value, String> {
    of_schema(name, text, &json!({ "properties": { name: field } }))
}

/// Converts text to a value of the property `name`: the JSON value of the text if the schema accepts it, else the text. If the
/// schema accepts every value, only text that is a JSON object or list is read as JSON.
fn of_schema(name: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let field = resolved(&schema["properties"][name], schema);
    let Some(validator) = validator(name, schema) else {
        return by_type(text, field);
    };
    let accepts = |value: &Value| validator.check(&json!({ name: value })).is_ok();
    let is_any = [json!(true), json!([]), json!({})].iter().all(accepts);
    let parsed = mcp_jsonrpc::decode_document::<Value>(text).ok();
    let parsed = parsed.filter(|value| !is_any || value.is_object() || value.is_array());
    let string = || Value::String(text.to_owned());
    if let Some(value) = parsed.into_iter().chain([string()]).find(accepts) {
        return Ok(value);
    }
    let items = &field["items"];
    if items.is_object() {
        let mut schema = schema.clone();
        schema["properties"] = json!({ name: items });
        return Ok(Value::Array(vec![of_schema(name, text, &schema)?]));
    }
    // The server says what is wrong with a value of the right type.
    by_type(text, field)
}

/// Compiles the schema of one property; `None` if this program cannot check it.
fn validator(name: &str, schema: &Value) -> Option<Validator> {
    let field = match &schema["properties"][name] {
        Value::Null => &Value::Bool(true),
        field => field,
    };
    let mut whole = Map::new();
    whole.insert("properties".to_owned(), json!({ name: field }));
    for key in ["$schema", "$defs", "definitions"] {
        if let Some(value) = schema.get(key) {
            whole.insert(key.to_owned(), value.clone());
        }
    }
    Validator::compile(&whole, Origin::Foreign).ok()
}

/// Follows the references of a field's schema to other parts of the whole schema, and returns the schema that they lead to.
fn resolved<'a>(mut field: &'a Value, schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_REFERENCES {
        let reference = field["$ref"].as_str();
        let Some(pointer) = reference.and_then(|reference| reference.strip_prefix('#')) else {
            break;
        };
        let Some(target) = schema.pointer(pointer) else {
            break;
        };
        field = target;
    }
    field
}

/// Converts text to the type that a schema requires.
fn by_type(text: &str, field: &Value) -> Result<Value, String> {
    let types: Vec<&str> = match &field["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let parsed = mcp_jsonrpc::decode_document::<Value>(text).ok();
    let is_of = |kind: &str, value: &Value| match kind {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    };
    let has_type = |value: &Value| types.iter().any(|kind| is_of(kind, value));
    let is_structured = |value: &Value| value.is_object() || value.is_array();
    match (parsed, &types[..]) {
        (Some(value), _) if has_type(&value) => Ok(value),
        (Some(value), []) if is_structured(&value) => Ok(value),
        (_, types) if types.is_empty() || types.contains(&"string") => {
            Ok(Value::String(text.to_owned()))
        }
        (_, types) => {
            let names = types.iter().filter(|kind| **kind != "null");
            let names = names.map(|kind| match *kind {
                "integer" => "an integer",
                "number" => "a number",
                "boolean" => "true or false",
                "object" => "a JSON object",
                "array" => "a JSON list",
                other => other,
            });
            let names: Vec<&str> = names.collect();
            Err(format!("{text:?} is not {}", names.join(" or ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_have_the_types_of_the_schema() {
        let schema = json!({ "properties": {
            "count": { "type": "integer" }, "ratio": { "type": "number" }, "deep": { "type": "boolean" },
            "name": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } },
            "maybe": { "type": ["integer", "null"] }, "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "options": { "type": "object" }, "ref": { "$ref": "#/$defs/Point" }, "refint": { "$ref": "#/$defs/Count" },
            "all": { "allOf": [{ "$ref": "#/$defs/Point" }] }, "one": { "oneOf": [{ "$ref": "#/$defs/Point" }, { "type": "null" }] },
            "list": { "type": "array", "items": { "$ref": "#/$defs/Point" } }, "choice": { "enum": [1, 2] },
            "fixed": { "const": true }, "any": true, "anything": {}, "whole": { "type": "integer" },
            "limited": { "type": "integer", "maximum": 3 }, "unknown": { "type": "integer", "multipleOf": 2 }
        }, "$defs": {
            "Point": { "type": "object", "properties": { "x": { "type": "integer" } } }, "Count": { "type": "integer" }
        }});
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            of_tool(&words, &schema).map(Value::Object)
        };
        let words = r#"
            count=3 ratio=2 deep=true name=42 tags=a tags=b maybe=7 either=x=y options={"a":1} raw:={"b":[2]}
            other=5 ref={"x":1} refint=5 all={"x":1} one={"x":1} list={"x":1} list={"x":2} choice=1 fixed=true
            any={"x":1} anything=5 whole=3.0 limited=4 unknown=8
        "#;
        let words = Vec::from_iter(words.split_ascii_whitespace());
        let expected = json!({
            "count": 3, "ratio": 2, "deep": true, "name": "42", "tags": ["a", "b"], "maybe": 7, "either": "x=y",
            "options": { "a": 1 }, "raw": { "b": [2] }, "other": "5", "ref": { "x": 1 }, "refint": 5, "all": { "x": 1 },
            "one": { "x": 1 }, "list": [{ "x": 1 }, { "x": 2 }], "choice": 1, "fixed": true, "any": { "x": 1 }, "anything": "5",
            "whole": 3.0, "limited": 4, "unknown": 8
        });
        assert_eq!(read(&words).unwrap(), expected);
        for (word, problem) in [
            ("count=3.5", "\"3.5\" is not an integer"),
            ("deep=yes", "\"yes\" is not true or false"),
            ("count", "expected name=text"),
            ("count:=x", "is not JSON"),
            (
                "o:={\"n\":12345678901234567890123}",
                "argument o: the number 12345678901234567890123 would change",
            ),
            ("@/nowhere", "file \"/nowhere\""),
        ] {
            let error = format!("{:?}", read(&[word]).unwrap_err());
            assert!(
                error.replace("\\\"", "\"").contains(problem),
                "{word}: {error}"
            );
        }
    }

    /// Some editors write a byte order mark at the start of a file.
    #[test]
    fn files_with_a_byte_order_mark_are_read() {
        let name = format!("mcp-arguments-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "\u{feff}{\"n\":1}").unwrap();
        let file = format!("@{}", path.to_str().unwrap());
        let words = [format!("copy={file}"), file];
        let read = of_tool(&words, &json!({})).unwrap();
        std::fs::remove_file(path).unwrap();
        let expected = json!({ "copy": { "n": 1 }, "n": 1 });
        assert_eq!(Value::Object(read), expected);
    }
}
