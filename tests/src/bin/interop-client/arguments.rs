//! Arguments generated from a JSON Schema, for tools and forms that are in no table.

use serde_json::{Map, Value, json};

/// A value that fits the schema, with every property.
pub(crate) fn example(schema: &Value) -> Value {
    build(schema, schema, true)
}

/// An object with only the required properties that have no default.
pub(crate) fn minimum(schema: &Value) -> Value {
    build(schema, schema, false)
}

fn build(root: &Value, schema: &Value, all: bool) -> Value {
    if let Some(fixed) = fixed(schema) {
        return fixed;
    }
    if let Some(target) = reference(root, schema) {
        return build(root, target, all);
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(first) = schema[choice].get(0) {
            return build(root, first, all);
        }
    }
    match kind(schema) {
        "object" => object(root, schema, all),
        "array" => {
            let length = schema["minItems"].as_u64().unwrap_or(1).max(1);
            (0..length)
                .map(|_| build(root, &schema["items"], all))
                .collect()
        }
        "boolean" => json!(true),
        "integer" | "number" => number(schema),
        "null" => Value::Null,
        _ => text(schema),
    }
}

/// The value that the schema names: its constant, the first of its enum, or its first example.
fn fixed(schema: &Value) -> Option<Value> {
    let first = |list: &Value| list.get(0).cloned();
    schema
        .get("const")
        .cloned()
        .or_else(|| first(&schema["enum"]))
        .or_else(|| first(&schema["examples"]))
}

fn reference<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
}

fn kind(schema: &Value) -> &str {
    let kind = &schema["type"];
    let named = kind.as_str().or_else(|| kind[0].as_str());
    named.unwrap_or(if schema["properties"].is_object() {
        "object"
    } else {
        "string"
    })
}

fn object(root: &Value, schema: &Value, all: bool) -> Value {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let wanted = |name: &str, property: &Value| {
        all || (required.contains(&name) && property.get("default").is_none())
    };
    properties
        .iter()
        .filter(|(name, property)| wanted(name, property))
        .map(|(name, property)| (name.clone(), build(root, property, all)))
        .collect::<Map<_, _>>()
        .into()
}

fn number(schema: &Value) -> Value {
    let least = schema["minimum"].as_f64().unwrap_or(1.0);
    let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
    let number = least.max(1.0).min(most).ceil();
    // Whole numbers fit both types, and 3 is not 3.0 to every peer.
    json!(number as i64)
}

fn text(schema: &Value) -> Value {
    let text = match schema["format"].as_str() {
        Some("uri") => "https://example.com/",
        Some("email") => "ada@example.com",
        Some("date") => "2025-11-25",
        Some("date-time") => "2025-11-25T12:00:00Z",
        _ => "interop",
    };
    let shortest = schema["minLength"].as_u64().unwrap_or(0) as usize;
    json!(format!("{text:x<shortest$}"))
}
