//! Functions that read the values of schema keywords.

use serde_json::Value;

/// Returns the strings in a JSON array; empty if the value is not an array.
pub(crate) fn strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
