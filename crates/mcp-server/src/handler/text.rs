//! Arguments of prompts and variables of URIs that are read from text.

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

/// How the text of an argument is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Boolean,
    Integer,
    Number,
}

/// An argument that is not text.
struct Argument {
    name: String,
    reading: Reading,
    is_required: bool,
}

/// Wraps a handler whose arguments are text, so that numbers and booleans are read from it: the schema of the argument type decides, not
/// the spelling of the type.
pub(super) fn reading<K: Kind>(spec: &Spec, run: Erased<K>) -> Erased<K> {
    let arguments: Vec<Argument> = match &spec.input {
        Some(input) => arguments(&input.schema).collect(),
        None => Vec::new(),
    };
    if arguments.is_empty() {
        return run;
    }
    Arc::new(
        move |call: &Call<'_>, finish: K::Finish| match read(call.arguments, &arguments) {
            Ok(text) => run(&Call::new(&text, call.context.clone(), call.server), finish),
            Err(problem) => Reply::Ready(finish.finish(Err(HandlerError::arguments(problem)))),
        },
    )
}

/// Returns the arguments with the schema of a number or a boolean.
fn arguments(schema: &JsonObject) -> impl Iterator<Item = Argument> {
    let required = crate::schema::strings(schema.get("required"));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(move |(name, schema)| {
            let reading = match schema.get("type")?.as_str()? {
                "boolean" => Reading::Boolean,
                "integer" => Reading::Integer,
                "number" => Reading::Number,
                _ => return None,
            };
            Some(Argument {
                name: name.clone(),
                reading,
                is_required: required.contains(name),
            })
        })
}

/// Returns the arguments as JSON. An empty text for an optional argument counts as absent: clients with forms send it.
fn read(text: &str, arguments: &[Argument]) -> Result<String, String> {
    let mut out = String::from("{");
    for member in members(text) {
        let (name, value) = member.map_err(|error| error.to_string())?;
        let argument = arguments.iter().find(|argument| argument.name == name);
        let value = match argument.zip(read_string(value)) {
            None => Cow::Borrowed(value),
            Some((argument, text)) if text.is_empty() && !argument.is_required => continue,
            Some((argument, text)) => {
                let literal = argument.reading.literal(text.trim());
                Cow::Owned(literal.ok_or_else(|| {
                    let expected = argument.reading.expected();
                    format!("/{name}: expected {expected}, got {}", quote(&text, 64))
                })?)
            }
        };
        let comma = if out.len() > 1 { "," } else { "" };
        out.push_str(&format!("{comma}\"{name}\":{value}"));
    }
    Ok(out + "}")
}

impl Reading {
    /// Returns the JSON value that the text means.
    fn literal(self, text: &str) -> Option<String> {
        match self {
            Self::Boolean => text.parse::<bool>().ok().map(|value| value.to_string()),
            Self::Integer => whole(text).or_else(|| whole(&integer(text)?)),
            Self::Number => whole(text).or_else(|| {
                let number = serde_json::Number::from_f64(text.parse().ok()?)?;
                Some(number.to_string())
            }),
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
        let text: String = text.chars().take(64).collect();
        D::Error::custom(format!("{name}: invalid value {text:?}: {error}"))
    })
}

/// Reads the argument `name` from text, if it is present.
///
/// # Errors
/// Those of [`parsed`].
pub fn parsed_option<'de, D: Deserializer<'de>, T>(
    name: &str,
    deserializer: D,
) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let text = Option::<String>::deserialize(deserializer)?;
    let value = text.map(|text| parsed(name, text.into_deserializer()));
    value.transpose()
}
