//! Handling of `null` for optional members: some models write `null` instead of omitting a member.

use mcp_types::JsonObject;
use serde_json::Value;

/// Maximum depth of values and references.
const DEPTH: usize = 128;

/// Removes each optional member whose value is `null` if the schema does not admit `null`. Returns whether a member was removed.
/// Does not remove entries of maps and items of lists, because `null` is a value there.
pub(crate) fn without_nulls(value: &mut Value, schema: &JsonObject) -> bool {
    let root = Value::Object(schema.clone());
    remove(value, &[&root], &root, DEPTH)
}

/// Removes members that are `null` from `value`, as [`without_nulls`] does. `schemas` describe the value, and `left` is the depth
/// that may still be visited. Returns whether a member was removed.
fn remove(value: &mut Value, schemas: &[&Value], root: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else {
        return false;
    };
    let mut parts = Vec::new();
    for schema in schemas {
        collect(schema, root, left, &mut parts);
    }
    let mut changed = false;
    match value {
        Value::Object(members) => {
            let before = members.len();
            members.retain(|name, value| !value.is_null() || !is_omitted(name, &parts, root, left));
            changed |= members.len() < before;
            for (name, value) in members {
                let schemas = of_member(&parts, name);
                changed |= remove(value, &schemas, root, left);
            }
        }
        Value::Array(items) => {
            let schemas: Vec<&Value> = parts.iter().filter_map(|part| part.get("items")).collect();
            for item in items {
                changed |= remove(item, &schemas, root, left);
            }
        }
        _ => {}
    }
    changed
}

/// Adds the schema to `parts`, together with the schemas that it combines with `allOf`, `anyOf` or `oneOf`. References are
/// resolved.
fn collect<'a>(schema: &'a Value, root: &'a Value, left: usize, parts: &mut Vec<&'a JsonObject>) {
    let (Some(left), Some(keywords)) = (left.checked_sub(1), schema.as_object()) else {
        return;
    };
    if parts.iter().any(|part| std::ptr::eq(*part, keywords)) {
        return;
    }
    parts.push(keywords);
    let reference = keywords.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?))
    {
        collect(target, root, left, parts);
    }
    for union in ["allOf", "anyOf", "oneOf"] {
        let schemas = keywords.get(union).and_then(Value::as_array);
        for schema in schemas.into_iter().flatten() {
            collect(schema, root, left, parts);
        }
    }
}

/// Returns the schemas that describe the member `name`.
fn of_member<'a>(parts: &[&'a JsonObject], name: &str) -> Vec<&'a Value> {
    let of_part = |part: &&'a JsonObject| {
        let named = part.get("properties").and_then(|members| members.get(name));
        named.or_else(|| part.get("additionalProperties"))
    };
    parts.iter().filter_map(of_part).collect()
}

/// Returns whether `null` counts as an omitted member: `name` is known, no part of the schema requires it, and no part admits
/// `null`.
fn is_omitted(name: &str, parts: &[&JsonObject], root: &Value, left: usize) -> bool {
    let is_required = |part: &&JsonObject| {
        super::keywords::strings(part.get("required"))
            .iter()
            .any(|it| it == name)
    };
    let known: Vec<&Value> = parts
        .iter()
        .filter_map(|part| part.get("properties")?.get(name))
        .collect();
    !known.is_empty()
        && !parts.iter().any(is_required)
        && !known.iter().any(|schema| admits_null(schema, root, left))
}

fn admits_null(schema: &Value, root: &Value, left: usize) -> bool {
    let mut parts = Vec::new();
    collect(schema, root, left, &mut parts);
    let is_null = |kind: &Value| kind == "null";
    *schema == Value::Bool(true)
        || parts.iter().any(|part| match part.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(is_null),
            Some(kind) => is_null(kind),
            None => [
                "$ref",
                "allOf",
                "anyOf",
                "oneOf",
                "enum",
                "const",
                "properties",
            ]
            .iter()
            .all(|keyword| !part.contains_key(*keyword)),
        })
}
