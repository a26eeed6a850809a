//! Decides whether the decoder of an argument type enforces its schema.
//!
//! Decoders accept more values than the schema of their type. Examples are a list for a struct, a number for the tag of a
//! flattened enum, and any text for a `String` whose schema has an `enum`. A decoder is trusted only for flat arguments, and only
//! after a test with values that the schema rejects.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_types::JsonObject;
use serde_json::{Value, json};

/// Maximum nesting depth of lists in an argument.
const DEPTH: usize = 4;
/// Keywords that only describe a value.
const ANNOTATIONS: [&str; 7] = [
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Returns whether `accepts` rejects every value that the schema rejects. For a schema with keywords that simple types do not
/// have, returns `false`.
pub(super) fn is_enforced(schema: &JsonObject, accepts: &dyn Fn(&str) -> bool) -> bool {
    let accepts = |members: &JsonObject| {
        let text = json!(members).to_string();
        // The decoder may be custom code that panics. A panic counts as acceptance.
        catch_unwind(AssertUnwindSafe(|| accepts(&text))).unwrap_or(true)
    };
    let (Some(sample), Some(Value::Object(properties))) =
        (sample(schema), schema.get("properties"))
    else {
        return false;
    };
    let required = super::keywords::strings(schema.get("required"));
    let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
    let without = |name: &str| {
        let mut members = sample.clone();
        members.shift_remove(name);
        members
    };
    let with = |name: &str, value: Value| {
        let mut members = sample.clone();
        members.insert(name.to_owned(), value);
        members
    };
    accepts(&sample)
        && (is_open || !accepts(&with("\u{1}", json!(0))))
        && properties.iter().all(|(name, schema)| {
            let is_required = required.contains(name);
            let mut wrong = wrong(schema);
            // `null` counts as absent for optional members.
            wrong.retain(|value| is_required || !value.is_null());
            accepts(&without(name)) != is_required
                && wrong.into_iter().all(|value| !accepts(&with(name, value)))
        })
}

/// Returns example arguments that match the schema. Returns `None` if the schema is not simple.
fn sample(schema: &JsonObject) -> Option<JsonObject> {
    let known = ["type", "properties", "required", "additionalProperties"];
    let is_known = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "additionalProperties" => value.is_boolean(),
        "required" => value.is_array(),
        keyword => known.contains(&keyword) || ANNOTATIONS.contains(&keyword),
    };
    let properties = schema.get("properties")?.as_object()?;
    let names = super::keywords::strings(schema.get("required"));
    if !schema.iter().all(is_known) || names.iter().any(|name| !properties.contains_key(name)) {
        return None;
    }
    let value = |(name, schema): (&String, &Value)| Some((name.clone(), value(schema, DEPTH)?));
    properties.iter().map(value).collect()
}

/// Returns a value that matches the schema of a simple type.
fn value(schema: &Value, depth: usize) -> Option<Value> {
    let keywords = schema.as_object()?;
    let kind = keywords.get("type")?.as_str()?;
    let known: &[&str] = match kind {
        "integer" => &["minimum", "maximum"],
        "array" => &["items"],
        _ => &[],
    };
    let is_known = |keyword: &String| {
        keyword == "type" || known.contains(&&**keyword) || ANNOTATIONS.contains(&&**keyword)
    };
    if !keywords.keys().all(is_known) {
        return None;
    }
    Some(match kind {
        "string" => json!("a"),
        "boolean" => json!(true),
        "number" => json!(1.5),
        "integer" => keywords.get("maximum").cloned().unwrap_or(json!(1)),
        "array" => json!([value(keywords.get("items")?, depth.checked_sub(1)?)?]),
        _ => return None,
    })
}

/// Returns values that do not match the schema of a simple type.
fn wrong(schema: &Value) -> Vec<Value> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let kinds = [
        ("null", json!(null)),
        ("boolean", json!(true)),
        ("number", json!(1.5)),
        ("integer", json!(0)),
        ("string", json!("b")),
        ("string", json!("1")),
        ("array", json!([])),
        ("array", json!([0])),
        ("object", json!({})),
        ("object", json!({"b": 0})),
    ];
    let is_wrong = |name: &str| name != kind && !(name == "integer" && kind == "number");
    let mut wrong: Vec<Value> = kinds
        .into_iter()
        .filter(|(name, _)| is_wrong(name))
        .map(|(_, value)| value)
        .collect();
    if kind == "array" {
        wrong.extend(
            self::wrong(&schema["items"])
                .into_iter()
                .map(|item| json!([item])),
        );
    }
    wrong.extend(outside(schema));
    wrong
}

/// Returns the integers directly outside of the limits `minimum` and `maximum`.
fn outside(schema: &Value) -> Vec<Value> {
    let below = schema["minimum"]
        .as_i64()
        .and_then(|min| min.checked_sub(1));
    let above = schema["maximum"]
        .as_u64()
        .and_then(|max| max.checked_add(1));
    let mut outside: Vec<Value> = below.map(Value::from).into_iter().collect();
    outside.extend(above.map(Value::from));
    outside
}

#[cfg(test)]
#[allow(dead_code, reason = "the types are only decoded")]
mod tests {
    use std::collections::HashMap;

    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use crate::schema::arguments;

    fn is_enforced<T: JsonSchema + DeserializeOwned>() -> bool {
        arguments::<T>().unwrap().is_enforced
    }

    #[test]
    fn flat_arguments_are_checked_by_their_decoder() {
        #[derive(Deserialize, JsonSchema)]
        struct Flat {
            /// Documented.
            text: String,
            small: u8,
            size: Option<usize>,
            list: Vec<Vec<i32>>,
            #[serde(default)]
            flag: bool,
            ratio: f32,
        }
        assert!(is_enforced::<Flat>());

        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Closed {
            text: String,
        }
        assert!(is_enforced::<Closed>());
    }

    #[test]
    fn a_decoder_that_accepts_more_than_its_schema_is_not_trusted() {
        #[derive(Deserialize, JsonSchema)]
        struct Point {
            x: f64,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Nested {
            to: Point,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Map {
            names: HashMap<String, String>,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Bounded {
            #[schemars(range(min = 0))]
            number: i64,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Chosen {
            #[schemars(extend("enum" = ["fast", "safe"]))]
            mode: String,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Other {
            #[schemars(with = "String")]
            value: serde_json::Value,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Required {
            #[schemars(required)]
            value: Option<u8>,
        }
        #[derive(Deserialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        struct Closed {
            value: u8,
        }
        assert!(!is_enforced::<Nested>());
        assert!(!is_enforced::<Map>());
        assert!(!is_enforced::<Bounded>());
        assert!(!is_enforced::<Chosen>());
        assert!(!is_enforced::<Other>());
        assert!(!is_enforced::<Required>());
        assert!(!is_enforced::<Closed>());
    }
}
