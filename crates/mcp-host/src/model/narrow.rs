//! Input schemas without the parts that a model API rejects.

use serde_json::{Map, Value, json};

/// Maximum number of reported keywords of a tool, and maximum length of a reported pointer in bytes.
const MAX_DROPPED: usize = 1_000;
const MAX_POINTER: usize = 1_024;
/// Maximum number of schemas that replace references, and maximum number of levels of such schemas.
pub(super) const MAX_SCHEMAS: usize = 5_000;
pub(super) const MAX_DEPTH: usize = 32;

/// Longest name of a property for Anthropic.
const MAX_NAME: usize = 64;

/// The conversion of one schema, and the keywords that it has removed so far.
pub(super) struct SchemaConversion {
    root: Value,
    dropped: Vec<String>,
    /// Number of schemas that have replaced references so far.
    pub(super) schemas: usize,
}

impl SchemaConversion {
    pub(super) fn new(schema: &Map<String, Value>) -> Self {
        Self {
            root: Value::Object(schema.clone()),
            dropped: Vec::new(),
            schemas: 0,
        }
    }

    /// Reports the keyword at a pointer, unless the pointer is too long or many were reported.
    pub(super) fn drop_keyword(&mut self, pointer: &str, keyword: &str) {
        if self.dropped.len() < MAX_DROPPED && pointer.len() + keyword.len() <= MAX_POINTER {
            self.dropped.push(child(pointer, keyword));
        }
    }

    pub(super) fn into_dropped(self) -> Vec<String> {
        self.dropped
    }

    /// Returns the target of a reference within the schema.
    pub(super) fn target(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// Rewrites a schema of an earlier dialect for 2020-12: tuples, and references without a target. With `has_items`, every array gets
    /// `items`.
    pub(super) fn rewrite(&mut self, mut schema: Value, pointer: &str, has_items: bool) -> Value {
        let Value::Object(members) = &mut schema else {
            return schema;
        };
        members.shift_remove("$schema");
        if let Some(Value::Array(_)) = members.get("items") {
            if let Some(tuple) = members.shift_remove("items") {
                members.insert("prefixItems".to_owned(), tuple);
            }
            if let Some(rest) = members.shift_remove("additionalItems") {
                members.insert("items".to_owned(), rest);
            }
        }
        let is_broken = |reference: &str| self.target(reference).is_none();
        if members
            .get("$ref")
            .and_then(Value::as_str)
            .is_some_and(is_broken)
        {
            members.shift_remove("$ref");
            self.drop_keyword(pointer, "$ref");
        }
        let is_array = match members.get("type") {
            Some(Value::Array(types)) => types.iter().any(|name| name == "array"),
            name => name.is_some_and(|name| name == "array"),
        };
        if has_items && is_array && !members.contains_key("items") {
            members.insert("items".to_owned(), json!({}));
        }
        for (keyword, value) in members.iter_mut() {
            let at = child(pointer, keyword);
            match (keyword.as_str(), value) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    for (name, schema) in schemas.iter_mut() {
                        *schema = self.rewrite(schema.take(), &child(&at, name), has_items);
                    }
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                    for schema in schemas.iter_mut() {
                        *schema = self.rewrite(schema.take(), &at, has_items);
                    }
                }
                (
                    "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains",
                    schema,
                ) => {
                    *schema = self.rewrite(schema.take(), &at, has_items);
                }
                _ => {}
            }
        }
        schema
    }

    /// Removes properties with names that Anthropic rejects.
    pub(super) fn with_short_names(&mut self, mut schema: Value) -> Value {
        let is_accepted = |name: &str| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_allowed)
        };
        if let Value::Object(members) = &mut schema {
            self.retain_properties(members, "", is_accepted);
        }
        schema
    }

    /// Removes properties whose names are not accepted.
    pub(super) fn retain_properties(
        &mut self,
        schema: &mut Map<String, Value>,
        pointer: &str,
        is_accepted: impl Fn(&str) -> bool,
    ) {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let pointer = child(pointer, "properties");
            properties.retain(|name, _| {
                let is_accepted = is_accepted(name);
                if !is_accepted {
                    self.drop_keyword(&pointer, name);
                }
                is_accepted
            });
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name.as_str().is_some_and(&is_accepted));
        }
    }
}

/// Returns the pointer of a member.
pub(super) fn child(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the schema as an object with `properties`, without alternatives at the top.
pub(super) fn flat_object(narrowing: &mut SchemaConversion) -> Map<String, Value> {
    let Value::Object(mut root) = narrowing.root.clone() else {
        return Map::new();
    };
    let mut properties = match root.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut required = match root.shift_remove("required") {
        Some(Value::Array(required)) => required,
        _ => Vec::new(),
    };
    for keyword in ["$ref", "allOf", "anyOf", "oneOf"] {
        let branches = match root.shift_remove(keyword) {
            None => continue,
            Some(Value::Array(branches)) => branches,
            Some(reference) => vec![json!({ "$ref": reference })],
        };
        let is_exact = matches!(keyword, "$ref" | "allOf");
        let mut is_complete = is_exact;
        for branch in &branches {
            is_complete &= merge(
                narrowing,
                branch,
                &mut properties,
                is_exact.then_some(&mut required),
                0,
            );
        }
        if !is_complete {
            narrowing.drop_keyword("", keyword);
        }
    }
    for keyword in ["enum", "const", "not", "if", "then", "else"] {
        if root.shift_remove(keyword).is_some() {
            narrowing.drop_keyword("", keyword);
        }
    }
    root.insert("type".to_owned(), "object".into());
    root.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        root.insert("required".to_owned(), required.into());
    }
    root
}

/// Adds the properties of a branch, and its required names if the branch always applies. Returns whether the branch contains
/// nothing else.
fn merge(
    narrowing: &SchemaConversion,
    branch: &Value,
    properties: &mut Map<String, Value>,
    mut required: Option<&mut Vec<Value>>,
    depth: usize,
) -> bool {
    let Value::Object(branch) = branch else {
        return *branch == Value::Bool(true);
    };
    let mut is_complete = true;
    for (keyword, value) in branch {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) => match narrowing.target(reference) {
                Some(target) if depth < MAX_DEPTH => {
                    let required = required.as_deref_mut();
                    is_complete &= merge(narrowing, target, properties, required, depth + 1);
                }
                _ => is_complete = false,
            },
            ("properties", Value::Object(more)) => {
                for (name, schema) in more {
                    let known = properties
                        .entry(name.clone())
                        .or_insert_with(|| schema.clone());
                    is_complete &= known == schema;
                }
            }
            ("required", Value::Array(more)) => match &mut required {
                Some(required) => {
                    let new = more.iter().filter(|name| !required.contains(name));
                    let new: Vec<Value> = new.cloned().collect();
                    required.extend(new);
                }
                None => is_complete = false,
            },
            ("type" | "title" | "description" | "$defs" | "$schema" | "$id", _) => {}
            _ => is_complete = false,
        }
    }
    is_complete
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(schema: &Value) -> (Value, Vec<String>) {
        let mut narrowing = SchemaConversion::new(schema.as_object().unwrap());
        let flat = flat_object(&mut narrowing);
        (flat.into(), narrowing.into_dropped())
    }

    #[test]
    fn alternatives_at_the_top_become_optional_properties() {
        let (schema, dropped) = flat(&json!({
            "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"],
            "allOf": [{ "properties": { "all": {} }, "required": ["all"] }, { "$ref": "#/$defs/more" }],
            "anyOf": [{ "required": ["id"] }, { "properties": { "name": {} }, "required": ["name"] }],
            "$defs": { "more": { "properties": { "more": {} } } }
        }));
        assert_eq!(schema["required"], json!(["id", "all"]));
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["id", "all", "more", "name"]);
        assert!(schema.get("anyOf").is_none() && schema.get("allOf").is_none());
        assert_eq!(dropped, ["/anyOf"]);
    }

    #[test]
    fn tuples_of_earlier_dialects_are_rewritten_and_references_without_target_are_removed() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {
                "pair": { "type": "array", "items": [{ "type": "string" }], "additionalItems": { "type": "integer" } },
                "lost": { "$ref": "#/definitions/none", "description": "a" }, "kept": { "$ref": "#/definitions/a" }
            },
            "definitions": { "a": { "type": "array" } }
        });
        let mut conversion = SchemaConversion::new(schema.as_object().unwrap());
        let expected = json!({
            "type": "object",
            "properties": {
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } },
                "lost": { "description": "a" }, "kept": { "$ref": "#/definitions/a" }
            },
            "definitions": { "a": { "type": "array", "items": {} } }
        });
        assert_eq!(conversion.rewrite(schema, "", true), expected);
        assert_eq!(conversion.into_dropped(), ["/properties/lost/$ref"]);
    }

    #[test]
    fn circular_references_at_the_top_level_do_not_loop() {
        let (schema, dropped) =
            flat(&json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }));
        assert_eq!(
            (&schema["type"], dropped),
            (&json!("object"), vec!["/$ref".to_owned()])
        );
    }
}
