//! Compares a message with the expected one.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values by name: the captured ones and the revision.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(BTreeMap<String, Value>);

impl Known {
    pub(super) fn new(revision: &str) -> Self {
        Self([("$revision".to_owned(), revision.into())].into())
    }

    /// Replaces every known name in a text by its value.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("\"{name}\""), &value.to_string());
        }
        text
    }

    /// Returns the differences to the expected message, one per line; captures names if there are
    /// none.
    pub(super) fn compare(&mut self, expected: &Value, got: &Value) -> Result<(), Vec<String>> {
        let mut known = self.clone();
        let mut differences = Vec::new();
        match (expected, got) {
            (Value::Array(expected), Value::Array(got)) => {
                known.batch(expected, got, &mut differences);
            }
            _ => known.value("", expected, Some(got), &mut differences),
        }
        if !differences.is_empty() {
            return Err(differences);
        }
        *self = known;
        Ok(())
    }

    /// The members of a batch arrive in any order.
    fn batch(&mut self, expected: &[Value], got: &[Value], out: &mut Vec<String>) {
        let mut left: Vec<&Value> = got.iter().collect();
        for member in expected {
            let found = left.iter().position(|got| {
                let mut known = self.clone();
                let mut differences = Vec::new();
                known.value("", member, Some(got), &mut differences);
                if differences.is_empty() {
                    *self = known;
                }
                differences.is_empty()
            });
            match found {
                Some(at) => drop(left.remove(at)),
                None => out.push(format!("no member of the batch is {member}")),
            }
        }
        out.extend(
            left.iter()
                .map(|member| format!("the batch has {member}, too")),
        );
    }

    fn value(&mut self, path: &str, expected: &Value, got: Option<&Value>, out: &mut Vec<String>) {
        let mut differ = |what: &str| {
            let got = got.map_or_else(|| "nothing".to_owned(), Value::to_string);
            let path = if path.is_empty() { "/" } else { path };
            out.push(format!("{path}: expected {what}, got {got}"));
        };
        match (expected, got) {
            (Value::String(name), None) if name == "$none" => {}
            (Value::String(name), Some(_)) if name == "$none" => differ("nothing"),
            (_, None) => differ(&expected.to_string()),
            (Value::String(name), Some(_)) if name == "$any" => {}
            (Value::String(name), Some(got)) if name.starts_with('$') => {
                let value = self.0.entry(name.clone()).or_insert_with(|| got.clone());
                if value != got {
                    let value = format!("{value} ({name})");
                    differ(&value);
                }
            }
            (Value::String(text), Some(got)) if text.starts_with('…') && text.ends_with('…') => {
                let words = text.trim_matches('…');
                if !got.as_str().is_some_and(|got| got.contains(words)) {
                    differ(&format!("text with {words:?}"));
                }
            }
            (Value::Object(expected), Some(Value::Object(got))) => {
                for (name, expected) in expected {
                    self.value(&format!("{path}/{name}"), expected, got.get(name), out);
                }
            }
            (Value::Array(expected), Some(Value::Array(got))) if expected.len() == got.len() => {
                for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
                    self.value(&format!("{path}/{at}"), expected, Some(got), out);
                }
            }
            (expected, Some(got)) if expected != got => differ(&expected.to_string()),
            _ => {}
        }
    }
}

#[test]
fn a_message_with_additional_members_matches_the_expected_members() {
    use serde_json::json;
    let mut known = Known::new("2025-11-25");
    let got = json!({"id": 5, "error": {"code": -1, "message": "no batches here"}, "list": [1, {"a": 2}]});
    for fine in [
        json!({}),
        json!({"id": "$id", "error": {"message": "…batches…"}}),
        json!({"id": "$id", "result": "$none", "list": [1, "$any"]}),
    ] {
        assert_eq!(known.compare(&fine, &got), Ok(()), "{fine}");
    }
    assert_eq!(
        known.fill(r#"{"a": "$id", "b": "$idea"}"#),
        r#"{"a": 5, "b": "$idea"}"#
    );
    for (wrong, told) in [
        (json!({"id": "$none"}), "/id: expected nothing, got 5"),
        (json!({"id": "5"}), "/id: expected \"5\", got 5"),
        (
            json!({"id": "$revision"}),
            "/id: expected \"2025-11-25\" ($revision), got 5",
        ),
        (
            json!({"list": [1]}),
            "/list: expected [1], got [1,{\"a\":2}]",
        ),
        (
            json!({"list": [1, {"b": "$any"}]}),
            "/list/1/b: expected \"$any\", got nothing",
        ),
        (json!([]), "/: expected [], got {"),
    ] {
        let differences = known.compare(&wrong, &got).unwrap_err();
        assert!(differences[0].starts_with(told), "{differences:?}");
    }
    let batch = json!([{"id": 1}, {"id": 2}]);
    assert_eq!(
        known.compare(&json!([{"id": 2}, {"id": 1}]), &batch),
        Ok(())
    );
    assert!(known.compare(&json!([{"id": 2}]), &batch).is_err());
    assert!(
        known
            .compare(&json!([{"id": 2}, {"id": 3}]), &batch)
            .is_err()
    );
}
