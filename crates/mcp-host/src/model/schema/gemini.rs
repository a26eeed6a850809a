//! Converts schemas for Gemini, whose API accepts only a part of OpenAPI 3.0 (its type `Schema`).

use serde_json::{Map, Value, json};

use super::narrow::{MAX_DEPTH, SchemaConversion, child, target};

/// Keywords that are passed on to the API.
const KNOWN: &[&str] = &[
    "title",
    "description",
    "default",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "nullable",
];

/// Keywords that are removed without a report, because they do not restrict values or their content is inserted elsewhere.
const UNREPORTED: &[&str] = &[
    "$ref",
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "examples",
    "deprecated",
    "readOnly",
];

/// Values of `format` that the API accepts.
const FORMATS: &[&str] = &["date-time", "enum", "float", "double", "int32", "int64"];

/// Converts an input schema: removes or replaces the keywords that the API does not support.
pub(in crate::model) fn schema(
    conversion: &mut SchemaConversion,
    schema: Map<String, Value>,
) -> Value {
    let references = Vec::new();
    let mut converter = Converter {
        conversion,
        references,
    };
    let converted = converter.convert(&schema.into(), ("", "", 0));
    converted.unwrap_or_else(|| json!({}))
}

/// The location of a schema. The first text is the pointer to the keyword or object that contains the schema. The second text is
/// the name of the schema in this object, or empty. The number is the depth of the schema.
type Location<'a> = (&'a str, &'a str, usize);

struct Converter<'a> {
    conversion: &'a mut SchemaConversion,
    /// The references that are being replaced.
    references: Vec<String>,
}

impl Converter<'_> {
    /// Converts a schema. Returns `None` if the schema is nested too deeply, or if the conversion would need too much work.
    fn convert(&mut self, schema: &Value, (parent, name, depth): Location<'_>) -> Option<Value> {
        if !self.conversion.spend_schema(name) || depth > MAX_DEPTH {
            self.conversion.drop_keyword(parent, name);
            return None;
        }
        let pointer = match name {
            "" => parent.to_owned(),
            name => child(parent, name),
        };
        let Value::Object(schema) = schema else {
            return Some(json!({}));
        };
        let mut narrowed = match schema.get("$ref") {
            Some(Value::String(reference)) => self.referenced(reference, &pointer, depth),
            _ => Map::new(),
        };
        // Adds the keywords in the order of the schema, so that the pointers to removed keywords have the same order.
        for (keyword, value) in schema {
            self.add(&mut narrowed, (keyword, value), &pointer, depth);
        }
        complete(&mut narrowed);
        // The API accepts `enum` only for the type `STRING`.
        if narrowed.get("type").is_some_and(|name| name != "STRING")
            && narrowed.shift_remove("enum").is_some()
        {
            self.conversion.drop_keyword(&pointer, "enum");
        }
        self.conversion
            .retain_properties(&mut narrowed, &pointer, is_accepted);
        if (narrowed.get("properties").and_then(Value::as_object)).is_some_and(Map::is_empty) {
            narrowed.shift_remove("properties");
        }
        require_known(&mut narrowed);
        Some(narrowed.into())
    }

    /// Returns the converted schema to which `$ref` refers. Returns an empty schema if the reference has no target. Also returns
    /// an empty schema for a recursive reference, because its replacement would never end.
    fn referenced(&mut self, reference: &str, pointer: &str, depth: usize) -> Map<String, Value> {
        let is_open = self.references.iter().any(|open| open == reference);
        let root = self.conversion.root();
        let Some(target) = target(&root, reference).filter(|_| !is_open) else {
            self.conversion.drop_keyword(pointer, "$ref");
            return Map::new();
        };
        self.references.push(reference.to_owned());
        let target = self.convert(target, (pointer, "", depth + 1));
        self.references.pop();
        match target {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }

    /// Counts the work for a keyword, without the work for the schemas in its value. Returns `false` if the work exceeds the
    /// limit.
    fn affords(&mut self, keyword: &str, value: &Value) -> bool {
        match (keyword, value) {
            ("properties" | "items" | "$defs" | "definitions", _) => self.conversion.spend(1),
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                self.conversion.spend(1 + branches.len())
            }
            _ => self.conversion.spend_value(value),
        }
    }

    /// Adds one keyword of the schema at `pointer`.
    fn add(
        &mut self,
        narrowed: &mut Map<String, Value>,
        (keyword, value): (&str, &Value),
        pointer: &str,
        depth: usize,
    ) {
        if !self.affords(keyword, value) {
            self.conversion.drop_keyword(pointer, keyword);
            return;
        }
        match (keyword, value) {
            ("type", value) => self.set_type(narrowed, value, pointer),
            ("properties", Value::Object(properties)) => {
                let at = child(pointer, keyword);
                let properties = properties.iter().filter_map(|(name, schema)| {
                    let schema = self.convert(schema, (&at, name, depth + 1))?;
                    Some((name.clone(), schema))
                });
                let properties: Map<_, _> = properties.collect();
                self.put(narrowed, keyword, properties.into(), pointer);
            }
            ("items", Value::Object(_)) => {
                if let Some(items) = self.convert(value, (pointer, keyword, depth + 1)) {
                    self.put(narrowed, keyword, items, pointer);
                }
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                self.add_branches(narrowed, (keyword, branches), pointer, depth);
            }
            ("allOf", Value::Array(branches)) => {
                let at = child(pointer, keyword);
                for branch in branches {
                    if let Some(Value::Object(more)) = self.convert(branch, (&at, "", depth + 1)) {
                        add_all(narrowed, more, self.conversion, &at);
                    }
                }
            }
            ("required", Value::Array(names)) => {
                if let Value::Array(known) = narrowed.entry(keyword).or_insert_with(|| json!([])) {
                    self.conversion.require(known, names);
                }
            }
            ("const", Value::String(text)) if !text.is_empty() => {
                self.put(narrowed, "enum", json!([text]), pointer);
            }
            ("enum", _) if is_passed_on(keyword, value) => {
                self.put(narrowed, keyword, value.clone(), pointer);
            }
            _ if is_passed_on(keyword, value) => {
                narrowed.insert(keyword.to_owned(), value.clone());
            }
            // `true` is the default of `additionalProperties`, so its removal is not reported.
            ("additionalProperties", Value::Bool(true)) => {}
            _ if UNREPORTED.contains(&keyword) => {}
            _ => self.conversion.drop_keyword(pointer, keyword),
        }
    }

    /// Adds a keyword. If a reference or another keyword has added it before, merges the two values.
    fn put(
        &mut self,
        narrowed: &mut Map<String, Value>,
        keyword: &str,
        value: Value,
        pointer: &str,
    ) {
        let earlier = narrowed.insert(keyword.to_owned(), value);
        if let Some(earlier) = earlier {
            let earlier = Map::from_iter([(keyword.to_owned(), earlier)]);
            add_all(narrowed, earlier, self.conversion, pointer);
        }
    }

    /// Adds the alternatives of `anyOf` or `oneOf`. If one of the alternatives cannot be converted, adds none, so that every
    /// value is allowed.
    fn add_branches(
        &mut self,
        narrowed: &mut Map<String, Value>,
        (keyword, branches): (&str, &[Value]),
        pointer: &str,
        depth: usize,
    ) {
        let at = child(pointer, keyword);
        let others = branches.iter().filter(|branch| !is_null(branch));
        let others = others.map(|branch| self.convert(branch, (&at, "", depth + 1)));
        let Some(others) = others.collect::<Option<Vec<Value>>>() else {
            return;
        };
        if others.len() < branches.len() {
            narrowed.insert("nullable".to_owned(), true.into());
        }
        if keyword == "oneOf" && others.len() > 1 {
            self.conversion.drop_keyword(pointer, keyword);
        }
        self.add_alternatives(narrowed, others, (pointer, keyword));
    }

    /// Adds the type, in upper case. The type `null` becomes the keyword `nullable`. If there are several other types, they
    /// become alternatives.
    fn set_type(&mut self, narrowed: &mut Map<String, Value>, value: &Value, pointer: &str) {
        let names: Vec<&str> = match value {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let types: Vec<&&str> = names.iter().filter(|name| **name != "null").collect();
        if types.len() < names.len() {
            narrowed.insert("nullable".to_owned(), true.into());
        }
        match &types[..] {
            [] => {}
            [name] => {
                narrowed.insert("type".to_owned(), name.to_uppercase().into());
            }
            types => {
                let types = types.iter();
                let branches = types.map(|name| {
                    let mut branch = Map::new();
                    branch.insert("type".to_owned(), name.to_uppercase().into());
                    complete(&mut branch);
                    Value::from(branch)
                });
                self.add_alternatives(narrowed, branches.collect(), (pointer, "type"));
            }
        }
    }

    /// Adds the alternatives of the keyword at a pointer as `anyOf`. If there is only one alternative, adds its members instead.
    fn add_alternatives(
        &mut self,
        narrowed: &mut Map<String, Value>,
        mut branches: Vec<Value>,
        (pointer, keyword): (&str, &str),
    ) {
        if branches.len() == 1
            && let Some(Value::Object(branch)) = branches.pop()
        {
            add_all(narrowed, branch, self.conversion, pointer);
        } else if !branches.is_empty() {
            if narrowed.contains_key("anyOf") {
                // A schema can have only one set of alternatives.
                self.conversion.drop_keyword(pointer, keyword);
                return;
            }
            narrowed.insert("anyOf".to_owned(), branches.into());
        }
    }
}

/// Returns whether a schema accepts only `null`.
fn is_null(schema: &Value) -> bool {
    let schema = schema.as_object().filter(|schema| schema.len() == 1);
    schema.is_some_and(|schema| schema.get("type").is_some_and(|name| name == "null"))
}

/// Returns whether the API accepts the keyword with this value.
fn is_passed_on(keyword: &str, value: &Value) -> bool {
    match (keyword, value) {
        ("enum", Value::Array(values)) => {
            let mut values = values.iter();
            values.all(|value| value.as_str().is_some_and(|text| !text.is_empty()))
        }
        ("format", Value::String(format)) => FORMATS.contains(&format.as_str()),
        _ => KNOWN.contains(&keyword),
    }
}

/// Returns whether the API accepts the name of a property.
fn is_accepted(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= 64
        && name.chars().all(is_allowed)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
}

/// Adds the members of another schema that applies to the same value. Merges `properties` and `required`. If any other member has
/// two different values, keeps the first value and reports the keyword.
fn add_all(
    narrowed: &mut Map<String, Value>,
    more: Map<String, Value>,
    conversion: &mut SchemaConversion,
    pointer: &str,
) {
    for (keyword, value) in more {
        match (narrowed.get_mut(&keyword), value) {
            (Some(Value::Object(known)), Value::Object(properties)) if keyword == "properties" => {
                for (name, schema) in properties {
                    match (known.get_mut(&name), schema) {
                        (Some(Value::Object(known)), Value::Object(more)) => {
                            add_all(known, more, conversion, pointer);
                        }
                        (_, schema) => _ = known.insert(name, schema),
                    }
                }
            }
            (Some(Value::Object(known)), Value::Object(items)) if keyword == "items" => {
                add_all(known, items, conversion, pointer);
            }
            (Some(Value::Array(known)), Value::Array(names)) if keyword == "required" => {
                conversion.require(known, &names);
            }
            (Some(known), value) if conversion.spend_value(&value) && *known == value => {}
            (Some(_), _) => conversion.drop_keyword(pointer, &keyword),
            (None, value) => {
                narrowed.insert(keyword, value);
            }
        }
    }
}

/// Adds the type that the other keywords imply, and the schema of the items of an array. The API requires both.
fn complete(narrowed: &mut Map<String, Value>) {
    let implied = [
        ("properties", "OBJECT"),
        ("items", "ARRAY"),
        ("enum", "STRING"),
    ];
    if !narrowed.contains_key("type")
        && let Some((_, name)) = implied
            .iter()
            .find(|(keyword, _)| narrowed.contains_key(*keyword))
    {
        narrowed.insert("type".to_owned(), (*name).into());
    }
    if narrowed.get("type").is_some_and(|name| name == "ARRAY") && !narrowed.contains_key("items") {
        narrowed.insert("items".to_owned(), json!({ "type": "STRING" }));
    }
}

/// Removes names from `required` that are not in `properties`, because the API rejects such names.
fn require_known(narrowed: &mut Map<String, Value>) {
    let Some(Value::Array(mut required)) = narrowed.shift_remove("required") else {
        return;
    };
    let properties = narrowed.get("properties").and_then(Value::as_object);
    required.retain(|name| {
        let name = name.as_str();
        name.is_some_and(|name| properties.is_some_and(|known| known.contains_key(name)))
    });
    if !required.is_empty() {
        narrowed.insert("required".to_owned(), required.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::ListWork;

    fn narrowed(input: &Value) -> (Value, Vec<String>) {
        let members = input.as_object().unwrap();
        let mut work = ListWork::new(["s"].into_iter());
        let mut conversion = work.start("s", members);
        let output = schema(&mut conversion, members.clone());
        (output, work.finish("s", conversion))
    }

    #[test]
    fn a_schema_of_2020_12_becomes_openapi() {
        let (schema, dropped) = narrowed(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "a": { "type": ["string", "null"], "format": "uri" },
                "b": { "anyOf": [{ "type": "integer", "exclusiveMinimum": 0 }, { "type": "null" }] },
                "c": { "const": "x" },
                "d": { "type": "array" },
                "e": { "$ref": "#/$defs/point", "description": "where" },
                "f": { "allOf": [{ "$ref": "#/$defs/point" }, { "properties": { "z": {} } }] },
                "g": { "type": ["integer", "string"] },
                "h-i": { "type": "string" },
                "j": { "enum": [1, 2] }
            },
            "required": ["a", "h-i"],
            "additionalProperties": false,
            "$defs": { "point": { "properties": { "x": { "type": "number" } }, "required": ["x"] } }
        }));
        let point = json!({ "type": "OBJECT", "properties": { "x": { "type": "NUMBER" } }, "required": ["x"] });
        let mut described = point.clone();
        described["description"] = "where".into();
        let mut extended = point;
        extended["properties"]["z"] = json!({});
        assert_eq!(
            schema,
            json!({
                "type": "OBJECT",
                "properties": {
                    "a": { "type": "STRING", "nullable": true },
                    "b": { "type": "INTEGER", "nullable": true },
                    "c": { "type": "STRING", "enum": ["x"] },
                    "d": { "type": "ARRAY", "items": { "type": "STRING" } },
                    "e": described,
                    "f": extended,
                    "g": { "anyOf": [{ "type": "INTEGER" }, { "type": "STRING" }] },
                    "j": {}
                },
                "required": ["a"]
            })
        );
        let expected = [
            "/properties/a/format",
            "/properties/b/anyOf/exclusiveMinimum",
            "/properties/j/enum",
            "/additionalProperties",
            "/properties/h-i",
        ];
        assert_eq!(dropped, expected);
    }

    #[test]
    fn replaced_references_do_not_exceed_the_limit_of_schemas() {
        let (tree, dropped) = narrowed(&json!({
            "properties": { "child": { "$ref": "#" } }
        }));
        assert!(
            tree.to_string().len() < 1_000 && !dropped.is_empty(),
            "{tree}"
        );

        let mut definitions = Map::new();
        for number in 0..30 {
            let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
            definitions.insert(
                format!("d{number}"),
                json!({ "properties": { "a": next, "b": next } }),
            );
        }
        let (schema, _) = narrowed(&json!({ "$ref": "#/$defs/d0", "$defs": definitions }));
        assert!(schema.to_string().len() < 1 << 20);
    }
}
