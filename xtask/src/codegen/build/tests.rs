//! Schemas that must not pass.

use serde_json::json;

use super::*;
use crate::codegen::model::Rule;

fn errors(schema: &Value) -> String {
    let overrides = Overrides::load().unwrap();
    build(schema, &overrides).unwrap_err()
}

#[test]
fn an_unknown_definition_is_an_error() {
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
    let overrides = Overrides::load().unwrap();
    build(&json!({"$defs": {}}), &overrides).unwrap();
    let error = overrides.check().unwrap_err();
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
fn an_override_that_adds_what_every_schema_has_is_an_error() {
    let members = json!({"pattern": {"type": "string"}});
    let schema = json!({"$defs": {"StringSchema": {"type": "object", "properties": members}}});
    let overrides = Overrides::load().unwrap();
    build(&schema, &overrides).unwrap();
    let error = overrides.check().unwrap_err();
    assert!(error.contains("\n  add StringSchema.pattern"), "{error}");
}

#[test]
fn a_message_without_an_envelope_is_an_arm_that_holds_its_params() {
    let ask = json!({
        "type": "object",
        "properties": {"method": {"const": "roots/list"}, "params": {"type": "object", "properties": {"_meta": {"type": "object"}}}},
        "required": ["method"],
    });
    let one_of = json!({"anyOf": [{"$ref": "#/$defs/ListRootsRequest"}]});
    let schema = json!({"$defs": {"ListRootsRequest": ask, "InputRequest": one_of}});
    let model = build(&schema, &Overrides::load().unwrap()).unwrap();
    let union = model.items.iter().find(|item| item.name == "InputRequest");
    let Some(Kind::Union(union)) = union.map(|item| &item.kind) else {
        panic!("{:?}", model.items);
    };
    let (methods, optional) = (vec!["roots/list".to_owned()], vec![true]);
    assert_eq!(union.rule, Rule::Embedded { methods, optional });
    assert_eq!(
        (&*union.arms[0].name, &*union.arms[0].ty),
        ("ListRoots", "ListRootsRequestParams")
    );
}
