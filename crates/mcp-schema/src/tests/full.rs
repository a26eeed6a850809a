//! Tests of features that only the full engine has.
use serde_json::json;

use super::{Origin, compile, complaint, fits, refusal};

// proves: BASE-020, M-SCHEMA-001
#[test]
fn a_schema_without_a_dialect_uses_2020_12() {
    let schema = json!({"prefixItems": [{"type": "string"}], "items": false});
    assert!(fits(&schema, &json!(["a"])));
    assert!(!fits(&schema, &json!([1])));
    assert!(!fits(&schema, &json!(["a", "b"])));
}

// proves: BASE-022, M-SCHEMA-003
#[test]
fn all_keywords_of_2020_12_are_checked() {
    let schema = json!({
        "$defs": {"name": {"$anchor": "name", "type": "string", "pattern": "^[a-z]+$"}},
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/name"},
            "b": {"$ref": "#name"},
            "pair": {"prefixItems": [{"type": "integer"}, {"type": "string"}]},
        },
        "dependentRequired": {"a": ["b"]},
        "if": {"required": ["pair"]},
        "then": {"required": ["a"]},
        "unevaluatedProperties": false,
    });
    for good in [json!({}), json!({"a": "x", "b": "y", "pair": [1, "z"]})] {
        assert!(fits(&schema, &good), "{good}");
    }
    for (bad, expected) in [
        (json!({"a": "x"}), r#""b" is required"#),
        (
            json!({"b": "X"}),
            r#"/b: expected a match of ^[a-z]+$, got the string "X""#,
        ),
        (json!({"pair": [1]}), r#""a" is required"#),
        (
            json!({"a": "x", "b": "y", "pair": ["z"]}),
            "/pair/0: expected an integer",
        ),
        (json!({"c": 1}), r#"property "c" is not allowed here"#),
    ] {
        let complaint = complaint(&schema, &bad);
        assert!(complaint.contains(expected), "{complaint}");
    }
}

// proves: BASE-025, M-SCHEMA-006
#[test]
fn the_dialect_decides_what_a_keyword_means() {
    let items = json!([{"type": "string"}]);
    let draft7 = "http://json-schema.org/draft-07/schema#";
    let schema = json!({"$schema": draft7, "items": items});
    assert!(fits(&schema, &json!(["a"])) && !fits(&schema, &json!([1])));
    // In 2020-12, `items` must not be an array.
    assert!(refusal(&json!({ "items": items }), Origin::Own).contains("/items"));

    let exclusive = json!({"minimum": 1, "exclusiveMinimum": true});
    let mut draft4 = exclusive.clone();
    draft4["$schema"] = json!("http://json-schema.org/draft-04/schema#");
    assert!(fits(&draft4, &json!(2)) && !fits(&draft4, &json!(1)));
    assert!(compile(&exclusive, Origin::Own).is_err());
}

#[test]
fn slow_regular_expressions_are_not_possible_and_large_ones_are_refused() {
    let text = format!("{}!", "a".repeat(40));
    let schema = json!({"pattern": "(a+)+$"});
    let validator = compile(&schema, Origin::Foreign).unwrap();
    assert!(validator.check(&json!(text)).is_err());

    for pattern in ["(?=a)b", r"(a)\1", "((a{0,100}){0,100}){0,100}"] {
        let refusal = refusal(&json!({ "pattern": pattern }), Origin::Foreign);
        assert!(refusal.contains("regular expression"), "{refusal}");
    }
    let names = json!({"patternProperties": {"(?=a)b": {}}});
    assert!(refusal(&names, Origin::Own).contains("regular expression"));
}

#[test]
fn only_schemas_of_the_program_may_have_an_inner_id() {
    let schema = json!({
        "$defs": {"a": {"$id": "https://example.com/a", "type": "string"}},
        "properties": {"a": {"$ref": "https://example.com/a"}},
    });
    assert!(!fits(&schema, &json!({"a": 1})));
    assert!(refusal(&schema, Origin::Foreign).contains("$defs"));

    // Two schemas with the same `$id`.
    let twice = json!({
        "$id": "https://example.com/x",
        "$defs": {"c": {"$anchor": "x", "$id": "a"}},
        "prefixItems": [{"contains": {"$id": "a", "contains": {"$ref": "#x"}}}],
    });
    assert!(compile(&twice, Origin::Own).is_err());
    let mixed = json!({"items": {"$schema": "http://json-schema.org/draft-04/schema#"}});
    assert!(refusal(&mixed, Origin::Foreign).contains("dialect"));
}

// The regular expressions in a schema from a peer share one limit.
#[test]
fn many_large_expressions_of_a_peer_are_refused() {
    let large = |n: usize| format!("(?:\\p{{L}}|\\d){{5}}x{n}");
    let pattern = |n: usize| (format!("p{n}"), json!({ "pattern": large(n) }));
    let with = |count: usize| {
        let properties: serde_json::Map<_, _> = (0..count).map(pattern).collect();
        json!({ "properties": properties })
    };
    assert!(compile(&with(4), Origin::Foreign).is_ok());
    assert!(compile(&with(40), Origin::Own).is_ok());
    let refused = refusal(&with(40), Origin::Foreign);
    assert!(refused.contains("at most 104857 bytes"), "{refused}");
}
