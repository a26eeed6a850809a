//! Removes keywords with invalid values from input schemas. One such keyword can make a model API reject the whole request.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::narrow::{SchemaConversion, child};

/// The names of types in JSON Schema.
const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The kind of a keyword's value: where the value contains schemas.
pub(super) enum Content {
    /// The value contains no schemas.
    Data,
    /// The value is a schema, or an array of schemas.
    Schemas,
    /// The value is an object whose members are schemas.
    Named,
}

impl SchemaConversion {
    /// Removes the keywords with invalid values from the schema at a pointer and from the schemas in it.
    pub(super) fn remove_invalid(&mut self, members: &mut Map<String, Value>, pointer: &str) {
        members.retain(|keyword, value| {
            if let ("type" | "required" | "enum", Value::Array(values)) = (&**keyword, &mut *value)
            {
                remove_repeated_texts(values);
            }
            let Some(content) = content(keyword, value) else {
                self.drop_keyword(pointer, keyword);
                return false;
            };
            match (content, value) {
                (Content::Schemas, Value::Object(schema)) => {
                    self.remove_invalid(schema, &child(pointer, keyword));
                }
                (Content::Schemas, Value::Array(schemas)) => {
                    let at = child(pointer, keyword);
                    for schema in schemas.iter_mut().filter_map(Value::as_object_mut) {
                        self.remove_invalid(schema, &at);
                    }
                }
                (Content::Named, Value::Object(schemas)) => {
                    let at = child(pointer, keyword);
                    schemas.retain(|name, schema| match schema {
                        Value::Object(schema) => {
                            self.remove_invalid(schema, &child(&at, name));
                            true
                        }
                        Value::Bool(_) => true,
                        names if keyword == "dependencies" && is_names(names) => true,
                        _ => {
                            self.drop_keyword(&at, name);
                            false
                        }
                    });
                }
                _ => {}
            }
            true
        });
    }
}

/// Calls `visit` with a schema and its pointer, then with each schema in it. `visit` can change the schema. Elements of an array
/// have the pointer of the array.
pub(super) fn walk(
    members: &mut Map<String, Value>,
    pointer: &str,
    visit: &mut impl FnMut(&mut Map<String, Value>, &str),
) {
    visit(members, pointer);
    for (keyword, value) in members {
        let at = child(pointer, keyword);
        match (content(keyword, value), value) {
            (Some(Content::Schemas), Value::Object(schema)) => walk(schema, &at, visit),
            (Some(Content::Schemas), Value::Array(schemas)) => {
                for schema in schemas.iter_mut().filter_map(Value::as_object_mut) {
                    walk(schema, &at, visit);
                }
            }
            (Some(Content::Named), Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    if let Value::Object(schema) = schema {
                        walk(schema, &child(&at, name), visit);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the kind of a keyword's value, or `None` if the value is invalid.
pub(super) fn content(keyword: &str, value: &Value) -> Option<Content> {
    let (is_valid, content) = match keyword {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => (value.is_object(), Content::Named),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            (is_list(value, is_schema), Content::Schemas)
        }
        // In earlier dialects, the value can be an array of schemas.
        "items" => (
            is_schema(value) || is_list(value, is_schema),
            Content::Schemas,
        ),
        "additionalProperties"
        | "additionalItems"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "propertyNames"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else" => (is_schema(value), Content::Schemas),
        _ => (is_data(keyword, value), Content::Data),
    };
    is_valid.then_some(content)
}

/// Returns whether the value of a keyword without schemas is valid. Every value of an unknown keyword is valid.
fn is_data(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => is_type(value) || is_list(value, is_type),
        "enum" => is_list(value, |_| true),
        "required" => is_names(value),
        "title" | "description" | "pattern" | "format" | "contentEncoding" | "contentMediaType"
        | "$ref" | "$dynamicRef" | "$id" | "$schema" | "$comment" => value.is_string(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => value
            .as_f64()
            .is_some_and(|count| count >= 0.0 && count.fract() == 0.0),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|divisor| divisor > 0.0),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" | "nullable" => value.is_boolean(),
        "examples" => value.is_array(),
        "dependentRequired" => {
            let names = value.as_object();
            names.is_some_and(|names| names.values().all(is_names))
        }
        "$anchor" | "$dynamicAnchor" => value.as_str().is_some_and(is_anchor),
        _ => true,
    }
}

fn is_names(value: &Value) -> bool {
    let names = value.as_array();
    names.is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_anchor(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Returns whether the value is an array with at least one element, and all its elements are valid.
fn is_list(value: &Value, is_valid: impl Fn(&Value) -> bool) -> bool {
    let elements = value.as_array();
    elements.is_some_and(|elements| !elements.is_empty() && elements.iter().all(is_valid))
}

fn remove_repeated_texts(values: &mut Vec<Value>) {
    let mut seen = HashSet::new();
    values.retain(|value| {
        value
            .as_str()
            .is_none_or(|text| seen.insert(text.to_owned()))
    });
}
