//! Tests with hostile schemas and values.
use serde_json::{Value, json};

use super::{Origin, compile, fits, refusal};

/// Returns a schema with `levels` definitions, each of which refers to the next definition twice.
fn doubled(levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$defs": defs, "$ref": "#/$defs/l0"})
}

// proves: M-SCHEMA-014
#[test]
fn a_schema_that_refers_to_each_next_level_twice_is_refused_when_compiled() {
    let bomb = doubled(24);
    assert!(refusal(&bomb, Origin::Foreign).contains("steps"));
    assert!(compile(&doubled(8), Origin::Foreign).is_ok());
}

#[test]
fn deep_values_are_rejected_if_the_cost_of_the_schema_doubles_with_each_level() {
    let node = json!({"$ref": "#/$defs/node"});
    let inner = json!({"properties": {"a": {"allOf": [node, node]}}});
    let schema = json!({"$defs": {"node": inner}, "allOf": [node]});
    let validator = compile(&schema, Origin::Foreign).unwrap();
    let mut value = json!({});
    for _ in 0..60 {
        value = json!({ "a": value });
    }
    let violation = validator.check(&value).unwrap_err();
    assert!(violation.message.contains("flatter"), "{violation}");
    assert!(validator.check(&json!({"a": {"a": {}}})).is_ok());
}

#[test]
fn a_derived_schema_of_a_recursive_enum_accepts_deep_values() {
    // The schema that schemars derives for `enum Expr { Neg(Box<Expr>), Add(Vec<Expr>), … }`.
    let expr = json!({"$ref": "#/$defs/expr"});
    let variants: Vec<Value> = (0..30)
        .map(|n| {
            let name = format!("v{n}");
            json!({"type": "object", "properties": {&name: expr}, "required": [name]})
        })
        .chain([json!({"type": "integer"})])
        .collect();
    let schema = json!({"$defs": {"expr": {"oneOf": variants}}, "properties": {"e": expr}});
    let validator = compile(&schema, Origin::Foreign).unwrap();
    let mut value = json!(1);
    for n in 0..40 {
        value = json!({ format!("v{}", n % 30): value });
    }
    assert!(validator.check(&json!({ "e": value })).is_ok());
}

#[test]
fn a_large_value_is_accepted_by_a_simple_schema() {
    let schema = json!({"type": "array", "items": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    }});
    let items: Vec<Value> = (0..60_000)
        .map(|id| json!({"id": id, "name": "n"}))
        .collect();
    assert!(fits(&schema, &json!(items)));
}

#[test]
fn reference_cycles_that_never_descend_into_the_value_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        assert!(refusal(&schema, Origin::Own).contains("back to itself"));
    }
}

// proves: M-SCHEMA-009, M-SCHEMA-011, M-SCHEMA-013, M-SCHEMA-014, M-TOOL-044
#[test]
fn the_size_of_schemas_of_peers_is_limited() {
    let mut deep = json!({});
    for _ in 0..80 {
        deep = json!({ "items": deep });
    }
    assert!(refusal(&deep, Origin::Foreign).contains("64 levels"));
    assert!(compile(&deep, Origin::Own).is_ok());

    let large = json!({"description": "x".repeat(300_000)});
    assert!(refusal(&large, Origin::Foreign).contains("bytes"));
    assert!(compile(&large, Origin::Own).is_ok());

    let property = |n: usize| (format!("p{n}"), json!({"$ref": "#/$defs/a"}));
    let properties: serde_json::Map<_, _> = (0..1_100).map(property).collect();
    let many = json!({"$defs": {"a": {}}, "properties": properties});
    assert!(refusal(&many, Origin::Foreign).contains("references"));
    assert!(compile(&many, Origin::Own).is_ok());

    for reference in [
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other#/a",
    ] {
        let remote = json!({"properties": {"a": {"$ref": reference}}});
        assert!(compile(&remote, Origin::Foreign).is_err());
        assert!(compile(&remote, Origin::Own).is_err());
    }
}

#[test]
fn long_reference_chains_and_deep_values_do_not_overflow_a_small_stack() {
    let mut defs = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({ "allOf": [next] }));
    }
    defs.insert(
        "l30".into(),
        json!({"properties": {"a": {"$ref": "#/$defs/l0"}}}),
    );
    let schema = json!({"$defs": defs, "allOf": [{"$ref": "#/$defs/l0"}]});
    let validator = compile(&schema, Origin::Foreign).unwrap();
    let mut value = json!({});
    let run = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    run.spawn(move || {
        for _ in 0..63 {
            // Any result is accepted; the check must only end.
            let _ = validator.check(&value);
            value = json!({ "a": value });
        }
    })
    .unwrap()
    .join()
    .unwrap();
}
