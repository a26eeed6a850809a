//! Removes the parts of input schemas that a model API rejects, and limits the work for this.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::valid::{Content, content, walk};

/// Maximum number of removed keywords that are reported for a server.
const MAX_DROPPED: usize = 1_000;
/// Maximum length of a reported JSON pointer, in bytes.
const MAX_POINTER: usize = 1_024;
/// Maximum nesting depth of schemas.
pub(super) const MAX_DEPTH: usize = 32;

/// Maximum length of a property name that Anthropic accepts, in bytes.
const MAX_NAME: usize = 64;

/// Maximum additional work for one tool, in units of [`weight`]. Work that is proportional to the size of the schema is always
/// allowed; further work is additional. References and branches cause additional work: they can copy a part of the schema many
/// times.
const MAX_TOOL_WORK: usize = 100_000;
/// Maximum additional work for all tools of a server.
const MAX_SERVER_WORK: usize = 400_000;
/// Maximum additional work for one list of tools. Each server has an equal share.
const MAX_LIST_WORK: usize = 3_200_000;
/// Additional work that is always allowed for one tool, even if its server has reached the limit.
const MIN_TOOL_WORK: usize = 1_000;
/// The work for one schema, without the work for its keywords.
const SCHEMA_WORK: usize = 16;
/// The work for one value or name, in addition to the bytes of its text.
const VALUE_WORK: usize = 4;

/// The additional work for the tools of one list so far.
#[derive(Debug)]
pub(in crate::model) struct ListWork<'a> {
    max_of_server: usize,
    servers: HashMap<&'a str, ServerWork>,
}

/// The additional work for the tools of a server so far, and the number of reported keywords.
#[derive(Debug, Default)]
struct ServerWork {
    work: usize,
    dropped: usize,
}

impl<'a> ListWork<'a> {
    /// Starts the conversion of a list. `servers` are the servers of its tools; a server can be repeated.
    pub(in crate::model) fn new(servers: impl Iterator<Item = &'a str>) -> Self {
        let servers: HashMap<_, _> = servers
            .map(|server| (server, ServerWork::default()))
            .collect();
        let share = MAX_LIST_WORK / servers.len().max(1);
        Self {
            max_of_server: share.min(MAX_SERVER_WORK),
            servers,
        }
    }

    /// Starts the conversion of a tool's input schema.
    pub(in crate::model) fn start(
        &mut self,
        server: &'a str,
        schema: &Map<String, Value>,
    ) -> SchemaConversion {
        let of_server = self.servers.entry(server).or_default();
        let left = self.max_of_server.saturating_sub(of_server.work);
        let mut conversion = SchemaConversion::new(schema, MAX_DROPPED - of_server.dropped);
        let additional = left.clamp(MIN_TOOL_WORK, MAX_TOOL_WORK);
        conversion.left = conversion.left.saturating_add(additional);
        conversion.max = conversion.left;
        conversion
    }

    /// Counts the work of a conversion. Returns the pointers to the keywords that the conversion has removed.
    pub(in crate::model) fn finish(
        &mut self,
        server: &'a str,
        conversion: SchemaConversion,
    ) -> Vec<String> {
        let work = conversion.additional_work();
        let of_server = self.servers.entry(server).or_default();
        of_server.work = of_server.work.saturating_add(work);
        of_server.dropped += conversion.dropped.len();
        conversion.dropped
    }
}

/// The conversion of one schema, and the keywords that it has removed so far.
pub(in crate::model) struct SchemaConversion {
    /// The whole schema, in which references are looked up. It is in an `Arc`, so that a function can read the schema and change
    /// the other fields at the same time.
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
    fn new(schema: &Map<String, Value>, max_dropped: usize) -> Self {
        let mut conversion = Self {
            root: Arc::new(Value::Null),
            dropped: Vec::new(),
            max_dropped,
            left: 0,
            own: 0,
            max: 0,
        };
        let mut members = schema.clone();
        conversion.remove_invalid(&mut members, "");
        // Twice the weight, because each part of a schema can be merged into another schema and is then converted. A schema
        // without references needs less work.
        let own = schema_weight(&members).saturating_mul(2);
        (conversion.left, conversion.own, conversion.max) = (own, own, own);
        conversion.root = Arc::new(Value::Object(members));
        conversion
    }

    /// Reports that the keyword at a pointer was removed. Reports nothing if the pointer is too long, or if the number of reports
    /// has reached the limit.
    pub(super) fn drop_keyword(&mut self, pointer: &str, keyword: &str) {
        if self.dropped.len() < self.max_dropped && pointer.len() + keyword.len() <= MAX_POINTER {
            self.dropped.push(child(pointer, keyword));
        }
    }

    /// Counts work. Returns `false`, and counts nothing, if the work exceeds the work that is still allowed.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        let is_allowed = work <= self.left;
        if is_allowed {
            self.left -= work;
        }
        is_allowed
    }

    /// Counts the work for a schema with this name.
    pub(super) fn spend_schema(&mut self, name: &str) -> bool {
        self.spend(SCHEMA_WORK + name.len())
    }

    /// Counts the work for a value without schemas, which is copied or compared.
    pub(super) fn spend_value(&mut self, value: &Value) -> bool {
        self.spend(weight(value, self.left))
    }

    /// Adds names to the required names of an object. Returns `false`, and adds nothing, if the work for the names exceeds the
    /// limit.
    pub(super) fn require(&mut self, required: &mut Vec<Value>, more: &[Value]) -> bool {
        let is_allowed =
            self.spend(required.len()) && more.iter().all(|name| self.spend_value(name));
        if is_allowed {
            let known: HashSet<&str> = required.iter().filter_map(Value::as_str).collect();
            let mut names: Vec<&str> = more.iter().filter_map(Value::as_str).collect();
            names.retain(|name| !known.contains(name));
            // `more` contains each name only once: `remove_invalid` has removed repeated names.
            required.extend(names.into_iter().map(Value::from));
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

    /// Removes references to parts that the converted schema does not contain. The conversion can move or remove the target of a
    /// reference.
    pub(in crate::model) fn without_broken_references(&mut self, mut schema: Value) -> Value {
        let root = schema.clone();
        if let Value::Object(members) = &mut schema {
            walk(members, "", &mut |members, pointer| {
                for keyword in ["$ref", "$dynamicRef"] {
                    let reference = members.get(keyword).and_then(Value::as_str);
                    if reference.is_some_and(|reference| target(&root, reference).is_none()) {
                        members.shift_remove(keyword);
                        self.drop_keyword(pointer, keyword);
                    }
                }
            });
        }
        schema
    }

    /// Removes properties whose names Anthropic rejects.
    pub(in crate::model) fn with_short_names(&mut self, mut schema: Value) -> Value {
        let is_accepted = |name: &str| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_allowed)
        };
        if let Value::Object(members) = &mut schema {
            self.retain_properties(members, "", is_accepted);
        }
        schema
    }

    /// Removes properties for whose names `is_accepted` returns `false`.
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

/// Rewrites a schema of an earlier dialect for JSON Schema 2020-12, which writes tuples as `prefixItems`, and `dependencies` as
/// two keywords. With `has_items`, adds `items` to every array that does not have it.
pub(in crate::model) fn rewrite(mut schema: Map<String, Value>, has_items: bool) -> Value {
    walk(&mut schema, "", &mut |members, _| {
        // All references are relative to the whole schema.
        for keyword in ["$schema", "$id", "$vocabulary"] {
            members.shift_remove(keyword);
        }
        if let Some(Value::Array(_)) = members.get("items") {
            if let Some(tuple) = members.shift_remove("items") {
                members.entry("prefixItems").or_insert(tuple);
            }
            if let Some(rest) = members.shift_remove("additionalItems") {
                members.insert("items".to_owned(), rest);
            }
        }
        if let Some(Value::Object(dependencies)) = members.shift_remove("dependencies") {
            let (names, schemas): (Map<_, _>, Map<_, _>) = dependencies
                .into_iter()
                .partition(|(_, value)| value.is_array());
            for (keyword, more) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
                if more.is_empty() {
                    continue;
                }
                if let Value::Object(known) = members.entry(keyword).or_insert_with(|| json!({})) {
                    for (name, dependency) in more {
                        known.entry(name).or_insert(dependency);
                    }
                }
            }
        }
        let is_array = match members.get("type") {
            Some(Value::Array(types)) => types.iter().any(|name| name == "array"),
            name => name.is_some_and(|name| name == "array"),
        };
        if has_items && is_array && !members.contains_key("items") {
            members.insert("items".to_owned(), json!({}));
        }
    });
    schema.into()
}

/// Returns the weight of a value: a measure of the work to copy or compare the value, and approximately the length of its JSON
/// text. Stops counting above `max`.
fn weight(value: &Value, max: usize) -> usize {
    let mut total = VALUE_WORK;
    match value {
        Value::String(value) => total += value.len(),
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
                total = total.saturating_add(VALUE_WORK + name.len());
                total = total.saturating_add(weight(value, max.saturating_sub(total)));
            }
        }
        _ => {}
    }
    total
}

/// Returns the weight of a schema, with the work for each schema in it.
fn schema_weight(members: &Map<String, Value>) -> usize {
    let of_schema = |schema: &Value| match schema {
        Value::Object(members) => schema_weight(members),
        other => SCHEMA_WORK + weight(other, usize::MAX),
    };
    let weights = members.iter().map(|(keyword, value)| {
        let value = match (content(keyword, value), value) {
            (Some(Content::Schemas), Value::Array(schemas)) => schemas
                .iter()
                .map(|schema| VALUE_WORK + of_schema(schema))
                .sum(),
            (Some(Content::Schemas), schema) => of_schema(schema),
            (Some(Content::Named), Value::Object(schemas)) => {
                let schemas = schemas.iter();
                let weights =
                    schemas.map(|(name, schema)| VALUE_WORK + name.len() + of_schema(schema));
                weights.sum()
            }
            _ => weight(value, usize::MAX),
        };
        2 * VALUE_WORK + keyword.len() + value
    });
    SCHEMA_WORK + VALUE_WORK + weights.sum::<usize>()
}

/// Returns the pointer to the member `name` of the object at `pointer`. If the pointer would exceed `MAX_POINTER`, returns a
/// placeholder that is also too long, so that keywords with this pointer are not reported.
pub(super) fn child(pointer: &str, name: &str) -> String {
    if pointer.len() + name.len() > MAX_POINTER {
        return "x".repeat(MAX_POINTER + 1);
    }
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the target of a reference within a schema. Names of `$anchor` are not looked up.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?);
    root.pointer(&pointer.decode_utf8().ok()?)
}

/// Returns the schema as an object with `properties`. Merges the properties of a reference and of the branches of `allOf`,
/// `anyOf` and `oneOf` at the root into this object.
pub(in crate::model) fn flat_object(narrowing: &mut SchemaConversion) -> Map<String, Value> {
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

/// Adds the properties of a branch. If the branch always applies, `required` is not `None`, and the required names of the branch
/// are added too. Returns whether the branch contains nothing else.
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
        let mut narrowing =
            ListWork::new(["s"].into_iter()).start("s", schema.as_object().unwrap());
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
        let members = schema.as_object().unwrap();
        let mut conversion = ListWork::new(["s"].into_iter()).start("s", members);
        let expected = json!({
            "type": "object",
            "properties": {
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } },
                "lost": { "description": "a" }, "kept": { "$ref": "#/definitions/a" }
            },
            "definitions": { "a": { "type": "array", "items": {} } }
        });
        let rewritten = rewrite(members.clone(), true);
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
