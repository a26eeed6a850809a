//! Reads the YAML at the beginning of a `SKILL.md` as JSON.
//!
//! Anchors, aliases, tags and repeated keys are rejected. An alias can multiply the size of a document, and different parsers use
//! different values of a repeated key.

use mcp_types::JsonObject;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Maximum depth of lists and mappings.
const MAX_DEPTH: usize = 16;

/// Maximum length of the YAML text, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Returns the frontmatter of a `SKILL.md`, and the text after it.
///
/// # Errors
/// The frontmatter is malformed. The error text names the problem.
pub(crate) fn split(text: &str) -> Result<(JsonObject, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let is_mark = |line: &str| line.trim_end() == "---";
    let first = lines.next().filter(|line| is_mark(line));
    let first = first.ok_or("the text does not begin with a line `---`")?;
    let mut end = first.len();
    for line in lines {
        if is_mark(line) {
            let yaml = &text[first.len()..end];
            return Ok((parse(yaml)?, &text[end + line.len()..]));
        }
        end += line.len();
        if end > MAX_BYTES {
            return Err(format!("the frontmatter is longer than {MAX_BYTES} bytes"));
        }
    }
    Err("the frontmatter has no end; add a line `---` after it".to_owned())
}

/// A list or mapping that is not complete.
enum Open {
    List(Vec<Value>),
    Mapping(JsonObject, Option<String>),
}

fn parse(yaml: &str) -> Result<JsonObject, String> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(yaml) {
        let (event, span) =
            event.map_err(|error| format!("the frontmatter is not YAML: {error}"))?;
        // The YAML begins after the line `---`, which is the first line of the file.
        let line = span.start.line() + 1;
        let refuse = |what: &str| Err(format!("line {line} of the frontmatter: {what}"));
        let complete = match event {
            Event::Alias(_) => return refuse("aliases are not allowed"),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return refuse("anchors are not allowed");
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return refuse("tags are not allowed");
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Mapping(Map::new(), None));
                None
            }
            Event::Scalar(text, style, ..) => match open.last_mut() {
                Some(Open::Mapping(all, key @ None)) => {
                    if all.contains_key(&*text) {
                        return refuse(&format!(
                            "the key {text:?} is repeated; remove one of the two"
                        ));
                    }
                    *key = Some(text.into_owned());
                    None
                }
                _ => Some(scalar(&text, style)),
            },
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(all)) => Some(Value::Array(all)),
                Some(Open::Mapping(all, _)) => Some(Value::Object(all)),
                None => None,
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => None,
        };
        if open.len() > MAX_DEPTH {
            return refuse(&format!("more than {MAX_DEPTH} levels"));
        }
        let Some(value) = complete else { continue };
        match open.last_mut() {
            Some(Open::List(all)) => all.push(value),
            Some(Open::Mapping(all, key)) => match key.take() {
                Some(key) => _ = all.insert(key, value),
                None => return refuse("a key is a list or a mapping"),
            },
            None if root.is_none() => root = Some(value),
            None => return refuse("a second document"),
        }
    }
    match root {
        Some(Value::Object(all)) => Ok(all),
        _ => Err("the frontmatter is not a mapping, such as `name: review`".to_owned()),
    }
}

/// Returns the value of a scalar according to the core schema of YAML 1.2.
pub fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number);
    }
    let is_decimal = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !text.chars().all(is_decimal) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = text.parse::<i64>().map(Number::from);
    whole
        .ok()
        .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frontmatter_is_converted_to_json_by_the_core_schema() {
        let text = "---\r\nname: review\r\ndescription: \"Says: hi\"\nversion: 1.0\ncount: 0x10\nno: no\nempty:\n\
                    yes: true\nlist: [a, 'b', 3]\nmetadata:\n  deep:\n    - x: 1\ntext: |\n  two\n  lines\n---\nBody\n---\n";
        let (frontmatter, body) = split(text).unwrap();
        let expected = json!({
            "name": "review", "description": "Says: hi", "version": 1.0, "count": 16, "no": "no", "empty": null, "yes": true,
            "list": ["a", "b", 3], "metadata": { "deep": [{ "x": 1 }] }, "text": "two\nlines\n"
        });
        assert_eq!(Value::Object(frontmatter), expected);
        assert_eq!(body, "Body\n---\n");
    }

    #[test]
    fn yaml_that_parsers_interpret_differently_is_rejected() {
        for (yaml, problem) in [
            ("a: &x 1", "anchors"),
            ("a: &x [1]\nb: *x", "anchors"),
            ("a: *x", ""),
            ("a: !!str 1", "tags"),
            ("a: 1\na: 2", "\"a\" is repeated"),
            ("[a]: 1", "a key is a list"),
            ("- a", "not a mapping"),
            ("a: [", "not YAML"),
            (
                "a: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]",
                "more than 16 levels",
            ),
        ] {
            let error = split(&format!("---\n{yaml}\n---\n")).unwrap_err();
            assert!(error.contains(problem), "{yaml}: {error}");
        }
        for (text, problem) in [
            ("name: x", "does not begin"),
            ("---\nname: x\n", "no end"),
            ("", "does not begin"),
        ] {
            let error = split(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let long = format!("---\na: {}\n", "x\n".repeat(MAX_BYTES));
        assert!(split(&long).unwrap_err().contains("longer"));
    }
}
