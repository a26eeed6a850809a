//! Makes the root of a schema an object.

use std::collections::BTreeSet;

use mcp_types::JsonObject;
use serde_json::{Value, json};

use super::{Side, for_each_schema};

/// Maximum depth of the references and unions that are resolved at the root.
const MAX_ROOT_DEPTH: usize = 16;

/// Returns the root as an object schema without a reference or a union.
///
/// # Errors
/// The root does not describe an object. The error text names the type of value that the root describes.
pub(super) fn object(root: Value, side: Side, name: &str) -> Result<JsonObject, &'static str> {
    let Value::Object(root) = root else {
        return Err("any value");
    };
    let whole = Value::Object(root.clone());
    let mut object = straight(&root, &whole, MAX_ROOT_DEPTH).ok_or_else(|| kind(&root))?;
    let nullable = object.get("type").is_some_and(Value::is_array);
    if nullable && side == Side::Output {
        return Err("sometimes null");
    }
    object.insert("type".to_owned(), "object".into());
    let rewritten = object != root;
    let mut defs = take_defs(&mut object);
    // The root was rewritten, so `#` must refer to a copy of the original.
    if rewritten {
        keep_root(&mut object, &mut defs, root, name);
    }
    put_defs(&mut object, defs);
    Ok(object)
}

/// Returns the schema of the object `{"result": …}`, where `schema` describes the value of `result`.
pub(super) fn wrapped(schema: &JsonObject) -> JsonObject {
    let mut inner = schema.clone();
    let mut object = JsonObject::new();
    if let Some(dialect) = inner.shift_remove("$schema") {
        object.insert("$schema".to_owned(), dialect);
    }
    let is_named = inner.contains_key("$id");
    let mut inner = Value::Object(inner);
    // References in a schema with an `$id` are relative to the `$id`, so they do not change.
    if !is_named {
        visit_references(&mut inner, &mut |reference| {
            if reference == "#" || reference.starts_with("#/") {
                reference.insert_str(1, "/properties/result");
            }
        });
    }
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), json!({ "result": inner }));
    object.insert("required".to_owned(), json!(["result"]));
    object
}

/// Resolves the references and unions of `schema`, so that the result describes one object. `whole` contains the targets of the
/// references. Returns `None` if this is not possible, or if more than `left` levels must be resolved.
fn straight(schema: &JsonObject, whole: &Value, left: usize) -> Option<JsonObject> {
    let left = left.checked_sub(1)?;
    let mut schema = schema.clone();
    if let Some(Value::String(reference)) = schema.shift_remove("$ref") {
        let target = whole.pointer(reference.strip_prefix('#')?)?.as_object()?;
        for (keyword, value) in target {
            schema.entry(keyword).or_insert_with(|| value.clone());
        }
        return straight(&schema, whole, left);
    }
    let has_members = is_object(&schema);
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(parts)) = schema.get_mut(union) {
            for part in parts {
                // An empty part means that a flattened union may be absent.
                if has_members && part.as_object().is_some_and(JsonObject::is_empty) {
                    *part = json!({"type": "object"});
                    continue;
                }
                *part = Value::Object(straight(part.as_object()?, whole, left)?);
            }
        }
    }
    merge_union(&schema).filter(is_object)
}

/// Returns whether every matching value is an object or `null`.
fn is_object(schema: &JsonObject) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind == "object" || kind == "null"),
        None => schema.contains_key("properties"),
        _ => false,
    }
}

fn kind(root: &JsonObject) -> &'static str {
    match root.get("type").and_then(Value::as_str) {
        Some("array") => "an array",
        Some("boolean") => "true or false",
        Some("integer") => "an integer",
        Some("null") => "null",
        Some("number") => "a number",
        Some("object") => "an object that cannot be described as one schema",
        Some("string") => "a string",
        _ if root.contains_key("anyOf") || root.contains_key("oneOf") => "not always an object",
        _ => "any value",
    }
}

/// Merges the objects in `allOf`, `anyOf` and `oneOf` into one object with all their members. A
/// member is required if every alternative requires it. Returns `None` if a part is not an object.
pub(super) fn merge_union(schema: &JsonObject) -> Option<JsonObject> {
    let mut merged = schema.clone();
    let unions = ["allOf", "anyOf", "oneOf"];
    if unions.iter().all(|union| !schema.contains_key(*union)) {
        return Some(merged);
    }
    for part in take_parts(&mut merged, "allOf")? {
        let required = union_of(required(&merged), required(&part));
        merge(&mut merged, part);
        set_required(&mut merged, &required);
    }
    for union in ["anyOf", "oneOf"] {
        let parts = take_parts(&mut merged, union)?;
        let mut common: Option<Vec<String>> = None;
        for part in parts {
            let required = required(&part);
            common = Some(match common {
                Some(mut common) => {
                    common.retain(|name| required.contains(name));
                    common
                }
                None => required,
            });
            let own = self::required(&merged);
            merge(&mut merged, part);
            set_required(&mut merged, &own);
        }
        let required = union_of(required(&merged), common.unwrap_or_default());
        set_required(&mut merged, &required);
    }
    Some(merged)
}

fn take_parts(schema: &mut JsonObject, union: &str) -> Option<Vec<JsonObject>> {
    let Some(Value::Array(parts)) = schema.shift_remove(union) else {
        return Some(Vec::new());
    };
    let object = |part: Value| match part {
        Value::Object(part) if part.get("type").is_some_and(|kind| kind == "object") => Some(part),
        _ => None,
    };
    parts.into_iter().map(object).collect()
}

fn required(schema: &JsonObject) -> Vec<String> {
    super::keywords::strings(schema.get("required"))
}

/// Returns the names of both lists in order, without duplicates.
fn union_of(mut names: Vec<String>, others: Vec<String>) -> Vec<String> {
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn set_required(schema: &mut JsonObject, required: &[String]) {
    schema.shift_remove("required");
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
}

/// Adds the members of `part` to `into`. Does not add the description of `part`.
fn merge(into: &mut JsonObject, part: JsonObject) {
    into.entry("type").or_insert_with(|| "object".into());
    let open = is_open(into) || is_open(&part);
    let fresh = !into.contains_key("properties");
    let members = into.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(members) = members else {
        return;
    };
    let mut others = None;
    for (keyword, value) in part {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    match members.get_mut(&name) {
                        None => drop(members.insert(name, schema)),
                        Some(known) => either(known, schema),
                    }
                }
            }
            ("additionalProperties", schema) => others = Some(schema),
            _ => {}
        }
    }
    match others {
        Some(schema) if fresh || !open => {
            into.entry("additionalProperties").or_insert(schema);
        }
        _ => drop(into.shift_remove("additionalProperties")),
    }
}

fn is_open(schema: &JsonObject) -> bool {
    schema.contains_key("properties")
        && schema.get("additionalProperties") != Some(&Value::Bool(false))
}

/// Widens the schema `known` of a member, so that it also admits the values of the schema `other`.
fn either(known: &mut Value, other: Value) {
    if *known == other {
        return;
    }
    // Two lists of names, for example for the tag of an enum, become one list.
    let is_choice = |schema: &Value| {
        schema.get("type").is_some_and(|kind| kind == "string") && schema.get("enum").is_some()
    };
    if is_choice(known) && is_choice(&other) {
        let mut choices = known["enum"].as_array().cloned().unwrap_or_default();
        for choice in other["enum"].as_array().into_iter().flatten() {
            if !choices.contains(choice) {
                choices.push(choice.clone());
            }
        }
        known["enum"] = choices.into();
        return;
    }
    if let Some(Value::Array(alternatives)) = known.get_mut("anyOf") {
        if !alternatives.contains(&other) {
            alternatives.push(other);
        }
        return;
    }
    *known = json!({"anyOf": [known.take(), other]});
}

fn take_defs(schema: &mut JsonObject) -> JsonObject {
    match schema.shift_remove("$defs") {
        Some(Value::Object(defs)) => defs,
        _ => JsonObject::new(),
    }
}

/// Adds the definitions that `schema` still references, and drops the others.
fn put_defs(schema: &mut JsonObject, mut defs: JsonObject) {
    let mut used = BTreeSet::new();
    let mut queue = vec![Value::Object(schema.clone())];
    while let Some(mut schema) = queue.pop() {
        visit_references(&mut schema, &mut |reference| {
            if let Some(name) = reference.strip_prefix("#/$defs/").map(unescaped)
                && used.insert(name.clone())
            {
                queue.extend(defs.get(&name).cloned());
            }
        });
    }
    defs.retain(|name, _| used.contains(name));
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(defs));
    }
}

/// If the schema references `#`, adds the old root to the definitions and changes the references.
fn keep_root(schema: &mut JsonObject, defs: &mut JsonObject, mut root: JsonObject, name: &str) {
    let mut free = name.to_owned();
    while defs.contains_key(&free) {
        free.push('_');
    }
    let reference = format!("#/$defs/{}", escaped(&free));
    let mut found = false;
    let mut point = |place: &mut String| {
        if place == "#" {
            found = true;
            place.clone_from(&reference);
        }
    };
    root.shift_remove("$defs");
    let mut root = Value::Object(root);
    visit_references(&mut root, &mut point);
    for def in defs.values_mut() {
        visit_references(def, &mut point);
    }
    let mut whole = Value::Object(std::mem::take(schema));
    visit_references(&mut whole, &mut point);
    if let Value::Object(whole) = whole {
        *schema = whole;
    }
    if found {
        defs.insert(free, root);
    }
}

fn visit_references(schema: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    let Value::Object(keywords) = schema else {
        return;
    };
    if let Some(Value::String(reference)) = keywords.get_mut("$ref") {
        visit(reference);
    }
    for_each_schema(keywords, &mut |_, _, schema| {
        visit_references(schema, visit)
    });
}

/// Escapes a definition name in the same way as schemars does in references.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'~' => text.push_str("~0"),
            b'/' => text.push_str("~1"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn unescaped(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        match byte {
            b'%' => {
                let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                bytes.extend(value.and_then(|value| u8::try_from(value).ok()));
            }
            _ => bytes.push(byte),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    text.replace("~1", "/").replace("~0", "~")
}
