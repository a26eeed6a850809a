//! Validation of the responses to elicitation forms.

use std::collections::BTreeMap;

use mcp_protocol::form;
use mcp_types::{ElicitValue, RequestedSchema};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// Checks a response to a form with one field.
fn check(field: &Value, value: &Value) -> Result<(), String> {
    let schema = json!({ "type": "object", "properties": { "a": field } });
    let schema = RequestedSchema::deserialize(schema).unwrap();
    let value = ElicitValue::deserialize(value).unwrap();
    form::check(&schema, &BTreeMap::from([("a".to_owned(), value)]))
}

/// Asserts that the first value matches the field, and that the second one does not, for this reason.
#[track_caller]
fn limit(field: &Value, accepted: &Value, refused: &Value, reason: &str) {
    assert_eq!(check(field, accepted), Ok(()), "{field}");
    let expected = format!("field \"a\" does not fit: {reason}");
    assert_eq!(check(field, refused), Err(expected), "{field}");
}

#[test]
fn numbers_of_a_form_outside_of_their_limits_are_rejected() {
    let field = json!({ "type": "number", "minimum": 1, "maximum": 2.5 });
    limit(&field, &json!(1), &json!(0.5), "0.5 is below the minimum 1");
    limit(&field, &json!(2.5), &json!(3), "3 is above the maximum 2.5");
    let field = json!({ "type": "integer" });
    limit(
        &field,
        &json!(2.0),
        &json!(2.5),
        "expected an integer, got 2.5",
    );
}

#[test]
fn texts_and_choices_of_a_form_outside_of_their_limits_are_rejected() {
    let field = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
    let reason = "1 characters, at least 2 expected";
    limit(&field, &json!("\u{e4}\u{e4}"), &json!("\u{e4}"), reason);
    limit(
        &field,
        &json!("abc"),
        &json!("abcd"),
        "4 characters, at most 3 expected",
    );
    let options = json!([{ "const": "x", "title": "X" }, { "const": "y", "title": "Y" }]);
    for items in [
        json!({ "type": "string", "enum": ["x", "y"] }),
        json!({ "anyOf": options }),
    ] {
        let field = json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": items });
        let reason = "0 choices, at least 1 expected";
        limit(&field, &json!(["x"]), &json!([]), reason);
        let reason = "3 choices, at most 2 expected";
        limit(&field, &json!(["x", "y"]), &json!(["x", "y", "x"]), reason);
        limit(
            &field,
            &json!(["y"]),
            &json!(["z"]),
            "\"z\" is not one of the choices",
        );
    }
    for field in [
        json!({ "type": "string", "enum": ["x", "y"] }),
        json!({ "type": "string", "enum": ["x", "y"], "enumNames": ["X", "Y"] }),
        json!({ "type": "string", "oneOf": options }),
    ] {
        limit(
            &field,
            &json!("y"),
            &json!("z"),
            "\"z\" is not one of the choices",
        );
    }
}

#[test]
fn the_reason_for_a_rejection_names_the_expected_type() {
    for (field, accepted, expected) in [
        (json!({ "type": "string" }), json!("a"), "a string"),
        (json!({ "type": "integer" }), json!(1), "an integer"),
        (json!({ "type": "number" }), json!(1.5), "a number"),
        (json!({ "type": "boolean" }), json!(true), "true or false"),
        (
            json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } }),
            json!(["a"]),
            "a list of choices",
        ),
        (
            json!({ "type": "string", "enum": ["a"] }),
            json!("a"),
            "one of the choices",
        ),
    ] {
        let other = match accepted {
            Value::Bool(_) => json!("true"),
            _ => json!(true),
        };
        limit(&field, &accepted, &other, &format!("expected {expected}"));
    }
}

#[test]
fn the_format_of_texts_is_checked() {
    for (format, accepted, refused) in [
        ("email", "a@b.example", "a@b@c"),
        ("email", "a@b", "a b@c"),
        ("email", "a@b", "@b"),
        ("email", "a@b", "a@"),
        ("uri", "https://a.example/b?c#d", "a.example"),
        ("uri", "urn:x", "urn:"),
        ("uri", "a+b-c.d:x", "1a:x"),
        ("uri", "a:b%20c", "a:b c"),
        ("date", "2026-01-31", "2026-01-32"),
        ("date", "2026-12-01", "2026-13-01"),
        ("date", "2026-01-01", "2026-00-01"),
        ("date", "2026-01-01", "26-01-01"),
        ("date-time", "2026-01-31T00:00:00Z", "2026-01-31"),
    ] {
        let field = json!({ "type": "string", "format": format });
        let reason = format!("expected the format {format:?}");
        limit(&field, &json!(accepted), &json!(refused), &reason);
    }
}
