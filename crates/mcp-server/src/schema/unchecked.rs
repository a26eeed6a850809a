//! Finds keywords of a schema that decoding does not enforce.

use serde_json::{Value, json};

/// Keywords that serde decoders ignore.
const UNCHECKED: [&str; 24] = [
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "maxContains",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minContains",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "not",
    "pattern",
    "patternProperties",
    "propertyNames",
    "then",
    "uniqueItems",
];

/// Returns the first keyword that decoding does not enforce, with its location: `"minimum" at
/// /count`.
///
/// Derives create `enum`, `const`, `required` and `additionalProperties` from enums, members and
/// `deny_unknown_fields`, which decoders do check.
pub(super) fn first(schema: &Value) -> Option<String> {
    find(schema, "")
}

fn find(schema: &Value, at: &str) -> Option<String> {
    let keywords = schema.as_object()?;
    let unchecked = |keyword: &str| keywords.contains_key(keyword) && !is_own(schema, keyword);
    if let Some(keyword) = UNCHECKED.iter().find(|keyword| unchecked(keyword)) {
        let place = if at.is_empty() { "" } else { " at " };
        return Some(format!("{keyword:?}{place}{at}"));
    }
    for (keyword, value) in keywords {
        let found = match keyword.as_str() {
            "properties" => value
                .as_object()?
                .iter()
                .find_map(|(name, schema)| find(schema, &format!("{at}/{name}"))),
            "$defs" | "patternProperties" => value
                .as_object()?
                .values()
                .find_map(|schema| find(schema, at)),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array()?.iter().find_map(|schema| find(schema, at))
            }
            "additionalProperties" | "items" | "unevaluatedProperties" => find(value, at),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether the keyword follows from the Rust type, as far as the derived schema shows.
fn is_own(schema: &Value, keyword: &str) -> bool {
    let value = &schema[keyword];
    match keyword {
        "minimum" | "maximum" => {
            let format = schema["format"].as_str().unwrap_or_default();
            match (format, keyword) {
                ("uint8" | "uint16" | "uint32" | "uint64" | "uint128" | "uint", "minimum") => {
                    value == 0
                }
                ("uint8", _) => value == u8::MAX,
                ("uint16", _) => value == u16::MAX,
                ("int8", "minimum") => value == i8::MIN,
                ("int8", _) => value == i8::MAX,
                ("int16", "minimum") => value == i16::MIN,
                ("int16", _) => value == i16::MAX,
                _ => false,
            }
        }
        "not" => *value == json!({"const": 0}) && schema["type"] == "integer",
        // Tuples.
        "minItems" | "maxItems" => {
            let kinds = schema["prefixItems"].as_array().map(Vec::len);
            kinds.is_some_and(|kinds| *value == kinds)
        }
        "uniqueItems" => true,
        // Maps with integer keys.
        "patternProperties" => schema["additionalProperties"] == false,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use schemars::JsonSchema;

    use crate::schema::input;

    #[test]
    #[allow(dead_code, reason = "the types are only described")]
    fn constraints_of_a_rust_type_are_checked_by_its_decoder() {
        #[derive(JsonSchema)]
        struct Kept {
            a: u8,
            b: Option<u32>,
            c: i16,
            d: (i32, i32),
            e: HashSet<u64>,
            f: HashMap<i32, usize>,
            g: std::num::NonZeroI8,
        }
        assert_eq!(input::<Kept>().unwrap().beyond_decoder, None);

        #[derive(JsonSchema)]
        struct Bounded {
            #[schemars(range(min = 0))]
            number: i64,
        }
        #[derive(JsonSchema)]
        struct Narrow {
            #[schemars(range(max = 255))]
            number: u32,
        }
        #[derive(JsonSchema)]
        struct Short {
            list: Vec<Name>,
        }
        #[derive(JsonSchema)]
        struct Name {
            #[schemars(length(max = 8), regex(pattern = "^[a-z]+$"))]
            name: String,
        }
        for (promise, expected) in [
            (input::<Bounded>().unwrap(), "\"minimum\" at /number"),
            (input::<Narrow>().unwrap(), "\"maximum\" at /number"),
        ] {
            assert_eq!(promise.beyond_decoder.as_deref(), Some(expected));
        }
        let short = input::<Short>().unwrap();
        assert_eq!(
            short.beyond_decoder.as_deref(),
            Some("\"maxLength\" at /list/name")
        );
    }
}
