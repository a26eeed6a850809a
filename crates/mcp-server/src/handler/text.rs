//! Conversion of text to typed arguments, for the arguments of prompts and the variables of URIs.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use mcp_jsonrpc::{members, quote, read_string};
use mcp_protocol::Reply;
use mcp_types::JsonObject;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer};
use serde_json::Value;

use super::arguments::integer;
use super::output::{Finish as _, Kind};
use super::{Call, Erased};
use crate::{HandlerError, Spec};

/// The accepted spellings of numbers and booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Every spelling, for text that a person has written: `7`, `007`, ` 7.0 `.
    Any,
    /// One spelling of each value, for URIs: `7`. Otherwise several URIs would name the same resource, and a rule or a
    /// subscription for one of them would not apply to the others.
    Canonical,
}

/// The way in which the text of an argument is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Boolean,
    Integer,
    Number,
}

/// An argument whose text needs conversion, because its type is not text, or because an empty text means that it is absent.
struct Argument {
    name: String,
    /// The way in which the text is read; `None` if the argument stays text.
    reading: Option<Reading>,
    is_required: bool,
}

/// Returns a handler that converts text arguments to numbers and booleans before it calls `run`. The schema of the argument type,
/// not the name of the type, decides which arguments are converted.
pub(super) fn reading<K: Kind>(spec: &Spec, spelling: Spelling, run: Erased<K>) -> Erased<K> {
    let arguments: Vec<Argument> = match &spec.input {
        Some(input) => arguments(&input.schema).collect(),
        None => Vec::new(),
    };
    if arguments.is_empty() {
        return run;
    }
    Arc::new(move |call: &Call<'_>, finish: K::Finish| {
        match read(call.arguments, &arguments, spelling) {
            Ok(text) => run(&Call::new(&text, call.context.clone(), call.server), finish),
            Err(problem) => Reply::Ready(finish.finish(Err(HandlerError::arguments(problem)))),
        }
    })
}

/// Returns the arguments whose text needs conversion: numbers, booleans, and optional arguments whose schema does not admit empty
/// text.
fn arguments(schema: &JsonObject) -> impl Iterator<Item = Argument> {
    let required = crate::schema::strings(schema.get("required"));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(move |(name, schema)| {
            let is_required = required.contains(name);
            let reading = match schema.get("type").and_then(Value::as_str) {
                Some("boolean") => Some(Reading::Boolean),
                Some("integer") => Some(Reading::Integer),
                Some("number") => Some(Reading::Number),
                _ if !is_required && is_never_empty(schema) => None,
                _ => return None,
            };
            Some(Argument {
                name: name.clone(),
                reading,
                is_required,
            })
        })
}

/// Returns whether the schema does not admit empty text, for example because it describes a choice, a date, or a minimum length.
fn is_never_empty(schema: &Value) -> bool {
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    if let Some(choices) = list("enum") {
        return !choices.iter().any(|choice| choice == "");
    }
    if let Some(alternatives) = list("oneOf").or_else(|| list("anyOf")) {
        return alternatives.iter().all(is_never_empty);
    }
    schema.get("const").is_some_and(|only| only != "")
        || schema.get("format").is_some()
        || schema.get("minLength").and_then(Value::as_u64) > Some(0)
}

/// Returns the arguments as JSON. An optional argument with an empty text counts as absent, because clients with forms send an
/// empty text for an empty field.
fn read(text: &str, arguments: &[Argument], spelling: Spelling) -> Result<String, String> {
    let mut out = String::from("{");
    for member in members(text) {
        let (name, value) = member.map_err(|error| error.to_string())?;
        let argument = arguments.iter().find(|argument| argument.name == name);
        let value = match argument.zip(read_string(value)) {
            None => Cow::Borrowed(value),
            Some((argument, text)) if text.is_empty() && !argument.is_required => continue,
            Some((argument, text)) => match argument.reading {
                None => Cow::Borrowed(value),
                Some(reading) => {
                    let got = || quote(&text, 64);
                    let literal = reading.literal(text.trim()).ok_or_else(|| {
                        let expected = reading.expected();
                        format!("/{name}: expected {expected}, got {}", got())
                    })?;
                    if spelling == Spelling::Canonical && reading.usual(&literal) != text {
                        let usual = reading.usual(&literal);
                        return Err(format!("/{name}: write {usual} instead of {}", got()));
                    }
                    Cow::Owned(literal)
                }
            },
        };
        let comma = if out.len() > 1 { "," } else { "" };
        out.push_str(&format!("{comma}\"{name}\":{value}"));
    }
    Ok(out + "}")
}

impl Reading {
    /// Returns the JSON value that `text` denotes.
    fn literal(self, text: &str) -> Option<String> {
        match self {
            Self::Boolean => text.parse::<bool>().ok().map(|value| value.to_string()),
            Self::Integer => whole(text).or_else(|| whole(&integer(text)?)),
            Self::Number => Self::Integer.literal(text).or_else(|| {
                let number = serde_json::Number::from_f64(text.parse().ok()?)?;
                Some(number.to_string())
            }),
        }
    }

    /// Returns the only spelling of `literal` that is accepted in a URI. For a number, this is the spelling of the nearest `f64`.
    fn usual(self, literal: &str) -> String {
        match (self, literal.parse::<f64>()) {
            (Self::Number, Ok(number)) => number.to_string(),
            _ => literal.to_owned(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
        }
    }
}

fn whole(text: &str) -> Option<String> {
    let unsigned = || text.parse::<u128>().ok().map(|number| number.to_string());
    let signed = text.parse::<i128>().ok().map(|number| number.to_string());
    signed.or_else(unsigned)
}

/// Reads the argument `name` from text.
///
/// # Errors
/// The text is not a value of `T`; the error names the argument and quotes at most 64 characters of the text.
pub fn parsed<'de, D: Deserializer<'de>, T>(name: &str, deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| {
        let text = quote(&text, 64);
        D::Error::custom(format!("{name}: invalid value {text}: {error}"))
    })
}

/// Reads the argument `name` from text, if it is present. An empty text that is not a value of `T` counts as absent.
///
/// # Errors
/// The errors of [`parsed`].
pub fn parsed_option<'de, D: Deserializer<'de>, T>(
    name: &str,
    deserializer: D,
) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    match parsed(name, text.as_str().into_deserializer()) {
        Err(_) if text.is_empty() => Ok(None),
        value => value.map(Some),
    }
}
