//! Input schemas without the parts that a model API rejects.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

/// Maximum number of reported keywords of a server, and maximum length of a pointer in bytes.
const MAX_DROPPED: usize = 1_000;
const MAX_POINTER: usize = 1_024;
/// What child schemas are reported as if their pointer is too long. It is not reported.
const LONG_POINTER: &str = const_str(&[b'x'; MAX_POINTER + 1]);
/// Maximum number of levels of schemas.
pub(super) const MAX_DEPTH: usize = 32;

/// Longest name of a property for Anthropic.
const MAX_NAME: usize = 64;

/// Maximum work for one tool, for all tools of a server and for one list, in addition to work that is proportional to the size of the
/// schema. See [`weight`]. A reference can multiply the size of its target, and so can a branch at the top.
const MAX_TOOL_WORK: usize = 10_000;
const MAX_SERVER_WORK: usize = 50_000;
const MAX_LIST_WORK: usize = 400_000;
/// Maximum additional work for one tool after the server or the list has reached its limit.
const MIN_TOOL_WORK: usize = 200;
/// The work for one schema, in addition to its keywords.
const SCHEMA_WORK: usize = 8;
/// Number of bytes of a text with the weight 1.
const BYTES_PER_UNIT: usize = 16;

const fn const_str(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// The work for the tools of one list so far.
#[derive(Debug, Default)]
pub(super) struct ListWork<'a> {
    total: usize,
    servers: HashMap<&'a str, ServerWork>,
}

/// The work for the tools of a server so far, and the number of reported keywords.
#[derive(Debug, Default)]
struct ServerWork {
    work: usize,
    dropped: usize,
}

impl<'a> ListWork<'a> {
    /// Starts the conversion of the schema of the arguments of a tool.
    pub(super) fn start(
        &mut self,
        server: &'a str,
        schema: &Map<String, Value>,
    ) -> SchemaConversion {
        let of_server = self.servers.entry(server).or_default();
        let left = MAX_SERVER_WORK
            .saturating_sub(of_server.work)
            .min(MAX_LIST_WORK.saturating_sub(self.total));
        let mut conversion = SchemaConversion::new(schema);
        let additional = left.clamp(MIN_TOOL_WORK, MAX_TOOL_WORK);
        conversion.left = conversion.left.saturating_add(additional);
        conversion.max = conversion.left;
        conversion.max_dropped = MAX_DROPPED - of_server.dropped;
        conversion
    }

    /// Counts the work of a conversion. Returns the pointers of the keywords that it has removed.
    pub(super) fn finish(&mut self, server: &'a str, conversion: SchemaConversion) -> Vec<String> {
        let work = conversion.additional_work();
        let of_server = self.servers.entry(server).or_default();
        of_server.work = of_server.work.saturating_add(work);
        of_server.dropped += conversion.dropped.len();
        self.total = self.total.saturating_add(work);
        conversion.dropped
    }
}

/// The conversion of one schema, and the keywords that it has removed so far.
pub(super) struct SchemaConversion {
    /// Shared, because a conversion reads targets of references while it is changed.
    root: Arc<Value>,
    dropped: Vec<String>,
    max_dropped: usize,
    /// The work that is still allowed.
    left: usize,
    /// The part of the work that is proportional to the size of the schema.
    own: usize,
    max: usize,
}

impl SchemaConversion {
    fn new(schema: &Map<String, Value>) -> Self {
        let root = Value::Object(schema.clone());
        // A schema without references needs less than this.
        let own = weight(&root, usize::MAX).saturating_mul(SCHEMA_WORK);
        Self {
            root: Arc::new(root),
            dropped: Vec::new(),
            max_dropped: MAX_DROPPED,
            left: own,
            own,
            max: own,
        }
    }

    /// Reports the keyword at a pointer, unless the pointer is too long or many were reported.
    pub(super) fn drop_keyword(&mut self, pointer: &str, keyword: &str) {
        if self.dropped.len() < self.max_dropped && pointer.len() + keyword.len() <= MAX_POINTER {
            self.dropped.push(child(pointer, keyword));
        }
    }

    /// Counts work. Returns `false` if it is more than is still allowed; nothing is then counted.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        let is_allowed = work <= self.left;
        if is_allowed {
            self.left -= work;
        }
        is_allowed
    }

    /// Counts the work for a schema with this name.
    pub(super) fn spend_schema(&mut self, name: &str) -> bool {
        self.spend(SCHEMA_WORK + name.len() / BYTES_PER_UNIT)
    }

    /// Counts the work for a value without schemas, which is copied or compared.
    pub(super) fn spend_value(&mut self, value: &Value) -> bool {
        self.spend(weight(value, self.left))
    }

    /// Adds names to the required names of an object. Returns `false` if they are too many.
    pub(super) fn require(&mut self, required: &mut Vec<Value>, more: &[Value]) -> bool {
        let is_allowed = self.spend(more.len() * (1 + required.len() / 16))
            && more.iter().all(|name| self.spend_value(name));
        if is_allowed {
            for name in more {
                if !required.contains(name) {
                    required.push(name.clone());
                }
            }
        }
        is_allowed
    }

    fn additional_work(&self) -> usize {
        (self.max - self.left).saturating_sub(self.own)
    }

    /// Returns the whole schema.
    pub(super) fn root(&self) -> Arc<Value> {
        Arc::clone(&self.root)
    }

    /// Removes references without a target in the converted schema. The conversion moves and removes parts, so a target may be gone.
    pub(super) fn without_broken_references(&mut self, mut schema: Value) -> Value {
        self.root = Arc::new(schema.clone());
        self.remove_broken_references(&mut schema, "");
        schema
    }

    fn remove_broken_references(&mut self, value: &mut Value, pointer: &str) {
        match value {
            Value::Array(values) => {
                for value in values {
                    self.remove_broken_references(value, pointer);
                }
            }
            Value::Object(members) => {
                let reference = members.get("$ref").and_then(Value::as_str);
                if reference.is_some_and(|reference| target(&self.root, reference).is_none()) {
                    members.shift_remove("$ref");
                    self.drop_keyword(pointer, "$ref");
                }
                let schemas = members.iter_mut().filter(|(name, _)| {
                    !["enum", "const", "default", "examples"].contains(&name.as_str())
                });
                for (name, value) in schemas {
                    self.remove_broken_references(value, &child(pointer, name));
                }
            }
            _ => {}
        }
    }

    /// Rewrites a schema of an earlier dialect for 2020-12, which has other tuples. With `has_items`, every array gets `items`.
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

/// Returns the weight of a value: the number of its values and names, where long texts count more than once. Stops above `max`.
fn weight(value: &Value, max: usize) -> usize {
    let text = |text: &str| 1 + text.len() / BYTES_PER_UNIT;
    let mut total: usize = 1;
    match value {
        Value::String(value) => total = text(value),
        Value::Array(values) => {
            for value in values {
                if total > max {
                    break;
                }
                total = total.saturating_add(weight(value, max - total));
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                if total > max {
                    break;
                }
                total = total.saturating_add(text(name));
                total = total.saturating_add(weight(value, max.saturating_sub(total)));
            }
        }
        _ => {}
    }
    total
}

/// Returns the pointer of a member.
pub(super) fn child(pointer: &str, name: &str) -> String {
    if pointer.len() + name.len() > MAX_POINTER {
        return LONG_POINTER.to_owned();
    }
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the target of a reference within a schema.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Returns the schema as an object with `properties`, without alternatives at the top.
pub(super) fn flat_object(narrowing: &mut SchemaConversion) -> Map<String, Value> {
    let Value::Object(mut root) = Value::clone(&narrowing.root) else {
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
    conversion: &mut SchemaConversion,
    branch: &Value,
    properties: &mut Map<String, Value>,
    mut required: Option<&mut Vec<Value>>,
    depth: usize,
) -> bool {
    let Value::Object(branch) = branch else {
        return *branch == Value::Bool(true);
    };
    if !conversion.spend(SCHEMA_WORK + branch.len()) {
        return false;
    }
    let mut is_complete = true;
    for (keyword, value) in branch {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                let root = conversion.root();
                match target(&root, reference) {
                    Some(target) if depth < MAX_DEPTH => {
                        let required = required.as_deref_mut();
                        is_complete &= merge(conversion, target, properties, required, depth + 1);
                    }
                    _ => is_complete = false,
                }
            }
            ("properties", Value::Object(more)) => {
                for (name, schema) in more {
                    is_complete &= conversion.spend_schema(name)
                        && conversion.spend_value(schema)
                        && properties
                            .entry(name.as_str())
                            .or_insert_with(|| schema.clone())
                            == schema;
                }
            }
            ("required", Value::Array(more)) => match &mut required {
                Some(required) => is_complete &= conversion.require(required, more),
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
        (flat.into(), narrowing.dropped)
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
        let rewritten = conversion.rewrite(schema, "", true);
        assert_eq!(conversion.without_broken_references(rewritten), expected);
        assert_eq!(conversion.dropped, ["/properties/lost/$ref"]);
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
