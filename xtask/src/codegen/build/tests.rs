//! Schemas that must not pass.

use serde_json::json;

use super::*;

fn errors(schema: &Value) -> String {
    let overrides = Overrides::load().unwrap();
    build(schema, &overrides).unwrap_err()
}

#[test]
fn a_definition_nobody_knows_is_an_error() {
    let members = json!({"a": {"type": "string"}});
    let schema = json!({"$defs": {"Novel": {"type": "object", "properties": members}}});
    assert_eq!(errors(&schema), "Novel: Novel has no entry under [areas]");
}

#[test]
fn an_anonymous_type_needs_a_name() {
    let schema =
        json!({"$defs": {"Tool": {"type": "object", "properties": {"x": {"enum": ["a"]}}}}});
    assert_eq!(
        errors(&schema),
        "Tool: Tool.x needs a name under [[inline]]"
    );
}

#[test]
fn an_override_that_matches_nothing_is_an_error() {
    let error = errors(&json!({"$defs": {}}));
    assert!(
        error.starts_with("overrides.toml: entries that match nothing:"),
        "{error}"
    );
    assert!(error.contains("\n  skip JSONRPCMessage"), "{error}");
}

#[test]
fn a_member_may_not_be_optional_and_nullable() {
    let ty = json!(["string", "null"]);
    let schema = json!({"$defs": {"Tool": {"properties": {"x": {"type": ty}}}}});
    assert!(errors(&schema).contains("Tool.x is optional and nullable"));
}

#[test]
fn an_override_adds_no_member_the_schema_has() {
    let members = json!({"pattern": {"type": "string"}});
    let schema = json!({"$defs": {"StringSchema": {"type": "object", "properties": members}}});
    assert!(errors(&schema).contains("StringSchema.pattern is in the schema by now"));
}
