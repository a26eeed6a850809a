//! Expands a template to a URI (RFC 6570, section 3.2).

use std::borrow::Cow;

use super::syntax::{Modifier, Operator, Part, Variable, is_triplet};

/// The value of a variable.
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
    Pairs(Vec<(&'a str, Cow<'a, str>)>),
}

impl<'a> Value<'a> {
    pub(super) fn of(value: &'a serde_json::Value) -> Option<Self> {
        use serde_json::Value as Json;
        match value {
            Json::Array(items) => {
                let items: Vec<_> = items.iter().filter_map(text).collect();
                (!items.is_empty()).then_some(Self::List(items))
            }
            Json::Object(members) => {
                let pair = |(name, value): (&'a String, _)| Some((name.as_str(), text(value)?));
                let pairs: Vec<_> = members.iter().filter_map(pair).collect();
                (!pairs.is_empty()).then_some(Self::Pairs(pairs))
            }
            single => text(single).map(Self::Text),
        }
    }
}

fn text(value: &serde_json::Value) -> Option<Cow<'_, str>> {
    use serde_json::Value as Json;
    match value {
        Json::Null => None,
        Json::String(text) => Some(Cow::Borrowed(text)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

impl Operator {
    /// Returns the text that precedes the first value.
    pub(super) fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// Returns the separator between values.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// Returns whether each value is written with the name of its variable.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Returns whether reserved characters are not encoded.
    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

pub(super) fn expand<'a>(parts: &[Part], lookup: impl Fn(&str) -> Option<Value<'a>>) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => encode(&mut out, text, true),
            Part::Expression {
                operator,
                variables,
            } => {
                let mut start = operator.first();
                for variable in variables {
                    if let Some(value) = lookup(&variable.name) {
                        out.push_str(start);
                        start = operator.separator();
                        one(&mut out, *operator, variable, &value);
                    }
                }
            }
        }
    }
    out
}

fn one(out: &mut String, operator: Operator, variable: &Variable, value: &Value<'_>) {
    let reserved = operator.keeps_reserved();
    let explode = variable.modifier == Modifier::Explode;
    let name = (operator.is_named() && !explode).then_some(&*variable.name);
    let separator = if explode { operator.separator() } else { "," };
    match value {
        Value::Text(text) => {
            let text = match variable.modifier {
                Modifier::Prefix(length) => cut(text, length),
                _ => text,
            };
            let name = operator.is_named().then_some(&*variable.name);
            named(out, operator, name, text.is_empty());
            encode(out, text, reserved);
        }
        Value::List(items) => {
            named(out, operator, name, false);
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(separator);
                }
                if explode && operator.is_named() {
                    named(out, operator, Some(&variable.name), item.is_empty());
                }
                encode(out, item, reserved);
            }
        }
        Value::Pairs(pairs) => {
            named(out, operator, name, false);
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    out.push_str(separator);
                }
                encode(out, key, reserved);
                match explode {
                    true if operator == Operator::Parameter && value.is_empty() => {}
                    true => out.push('='),
                    false => out.push(','),
                }
                encode(out, value, reserved);
            }
        }
    }
}

fn named(out: &mut String, operator: Operator, name: Option<&str>, empty: bool) {
    if let Some(name) = name {
        out.push_str(name);
        if !(empty && operator == Operator::Parameter) {
            out.push('=');
        }
    }
}

fn cut(text: &str, length: usize) -> &str {
    match text.char_indices().nth(length) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// Appends `text` to `out`, and percent-encodes all characters that are not allowed. `reserved` says whether reserved characters
/// are allowed.
fn encode(out: &mut String, text: &str, reserved: bool) {
    for (offset, character) in text.char_indices() {
        let plain = match character {
            '-' | '.' | '_' | '~' => true,
            ':' | '/' | '?' | '#' | '[' | ']' | '@' | '!' | '$' | '&' | '\'' | '(' | ')' | '*'
            | '+' | ',' | ';' | '=' => reserved,
            // Existing percent-encoding is kept.
            '%' => reserved && is_triplet(&text[offset..]),
            _ => character.is_ascii_alphanumeric(),
        };
        if plain {
            out.push(character);
        } else {
            encode_char(out, character);
        }
    }
}

pub(super) fn encode_char(out: &mut String, character: char) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in character.encode_utf8(&mut [0; 4]).as_bytes() {
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
}
