//! Repairs of forms whose fields have no `type`; schema generators of other languages write such forms. A field is repaired only
//! if its meaning is unambiguous.

use mcp_types::JsonObject;
use serde_json::{Value, json};

/// Maximum number of references that are followed for one field.
const REFERENCES: usize = 8;

/// Rewrites the schema of a form as the specification requires. Resolves references within the form. Replaces a union with `null`
/// by its other branch, and makes the field optional. Derives the type of a choice from its values. Removes a default that does
/// not match the type of its field.
pub(super) fn repair(form: &mut Value) {
    let root = form.clone();
    let Value::Object(members) = form else {
        return;
    };
    members.insert("type".to_owned(), "object".into());
    let mut optional = Vec::new();
    let properties = members.entry("properties").or_insert_with(|| json!({}));
    for (name, field) in properties.as_object_mut().into_iter().flatten() {
        if let Value::Object(field) = field
            && self::field(field, &root)
        {
            optional.push(name.clone());
        }
    }
    if let Some(Value::Array(required)) = members.get_mut("required") {
        required.retain(|name| optional.iter().all(|optional| name != optional));
    } else {
        members.shift_remove("required");
    }
    for definitions in ["$defs", "definitions"] {
        members.shift_remove(definitions);
    }
}

/// Rewrites one field. Returns whether the field admits `null`.
fn field(field: &mut JsonObject, root: &Value) -> bool {
    let mut is_nullable = false;
    for _ in 0..REFERENCES {
        let reference = field.shift_remove("$ref");
        let target = reference.as_ref().and_then(Value::as_str);
        if let Some(target) = target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
            merge(field, target.clone());
            continue;
        }
        let Some(only) = only_branch(field, &mut is_nullable) else {
            break;
        };
        merge(field, only);
    }
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        let before = kinds.len();
        kinds.retain(|kind| kind != "null");
        is_nullable |= kinds.len() < before;
        if let [kind] = &**kinds {
            let kind = kind.clone();
            field.insert("type".to_owned(), kind);
        }
    }
    choices(field);
    let default = field.get("default");
    let fits = default.is_none_or(|default| match field.get("type").and_then(Value::as_str) {
        Some("string") => default.is_string(),
        Some("number" | "integer") => default.is_number(),
        Some("boolean") => default.is_boolean(),
        Some("array") => default.is_array(),
        _ => true,
    });
    if !fits {
        field.shift_remove("default");
    }
    is_nullable
}

/// Adds the members of `schema` that the field does not have.
fn merge(field: &mut JsonObject, schema: Value) {
    if let Value::Object(schema) = schema {
        for (keyword, value) in schema {
            field.entry(keyword).or_insert(value);
        }
    }
}

/// Removes the branch `null` from the union of a field. Sets `is_nullable` if there was such a branch. If exactly one branch is
/// left, removes the union and returns this branch.
fn only_branch(field: &mut JsonObject, is_nullable: &mut bool) -> Option<Value> {
    for union in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(branches)) = field.get_mut(union) else {
            continue;
        };
        let before = branches.len();
        branches.retain(|branch| branch["type"] != "null");
        *is_nullable |= branches.len() < before;
        if let [only] = &mut **branches {
            let only = only.take();
            field.shift_remove(union);
            return Some(only);
        }
    }
    None
}

/// Rewrites a field that describes choices, so that it has the `type` and keywords that the specification requires.
fn choices(field: &mut JsonObject) {
    if let Some(value) = field.shift_remove("const") {
        field.entry("enum").or_insert_with(|| json!([value]));
    }
    let is_titled = |branches: &Value| {
        let branches = branches.as_array();
        branches.is_some_and(|all| all.iter().all(|branch| branch["const"].is_string()))
    };
    if field.get("anyOf").is_some_and(is_titled)
        && let Some(branches) = field.shift_remove("anyOf")
    {
        field.insert("oneOf".to_owned(), branches);
    }
    if let Some(Value::Array(branches)) = field.get_mut("oneOf") {
        for branch in branches {
            if branch.get("title").is_none() && branch["const"].is_string() {
                branch["title"] = branch["const"].clone();
            }
        }
    }
    if field.contains_key("type") {
        return;
    }
    let values = field.get("enum").and_then(Value::as_array);
    let kind = match values.map(Vec::as_slice) {
        Some(values) if values.iter().all(Value::is_string) => "string",
        Some(values) if values.iter().all(Value::is_i64) => "integer",
        Some(values) if values.iter().all(Value::is_number) => "number",
        None if field.get("oneOf").is_some_and(is_titled) => "string",
        _ => return,
    };
    field.insert("type".to_owned(), kind.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_field_that_may_be_null_is_optional() {
        let mut form = json!({
            "properties": { "a": { "type": ["string", "null"] }, "b": { "type": ["string"] } },
            "required": ["a", "b"]
        });
        repair(&mut form);
        assert_eq!(form["required"], json!(["b"]));
    }

    #[test]
    fn a_form_without_fields_gets_an_empty_list_of_fields() {
        for mut form in [json!({ "type": "object" }), json!({})] {
            repair(&mut form);
            assert_eq!(form, json!({ "type": "object", "properties": {} }));
        }
    }

    #[test]
    fn a_default_of_another_type_is_dropped() {
        for (kind, valid, other) in [
            ("string", json!("a"), json!(1)),
            ("number", json!(1.5), json!("1.5")),
            ("integer", json!(1), json!(true)),
            ("boolean", json!(true), json!("true")),
            ("array", json!(["a"]), json!("a")),
        ] {
            let repaired = |default: &Value| {
                let field = json!({ "type": kind, "default": default });
                let mut form = json!({ "properties": { "a": field } });
                repair(&mut form);
                form["properties"]["a"].get("default").cloned()
            };
            assert_eq!(repaired(&valid), Some(valid));
            assert_eq!(repaired(&other), None, "{kind}");
        }
    }

    #[test]
    fn a_choice_without_a_type_gets_the_type_of_its_values() {
        for (values, expected) in [
            (json!(["a", "b"]), json!("string")),
            (json!([1, 2]), json!("integer")),
            (json!([1, 2.5]), json!("number")),
            (json!(["a", 1]), Value::Null),
        ] {
            let mut form = json!({ "properties": { "a": { "enum": values } } });
            repair(&mut form);
            assert_eq!(form["properties"]["a"]["type"], expected, "{form}");
        }
    }
}
