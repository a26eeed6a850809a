//! Decodes members of metadata documents that a sign-in does not need. A member that is `null` or has another type is treated as
//! missing.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value == true || value == "true")
}

pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(optional_list(deserializer)?.unwrap_or_default())
}

/// Reads a list, or a text with values that are separated by spaces. Leaves out values that are not text.
pub(super) fn optional_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(values) => {
            let text = |value: Value| match value {
                Value::String(text) => Some(text),
                _ => None,
            };
            Some(values.into_iter().filter_map(text).collect())
        }
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Document {
        #[serde(default, deserialize_with = "optional_list")]
        scopes: Option<Vec<String>>,
    }

    #[test]
    fn a_list_may_be_a_text_and_values_that_are_not_text_are_left_out() {
        for (text, scopes) in [
            (r#"{"scopes":" a  b "}"#, Some(vec!["a", "b"])),
            (r#"{"scopes":["a b",1,"c"]}"#, Some(vec!["a b", "c"])),
            (r#"{"scopes":7}"#, None),
            ("{}", None),
        ] {
            let document: Document = serde_json::from_str(text).unwrap();
            let found = document.scopes.as_ref();
            let found = found.map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, scopes, "{text}");
        }
    }
}
