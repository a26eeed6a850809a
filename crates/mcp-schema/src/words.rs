//! The texts of violations, which are the same for both engines.

use serde_json::Value;

use super::Violation;

/// Maximum length of a quoted value or name, in characters.
const QUOTE: usize = 64;
/// Maximum length of a quoted list from a schema, in bytes.
pub(super) const LIST: usize = 256;

/// Clips a quoted value or name to [`QUOTE`] characters.
pub(super) fn clip(text: &str) -> String {
    clip_to(text, QUOTE)
}

pub(super) fn clip_to(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Describes a value briefly.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the string {:?}", clip(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

pub(super) fn wrong_type<'a>(names: impl Iterator<Item = &'a str>, value: &Value) -> String {
    let mut text = "expected ".to_owned();
    for (index, name) in names.enumerate() {
        if index > 0 {
            text.push_str(" or ");
        }
        text.push_str(match name {
            "array" => "an array",
            "boolean" => "true or false",
            "integer" => "an integer",
            "null" => "null",
            "number" => "a number",
            "object" => "an object",
            "string" => "a string",
            other => other,
        });
    }
    text + ", got " + &describe(value)
}

pub(super) fn missing(name: &str) -> String {
    format!("property {:?} is required and missing", clip(name))
}

pub(super) fn unexpected(name: &str) -> String {
    format!("property {:?} is not allowed here", clip(name))
}

#[cfg(feature = "validate")]
pub(super) fn bad_name(message: &str) -> String {
    format!("the name of a property is not allowed: {message}")
}

#[cfg(feature = "validate")]
pub(super) fn no_match(pattern: &str, value: &Value) -> String {
    format!(
        "expected a match of {}, got {}",
        clip_to(pattern, LIST),
        describe(value)
    )
}

/// Returns the text for a value that is not in an `enum` or is not equal to a `const`.
pub(super) fn not_among(options: &[Value], value: &Value) -> String {
    let mut list = String::new();
    for (index, option) in options.iter().enumerate() {
        if index > 0 {
            list.push_str(", ");
        }
        list.push_str(&option.to_string());
        if list.len() > LIST {
            break;
        }
    }
    let one_of = if options.len() > 1 { "one of " } else { "" };
    format!(
        "expected {one_of}{}, got {}",
        clip_to(&list, LIST),
        describe(value)
    )
}

/// Returns the text for a count that violates a limit. `unit` is what is counted, for example `characters`.
pub(super) fn count(n: u64, bound: &str, limit: u64, unit: &str) -> String {
    let unit = match limit {
        1 => unit.trim_end_matches('s'),
        _ => unit,
    };
    format!("expected {bound} {limit} {unit}, got {n}")
}

/// Returns the text for a number that violates a limit.
pub(super) fn bound(value: &Value, bound: &str, limit: &impl std::fmt::Display) -> String {
    format!("expected a number {bound} {limit}, got {}", describe(value))
}

/// Returns the violation for a value that matches no alternative of an `anyOf` or a `oneOf`.
pub(super) fn no_alternative(violations: impl Iterator<Item = Violation>) -> Violation {
    let mut total = 0;
    let mut closest: Vec<Violation> = Vec::new();
    for violation in violations {
        total += 1;
        // The deepest violation most likely belongs to the intended alternative.
        let known = closest.first().map(depth);
        if known.is_some_and(|known| known > depth(&violation)) {
            continue;
        }
        if known.is_some_and(|known| known < depth(&violation)) {
            closest.clear();
        }
        closest.push(violation);
    }
    let Some(Violation { pointer, .. }) = closest.first() else {
        return Violation::here("matches none of the alternatives");
    };
    let pointer = pointer.clone();
    closest.retain(|violation| violation.pointer == pointer);
    let mut messages: Vec<String> = closest.into_iter().map(|it| it.message).collect();
    messages.dedup();
    let message = match &*messages {
        [message] if total == 1 => message.clone(),
        [message] => format!("matches none of the {total} alternatives; the closest: {message}"),
        several => {
            let list = clip_to(&several.join(", or: "), LIST);
            format!("matches none of the {total} alternatives: {list}")
        }
    };
    Violation { pointer, message }
}

fn depth(violation: &Violation) -> usize {
    violation.pointer.matches('/').count()
}

pub(super) fn too_many_alternatives() -> &'static str {
    "matches more than one of the alternatives, expected exactly one"
}

/// Returns a name as a segment of a JSON pointer: escaped and clipped.
#[cfg(not(feature = "validate"))]
pub(super) fn segment(name: &str) -> String {
    clip(name).replace('~', "~0").replace('/', "~1")
}
