//! Suggestions for misspelled names.

use serde_json::Value;

/// Maximum size of a misspelled name, in bytes. A comparison of longer names would take long.
const MAX_NAME_BYTES: usize = 64;
/// Schema keywords that can add arguments which are not in `properties`.
const FURTHER_ARGUMENTS: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
];

/// Returns the names of the arguments in the input schema of a tool. Returns `None` if the schema has no `properties`, or
/// explicitly allows further arguments. A schema without `additionalProperties` is treated as if it forbade further arguments.
pub fn argument_names(schema: &Value) -> Option<Vec<&str>> {
    let known = schema.get("properties")?.as_object()?;
    let has_further = match schema.get("additionalProperties") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(_) => true,
    };
    let is_composed = || {
        FURTHER_ARGUMENTS
            .iter()
            .any(|key| schema.get(key).is_some())
    };
    (!has_further && !is_composed()).then(|| known.keys().map(|name| &**name).collect())
}

/// Returns the element of `names` that is most similar to `name`, or `None` if all names differ too much. Words at the start that
/// both names have, such as `notes__`, do not make them more similar.
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let distances = names
        .into_iter()
        .map(|known| (strsim::levenshtein(name, known), known));
    let (distance, near) = distances.min()?;
    let length = name[common_words(name, near)..].chars().count();
    (distance < length && distance <= length / 3 + 1).then_some(near)
}

/// Returns the length of the words that both names have at the start, with the separator after them, in bytes.
fn common_words(name: &str, other: &str) -> usize {
    let bytes = name.bytes().zip(other.bytes());
    let common = bytes.take_while(|(byte, other)| byte == other).count();
    let is_separator = |byte: &u8| b"_-./".contains(byte);
    let last = name.as_bytes()[..common].iter().rposition(is_separator);
    last.map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = ["get_weather", "get_whether", "list_notes"];
        assert_eq!(nearest_name("get_wether", names), Some("get_weather"));
        assert_eq!(nearest_name("lst_notes", names), Some("list_notes"));
        assert_eq!(nearest_name("delete", names), None);
        let names = ["notes__delete", "notes__search"];
        assert_eq!(nearest_name("notes__append", names), None);
        assert_eq!(nearest_name("notes__serch", names), Some("notes__search"));
        assert_eq!(nearest_name("c", ["a"]), None);
        assert_eq!(nearest_name("x", []), None);
    }

    #[test]
    fn a_schema_without_additional_properties_names_all_arguments() {
        let names = Some(vec!["a"]);
        assert_eq!(argument_names(&json!({ "properties": { "a": {} } })), names);
        let closed = json!({ "properties": { "a": {} }, "additionalProperties": false });
        assert_eq!(argument_names(&closed), names);
        for open in [
            json!({ "type": "object" }),
            json!({ "properties": { "a": {} }, "additionalProperties": true }),
            json!({ "properties": { "a": {} }, "additionalProperties": { "type": "string" } }),
            json!({ "properties": { "a": {} }, "allOf": [{ "properties": { "b": {} } }] }),
        ] {
            assert_eq!(argument_names(&open), None, "{open}");
        }
    }
}
