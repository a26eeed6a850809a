//! Elicitation forms: validation of responses, defaults, down-conversion of the schema.
//!
//! Specification: [elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation).

use std::collections::BTreeMap;

use mcp_jsonrpc::{decode, quote};
use mcp_types::{
    ElicitRequestParams, ElicitValue, LegacyTitledEnumSchema, NumberKind, NumberSchema,
    PrimitiveSchemaDefinition, RequestedSchema, StringFormat, StringSchema,
};
use serde_json::{Number, Value};

use super::form_repair;
use crate::Rules;
use crate::gate::{Unsupported, known};

type Content = BTreeMap<String, ElicitValue>;

/// Reads the params of a form whose fields do not describe their types as the specification requires. Accepts such a field
/// only if its meaning is unambiguous.
#[cold]
pub fn repaired(params: &str) -> Option<ElicitRequestParams> {
    let mut params: Value = decode(params).ok()?;
    form_repair::repair(params.get_mut("requestedSchema")?);
    serde_json::from_value(params).ok()
}

/// Adds the default value of every field that has no value.
pub fn apply_defaults(schema: &RequestedSchema, content: &mut Content) {
    for (name, field) in schema.properties.iter() {
        if content.contains_key(name) {
            continue;
        }
        if let Some(value) = default_of(field) {
            content.insert(name.to_owned(), value);
        }
    }
}

fn default_of(field: &PrimitiveSchemaDefinition) -> Option<ElicitValue> {
    use PrimitiveSchemaDefinition as P;
    match field {
        P::String(s) => s.default.clone().map(ElicitValue::String),
        P::Number(s) => s.default.clone().map(ElicitValue::Number),
        P::Boolean(s) => s.default.map(ElicitValue::Bool),
        P::UntitledSingleSelectEnum(s) => s.default.clone().map(ElicitValue::String),
        P::TitledSingleSelectEnum(s) => s.default.clone().map(ElicitValue::String),
        P::LegacyTitledEnum(s) => s.default.clone().map(ElicitValue::String),
        P::UntitledMultiSelectEnum(s) => s.default.clone().map(ElicitValue::Strings),
        P::TitledMultiSelectEnum(s) => s.default.clone().map(ElicitValue::Strings),
        _ => None,
    }
}

/// Checks that every field has a type that forms support.
///
/// # Errors
/// A field has a type that forms do not support. The text contains the name of the field.
pub fn check_fields(schema: &RequestedSchema) -> Result<(), String> {
    use PrimitiveSchemaDefinition as P;
    for (name, field) in schema.properties.iter() {
        match field {
            P::Unknown(_) => {
                return Err(format!(
                    "field {name:?} must be a string, a number, a boolean or an enum"
                ));
            }
            P::String(StringSchema {
                format: Some(StringFormat::Unknown(format)),
                ..
            }) => {
                return Err(format!(
                    "field {name:?} has the unknown format {format:?}; \
                     use email, uri, date or date-time"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the name of the first field in a response that the form does not define.
pub fn extra<'a>(schema: &RequestedSchema, content: &'a Content) -> Option<&'a str> {
    let mut names = content.keys();
    let extra = names.find(|name| schema.properties.get(name).is_none());
    extra.map(String::as_str)
}

/// Validates the fields of a response that the form defines. Ignores all other fields.
///
/// # Errors
/// A required field is missing, or a field is invalid; the text names the field and the problem.
pub fn check(schema: &RequestedSchema, content: &Content) -> Result<(), String> {
    problem(schema, content).map_or(Ok(()), |(name, problem)| {
        Err(format!("field {name:?} {problem}"))
    })
}

/// Returns the name of the first field that is invalid or does not exist in the form.
pub fn mismatch(schema: &RequestedSchema, content: &Content) -> Option<String> {
    let invalid = problem(schema, content).map(|(name, _)| name);
    invalid
        .or_else(|| extra(schema, content))
        .map(str::to_owned)
}

/// Returns the name of the first invalid field, and the reason.
fn problem<'a>(schema: &'a RequestedSchema, content: &Content) -> Option<(&'a str, String)> {
    let mut required = schema.required.iter().flatten();
    if let Some(name) = required.find(|name| !content.contains_key(*name)) {
        return Some((name, "is required and missing".to_owned()));
    }
    schema.properties.iter().find_map(|(name, field)| {
        let checked = check_field(field, content.get(name)?);
        checked
            .err()
            .map(|problem| (name, format!("does not fit: {problem}")))
    })
}

fn check_field(field: &PrimitiveSchemaDefinition, value: &ElicitValue) -> Result<(), String> {
    use PrimitiveSchemaDefinition as P;
    match (field, value) {
        (P::String(schema), ElicitValue::String(text)) => check_string(schema, text),
        (P::Number(schema), ElicitValue::Number(number)) => check_number(schema, number),
        (P::Boolean(_), ElicitValue::Bool(_)) => Ok(()),
        (P::UntitledSingleSelectEnum(schema), ElicitValue::String(text)) => {
            choice(text, schema.values.iter().map(String::as_str))
        }
        (P::LegacyTitledEnum(schema), ElicitValue::String(text)) => {
            choice(text, schema.values.iter().map(String::as_str))
        }
        (P::TitledSingleSelectEnum(schema), ElicitValue::String(text)) => {
            choice(text, schema.one_of.iter().map(|option| &*option.value))
        }
        (P::UntitledMultiSelectEnum(schema), ElicitValue::Strings(texts)) => {
            count(texts.len(), schema.min_items, schema.max_items, "choices")?;
            texts
                .iter()
                .try_for_each(|text| choice(text, schema.items.values.iter().map(String::as_str)))
        }
        (P::TitledMultiSelectEnum(schema), ElicitValue::Strings(texts)) => {
            count(texts.len(), schema.min_items, schema.max_items, "choices")?;
            let options = || schema.items.any_of.iter().map(|option| &*option.value);
            texts.iter().try_for_each(|text| choice(text, options()))
        }
        (P::Unknown(_), _) => Ok(()),
        (field, _) => Err(format!("expected {}", kind(field))),
    }
}

fn kind(field: &PrimitiveSchemaDefinition) -> &'static str {
    use PrimitiveSchemaDefinition as P;
    match field {
        P::String(_) => "a string",
        P::Number(schema) if schema.kind == NumberKind::Integer => "an integer",
        P::Number(_) => "a number",
        P::Boolean(_) => "true or false",
        P::UntitledMultiSelectEnum(_) | P::TitledMultiSelectEnum(_) => "a list of choices",
        _ => "one of the choices",
    }
}

fn choice<'a>(text: &str, mut options: impl Iterator<Item = &'a str>) -> Result<(), String> {
    if options.any(|option| option == text) {
        return Ok(());
    }
    Err(format!("{} is not one of the choices", quote(text, 64)))
}

fn count(n: usize, min: Option<u64>, max: Option<u64>, what: &str) -> Result<(), String> {
    let n = n as u64;
    match (min, max) {
        (Some(min), _) if n < min => Err(format!("{n} {what}, at least {min} expected")),
        (_, Some(max)) if n > max => Err(format!("{n} {what}, at most {max} expected")),
        _ => Ok(()),
    }
}

fn check_string(schema: &StringSchema, text: &str) -> Result<(), String> {
    count(
        text.chars().count(),
        schema.min_length,
        schema.max_length,
        "characters",
    )?;
    let fits = match &schema.format {
        Some(StringFormat::Email) => is_email(text),
        Some(StringFormat::Uri) => is_uri(text),
        Some(StringFormat::Date) => is_date(text),
        Some(StringFormat::DateTime) => is_date_time(text),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let format = schema.format.as_ref().map_or("", |format| format.as_str());
    Err(format!("expected the format {format:?}"))
}

fn check_number(schema: &NumberSchema, number: &Number) -> Result<(), String> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    if schema.kind == NumberKind::Integer && value.fract() != 0.0 {
        return Err(format!("expected an integer, got {number}"));
    }
    if let Some(minimum) = schema
        .minimum
        .as_ref()
        .filter(|min| Some(value) < min.as_f64())
    {
        return Err(format!("{number} is below the minimum {minimum}"));
    }
    if let Some(maximum) = schema
        .maximum
        .as_ref()
        .filter(|max| Some(value) > max.as_f64())
    {
        return Err(format!("{number} is above the maximum {maximum}"));
    }
    Ok(())
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && !domain.is_empty()
            && !domain.contains('@')
            && !text.chars().any(|c| c.is_whitespace() || c.is_control())
    })
}

/// Returns whether the text has the form of an absolute URI (RFC 3986): a scheme, a colon, and only
/// characters that are allowed in a URI.
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && !rest.is_empty()
        && rest
            .bytes()
            .all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b))
}

fn digits(text: &str, range: std::ops::RangeInclusive<u32>) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
        && text.parse().is_ok_and(|number| range.contains(&number))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    matches!(&*parts, [year, month, day] if year.len() == 4
        && month.len() == 2
        && day.len() == 2
        && digits(year, 0..=9999)
        && digits(month, 1..=12)
        && digits(day, 1..=31))
}

/// Returns whether the text is a date and time as in RFC 3339.
pub fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let time = match time.strip_suffix(['Z', 'z']) {
        Some(time) => time,
        None => match time.rfind(['+', '-']) {
            Some(at) if is_clock(&time[at + 1..], false) => &time[..at],
            _ => return false,
        },
    };
    let whole = time.split_once('.').map_or(time, |(whole, _)| whole);
    is_date(date) && is_clock(whole, true)
}

fn is_clock(text: &str, seconds: bool) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let two = |text: &str, max| text.len() == 2 && digits(text, 0..=max);
    match &*parts {
        [hour, minute] if !seconds => two(hour, 23) && two(minute, 59),
        [hour, minute, second] if seconds => two(hour, 23) && two(minute, 59) && two(second, 60),
        _ => false,
    }
}

/// Down-converts a form to an older revision.
///
/// # Errors
/// The form has a multiple choice field, which does not exist before 2025-11-25.
pub fn downgrade(schema: &mut RequestedSchema, rules: &'static Rules) -> Result<(), Unsupported> {
    use PrimitiveSchemaDefinition as P;
    if rules.rich_forms {
        return Ok(());
    }
    schema.schema = None;
    let fields = std::mem::take(&mut schema.properties);
    for (name, field) in fields {
        let field = match field {
            P::String(mut s) => {
                s.default = None;
                s.pattern = None;
                P::String(s)
            }
            P::Number(mut s) => {
                s.default = None;
                P::Number(s)
            }
            P::UntitledSingleSelectEnum(mut s) => {
                s.default = None;
                P::UntitledSingleSelectEnum(s)
            }
            P::LegacyTitledEnum(mut s) => {
                s.default = None;
                P::LegacyTitledEnum(s)
            }
            P::TitledSingleSelectEnum(s) => {
                let (names, values) = s.one_of.into_iter().map(|o| (o.title, o.value)).unzip();
                let mut legacy = LegacyTitledEnumSchema::new(values);
                legacy.enum_names = Some(names);
                legacy.title = s.title;
                legacy.description = s.description;
                P::LegacyTitledEnum(legacy)
            }
            P::UntitledMultiSelectEnum(_) | P::TitledMultiSelectEnum(_) => {
                return Err(known(false, "multiple choice fields", rules)
                    .err()
                    .unwrap_or(Unsupported::Capability("elicitation")));
            }
            other => other,
        };
        schema.properties.insert(name, field);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_or_an_offset_with_a_part_out_of_range_is_invalid() {
        for time in [
            "00:00:00Z",
            "23:59:60Z",
            "12:00:00.5+23:59",
            "12:00:00-00:00",
        ] {
            assert!(is_date_time(&format!("2026-01-31T{time}")), "{time}");
        }
        for time in [
            "24:00:00Z",
            "00:60:00Z",
            "00:00:61Z",
            "12:00:00+24:00",
            "12:00:00-00:60",
            "12:00Z",
            "12:00:00",
        ] {
            assert!(!is_date_time(&format!("2026-01-31T{time}")), "{time}");
        }
    }
}
