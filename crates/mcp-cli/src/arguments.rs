//! Arguments of tools and prompts on the command line.

use std::io::Read as _;

use serde_json::{Map, Value};

use crate::failure::Failure;

/// Reads the arguments of a tool; `schema` is its input schema.
pub(crate) fn of_tool(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    for word in words {
        if word == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage(format!("stdin: {error}")))?;
            arguments.extend(object("stdin", &text)?);
        } else if let Some(path) = word.strip_prefix('@') {
            arguments.extend(object(path, &file(path)?)?);
        } else if let Some((name, text)) = json_word(word) {
            let value = serde_json::from_str(text).map_err(|error| {
                Failure::usage(format!("argument {name}: {text:?} is not JSON: {error}"))
            })?;
            arguments.insert(name.to_owned(), value);
        } else {
            let (name, text) = pair(word)?;
            let text = text_or_file(text)?;
            let field = &schema["properties"][name];
            let value = typed(name, &text, field).map_err(Failure::usage)?;
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

/// Reads the arguments of a prompt, which are text.
pub(crate) fn of_prompt(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let read = |word: &String| {
        let (name, text) = pair(word)?;
        Ok((name.to_owned(), text_or_file(text)?))
    };
    words.iter().map(read).collect()
}

/// Splits `name:=json`, if the first sign after the name is `:=`.
fn json_word(word: &str) -> Option<(&str, &str)> {
    let at = word.find('=')?;
    let name = word[..at].strip_suffix(':')?;
    Some((name, &word[at + 1..]))
}

/// Splits `name=text`.
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
    std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("file {path:?}: {error}")))
}

fn object(source: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{source}: expected a JSON object: {error}")))
}

/// Converts text to the type of a field.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn typed(name: &str, text: &str, field: &Value) -> Result<Value, String> {
    let expected = |what: &str| format!("argument {name}: {text:?} is not {what}");
    let types: Vec<&str> = match &field["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => match field["anyOf"].as_array() {
            Some(all) => all.iter().filter_map(|one| one["type"].as_str()).collect(),
            None => Vec::new(),
        },
    };
    let parsed = || serde_json::from_str::<Value>(text).ok();
    let mut problem = None;
    for kind in &types {
        let value = match *kind {
            "integer" => parsed().filter(|value| value.is_i64() || value.is_u64()),
            "number" => parsed().filter(Value::is_number),
            "boolean" => parsed().filter(Value::is_boolean),
            "null" => parsed().filter(Value::is_null),
            "object" => parsed().filter(Value::is_object),
            "array" => Some(match parsed().filter(Value::is_array) {
                Some(list) => list,
                None => Value::Array(vec![typed(name, text, &field["items"])?]),
            }),
            _ => None,
        };
        if let Some(value) = value {
            return Ok(value);
        }
        if *kind != "string" && *kind != "null" {
            problem.get_or_insert(*kind);
        }
    }
    match problem {
        Some(kind) if !types.contains(&"string") => Err(expected(match kind {
            "integer" => "an integer",
            "number" => "a number",
            "boolean" => "true or false",
            "object" => "a JSON object",
            other => other,
        })),
        _ => Ok(Value::String(text.to_owned())),
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
            "options": { "type": "object" }
        }});
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            of_tool(&words, &schema).map(Value::Object)
        };
        let words = [
            "count=3",
            "ratio=2",
            "deep=true",
            "name=42",
            "tags=a",
            "tags=b",
            "maybe=7",
            "either=x=y",
            "options={\"a\":1}",
            "raw:={\"b\":[2]}",
            "other=5",
        ];
        let expected = json!({
            "count": 3, "ratio": 2, "deep": true, "name": "42", "tags": ["a", "b"], "maybe": 7, "either": "x=y",
            "options": { "a": 1 }, "raw": { "b": [2] }, "other": "5"
        });
        assert_eq!(read(&words).unwrap(), expected);
        for (word, problem) in [
            ("count=3.5", "\"3.5\" is not an integer"),
            ("deep=yes", "\"yes\" is not true or false"),
            ("count", "expected name=text"),
            ("count:=x", "is not JSON"),
            ("@/nowhere", "file \"/nowhere\""),
        ] {
            let error = format!("{:?}", read(&[word]).unwrap_err());
            assert!(
                error.replace("\\\"", "\"").contains(problem),
                "{word}: {error}"
            );
        }
    }
}
