//! Rewrites each subschema of a derived schema into a form that hosts accept.

use mcp_types::JsonObject;
use serde_json::{Value, json};

use super::keywords::strings;
use super::root::merge_union;
use super::{Side, for_each_schema};

/// Formats that schemars writes for the number types of Rust.
const NUMBER_FORMATS: [&str; 14] = [
    "int", "int8", "int16", "int32", "int64", "int128", "uint", "uint8", "uint16", "uint32",
    "uint64", "uint128", "float", "double",
];
/// The patterns for the keys of maps with integer keys.
const INTEGER_KEYS: [&str; 2] = [r"^\d+$", r"^-?\d+$"];

pub(super) fn clean(schema: &mut Value, side: Side) {
    // The root of an input schema is never null: arguments are an object.
    rewrite(schema, side, side != Side::Output);
    if let Value::Object(schema) = schema {
        schema.shift_remove("title");
        schema.shift_remove("$schema");
    }
}

/// Rewrites a schema. `optional` says that the value can be left out or is never `null`; the rewritten schema then does not admit
/// `null`.
fn rewrite(schema: &mut Value, side: Side, optional: bool) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let required = strings(keywords.get("required"));
    for_each_schema(keywords, &mut |keyword, name, schema| {
        let property = keyword == "properties" && side != Side::Output;
        let optional = property && required.iter().all(|required| required != name);
        rewrite(schema, side, optional);
        // Some hosts read the schema `true` as a boolean. `{}` also admits any value.
        if *schema == Value::Bool(true) && keyword != "additionalProperties" {
            *schema = json!({});
        }
    });
    numbers(keywords, side);
    arrays(keywords, side);
    integer_keys(keywords);
    one_string(keywords);
    string_choices(keywords, side);
    leftovers(keywords);
    if side != Side::Output {
        nulls(keywords, optional);
        one_of(keywords, side);
    }
}

/// Replaces `oneOf` with `anyOf`, which hosts support. `anyOf` is never stricter than `oneOf`.
fn one_of(keywords: &mut JsonObject, side: Side) {
    if side == Side::Form && is_type(keywords, "string") {
        // The titled choices of a form stay in `oneOf`.
        return;
    }
    let Some(alternatives) = keywords.shift_remove("oneOf") else {
        return;
    };
    if keywords.contains_key("anyOf") {
        // The schema of a type with two flattened enums has both `anyOf` and `oneOf`.
        let all = keywords.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(json!({ "anyOf": alternatives }));
        }
    } else {
        keywords.insert("anyOf".to_owned(), alternatives);
    }
}

fn is_type(keywords: &JsonObject, name: &str) -> bool {
    match keywords.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

/// Removes the formats of Rust's number types. In the schema of arguments, writes the limits of the type instead.
fn numbers(keywords: &mut JsonObject, side: Side) {
    let format = text(keywords, "format").unwrap_or_default();
    if NUMBER_FORMATS.contains(&&*format) {
        keywords.shift_remove("format");
    }
    if side != Side::Output && is_type(keywords, "integer") {
        for (bound, limit) in limits(&format) {
            keywords.entry(bound).or_insert(limit);
        }
    }
    // The schema of a signed `NonZero…` type excludes 0 with `not`.
    if is_type(keywords, "integer") && keywords.get("not") == Some(&json!({"const": 0})) {
        keywords.shift_remove("not");
        if side != Side::Output {
            keywords.insert(
                "anyOf".to_owned(),
                json!([{"type": "integer", "maximum": -1}, {"type": "integer", "minimum": 1}]),
            );
        }
    }
}

/// Returns the limits of an integer type. For 128 bits, the limits are the nearest floating-point numbers within the range.
fn limits(format: &str) -> Vec<(&'static str, Value)> {
    let (min, max) = match format {
        "int8" => (json!(i8::MIN), json!(i8::MAX)),
        "int16" => (json!(i16::MIN), json!(i16::MAX)),
        "int32" => (json!(i32::MIN), json!(i32::MAX)),
        "int64" => (json!(i64::MIN), json!(i64::MAX)),
        "int" => (json!(isize::MIN), json!(isize::MAX)),
        "int128" => (
            json!(-(2_f64.powi(127))),
            json!(2_f64.powi(127).next_down()),
        ),
        "uint8" => (json!(0), json!(u8::MAX)),
        "uint16" => (json!(0), json!(u16::MAX)),
        "uint32" => (json!(0), json!(u32::MAX)),
        "uint64" => (json!(0), json!(u64::MAX)),
        "uint" => (json!(0), json!(usize::MAX)),
        "uint128" => (json!(0), json!(2_f64.powi(128).next_down())),
        _ => return Vec::new(),
    };
    vec![("minimum", min), ("maximum", max)]
}

fn arrays(keywords: &mut JsonObject, side: Side) {
    if !is_type(keywords, "array") {
        return;
    }
    // A set: its decoder accepts duplicate values and keeps one of them.
    keywords.shift_remove("uniqueItems");
    // A tuple: the schemas of its positions become one schema for all items.
    if let Some(Value::Array(mut kinds)) = keywords.shift_remove("prefixItems") {
        let mut seen: Vec<Value> = Vec::new();
        kinds.retain(|kind| {
            let new = !seen.contains(kind);
            seen.push(kind.clone());
            new
        });
        let items = match kinds.len() {
            1 => kinds.remove(0),
            _ => json!({ "anyOf": kinds }),
        };
        keywords.insert("items".to_owned(), items);
    }
    let items = keywords.entry("items").or_insert_with(|| json!({}));
    // Titled choices of a form: the items of a list have `anyOf`.
    if let (Side::Form, Value::Object(items)) = (side, items)
        && items.get("type").is_some_and(|kind| kind == "string")
        && let Some(choices) = items.shift_remove("oneOf")
    {
        items.shift_remove("type");
        items.insert("anyOf".to_owned(), choices);
    }
}

fn integer_keys(keywords: &mut JsonObject) {
    let closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
    let Some(Value::Object(patterns)) = keywords.get_mut("patternProperties") else {
        return;
    };
    let known = patterns.keys().all(|key| INTEGER_KEYS.contains(&&**key));
    if closed
        && known
        && let Some(key) = patterns.keys().next().cloned()
    {
        let values = patterns.shift_remove(&key).unwrap_or_default();
        keywords.shift_remove("patternProperties");
        keywords.insert("additionalProperties".to_owned(), values);
    }
}

/// Replaces `const`, which some hosts do not support, with an `enum` of one value.
fn one_string(keywords: &mut JsonObject) {
    if let Some(Value::String(text)) = keywords.get("const") {
        let choices = json!([text]);
        keywords.shift_remove("const");
        keywords.insert("enum".to_owned(), choices);
    }
}

/// Replaces `oneOf` or `anyOf` with an `enum`, for a fieldless enum whose variants have doc comments.
fn string_choices(keywords: &mut JsonObject, side: Side) {
    for union in ["oneOf", "anyOf"] {
        let Some(Value::Array(variants)) = keywords.get(union) else {
            continue;
        };
        if variants.is_empty() || !variants.iter().all(is_string_choice) {
            continue;
        }
        if side == Side::Form
            && variants
                .iter()
                .any(|variant| variant.get("title").is_some())
        {
            let titled = titled(variants);
            keywords.shift_remove(union);
            keywords.insert("type".to_owned(), "string".into());
            keywords.insert("oneOf".to_owned(), titled);
            continue;
        }
        let mut choices = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        lines.extend(text(keywords, "description"));
        for variant in variants {
            let names = strings(variant.get("enum"));
            if let (Some(docs), [name]) = (variant.get("description"), &*names) {
                let docs = docs.as_str().unwrap_or_default();
                lines.push(format!("- `{name}`: {docs}"));
            }
            choices.extend(names.into_iter().map(Value::String));
        }
        keywords.shift_remove(union);
        keywords.insert("type".to_owned(), "string".into());
        keywords.insert("enum".to_owned(), choices.into());
        if !lines.is_empty() {
            keywords.insert("description".to_owned(), lines.join("\n").into());
        }
    }
}

/// Returns the choices of a form with their titles. If a choice has no title, its name is the title.
fn titled(variants: &[Value]) -> Value {
    let choices = variants.iter().flat_map(|variant| {
        let names = strings(variant.get("enum"));
        names.into_iter().map(move |name| {
            let title = variant.get("title").cloned();
            json!({ "const": name, "title": title.unwrap_or_else(|| name.into()) })
        })
    });
    choices.collect()
}

fn is_string_choice(variant: &Value) -> bool {
    let Value::Object(keywords) = variant else {
        return false;
    };
    let known = |keyword: &String| {
        ["type", "enum", "description", "title", "deprecated"].contains(&keyword.as_str())
    };
    keywords.get("type").is_some_and(|kind| kind == "string")
        && keywords.contains_key("enum")
        && keywords.keys().all(known)
}

fn text(keywords: &JsonObject, keyword: &str) -> Option<String> {
    Some(keywords.get(keyword)?.as_str()?.to_owned())
}

/// Replaces `unevaluatedProperties` with `additionalProperties`, if the parts of the schema can be merged. Schemars writes
/// `unevaluatedProperties` for `#[serde(flatten)]` together with a map or with `deny_unknown_fields`.
fn leftovers(keywords: &mut JsonObject) {
    if !keywords.contains_key("unevaluatedProperties") {
        return;
    }
    if let Some(merged) = merge_union(keywords) {
        *keywords = merged;
    }
    let nested = ["allOf", "anyOf", "oneOf", "$ref"];
    if nested
        .iter()
        .all(|keyword| !keywords.contains_key(*keyword))
        && let Some(others) = keywords.shift_remove("unevaluatedProperties")
    {
        keywords.insert("additionalProperties".to_owned(), others);
    }
}

fn nulls(keywords: &mut JsonObject, optional: bool) {
    if optional {
        drop_null(keywords);
    } else if let Some(Value::Array(kinds)) = keywords.get("type")
        && kinds.iter().any(|kind| kind == "null")
    {
        // `null` must stay allowed. Hosts reject a list of types, but accept `anyOf`.
        let mut value = keywords.clone();
        drop_null(&mut value);
        let docs = value.shift_remove("description");
        keywords.clear();
        keywords.insert("anyOf".to_owned(), json!([value, {"type": "null"}]));
        keywords.extend(docs.map(|docs| ("description".to_owned(), docs)));
    }
}

fn drop_null(keywords: &mut JsonObject) {
    if keywords.get("default") == Some(&Value::Null) {
        keywords.shift_remove("default");
    }
    if let Some(Value::Array(kinds)) = keywords.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &**kinds {
            let kind = kind.clone();
            keywords.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = keywords.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(alternatives)) = keywords.get_mut(union) else {
            continue;
        };
        alternatives.retain(|schema| schema.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &**alternatives {
            let only = only.clone();
            keywords.shift_remove(union);
            for (keyword, value) in only {
                // Keywords beside the union describe the member, so they are kept.
                keywords.entry(keyword).or_insert(value);
            }
        }
    }
}
