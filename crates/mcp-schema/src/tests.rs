//! Tests of both engines.

#[cfg(feature = "validate")]
mod full;
mod hostile;

use serde_json::{Value, json};

use super::{Origin, SchemaError, Validator};

fn compile(schema: &Value, origin: Origin) -> Result<Validator, SchemaError> {
    Validator::compile(schema.as_object().unwrap(), origin)
}

fn own(schema: &Value) -> Validator {
    compile(schema, Origin::Own).unwrap()
}

fn fits(schema: &Value, value: &Value) -> bool {
    own(schema).check(value).is_ok()
}

fn complaint(schema: &Value, value: &Value) -> String {
    own(schema).check(value).unwrap_err().to_string()
}

fn refusal(schema: &Value, origin: Origin) -> String {
    compile(schema, origin).unwrap_err().to_string()
}

#[test]
fn a_validator_can_be_shared() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<Validator>();
    shared::<SchemaError>();
}

#[test]
fn values_of_each_json_type_are_distinguished() {
    let values = [
        ("array", json!([])),
        ("boolean", json!(true)),
        ("integer", json!(7)),
        ("null", json!(null)),
        ("number", json!(0.5)),
        ("object", json!({})),
        ("string", json!("7")),
    ];
    for (name, _) in &values {
        for (other, value) in &values {
            let expected = name == other || (*name == "number" && *other == "integer");
            let schema = json!({ "type": name });
            assert_eq!(fits(&schema, value), expected, "{name} {value}");
        }
    }
    assert!(fits(&json!({"type": "integer"}), &json!(2.0)));
    assert!(fits(&json!({"type": ["string", "null"]}), &json!(null)));
}

/// Invalid values, each with the violation that the schema of the test reports.
const COMPLAINTS: &[(&str, &str)] = &[
    (r#"[]"#, "expected an object, got an array of 0"),
    (r#"{}"#, r#"property "n" is required and missing"#),
    (r#"{"n": 1, "x": 2}"#, r#"property "x" is not allowed here"#),
    (r#"{"n": 0}"#, "/n: expected a number of at least 1, got 0"),
    (r#"{"n": 10}"#, "/n: expected a number of at most 9, got 10"),
    (r#"{"n": 1.5}"#, "/n: expected an integer, got 1.5"),
    (
        r#"{"n": 1, "name": "é"}"#,
        "/name: expected at least 2 characters, got 1",
    ),
    (
        r#"{"n": 1, "name": "éééé"}"#,
        "/name: expected at most 3 characters, got 4",
    ),
    (
        r#"{"n": 1, "name": 5}"#,
        "/name: expected null or a string, got 5",
    ),
    (
        r#"{"n": 1, "tags": []}"#,
        "/tags: expected at least 1 item, got 0",
    ),
    (
        r#"{"n": 1, "tags": ["", "", ""]}"#,
        "/tags: expected at most 2 items, got 3",
    ),
    (
        r#"{"n": 1, "tags": ["", 5]}"#,
        "/tags/1: expected a string, got 5",
    ),
    (
        r#"{"n": 1, "level": "mid"}"#,
        r#"/level: expected one of "low", "high", got the string "mid""#,
    ),
    (r#"{"n": 1, "a/b": 2}"#, "/a~1b: expected 1, got 2"),
];

#[test]
fn errors_name_the_location_and_the_expected_value() {
    let schema = json!({
        "$defs": {"level": {"enum": ["low", "high"]}},
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
            "name": {"type": ["string", "null"], "minLength": 2, "maxLength": 3},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            "level": {"$ref": "#/$defs/level"},
            "a/b": {"const": 1},
        },
        "required": ["n"],
        "additionalProperties": false,
    });
    for (value, expected) in COMPLAINTS {
        let complaint = complaint(&schema, &serde_json::from_str(value).unwrap());
        let expected = match complaint.contains("a string or null") {
            true => expected.replace("null or a string", "a string or null"),
            false => (*expected).to_owned(),
        };
        assert_eq!(complaint, expected);
    }
    assert!(fits(
        &schema,
        &json!({"n": 1, "name": null, "level": "low", "a/b": 1.0})
    ));
}

#[test]
fn a_value_that_matches_no_alternative_reports_the_closest_alternative() {
    let circle = json!({"properties": {"r": {"type": "number"}}, "required": ["r"]});
    let square = json!({"properties": {"side": {"type": "number"}}, "required": ["side"]});
    for keyword in ["anyOf", "oneOf"] {
        let schema = json!({ keyword: [circle, square] });
        assert!(fits(&schema, &json!({"side": 1})));
        assert_eq!(
            complaint(&schema, &json!({"side": "1"})),
            "/side: matches none of the 2 alternatives; the closest: expected a number, got the \
             string \"1\""
        );
    }
    let schema = json!({"anyOf": [circle, square]});
    assert_eq!(
        complaint(&schema, &json!({})),
        "matches none of the 2 alternatives: property \"r\" is required and missing, or: property \
         \"side\" is required and missing"
    );
    let both = json!({"r": 1, "side": 1});
    assert!(fits(&json!({"anyOf": [circle, square]}), &both));
    assert!(complaint(&json!({"oneOf": [circle, square]}), &both).contains("exactly one"));
    assert!(fits(&json!({"allOf": [circle, square]}), &both));
    assert!(!fits(&json!({"allOf": [circle, square]}), &json!({"r": 1})));
}

#[test]
fn several_violations_are_reported_up_to_a_limit() {
    let kind = json!({"anyOf": [{"const": "a"}, {"type": "integer"}]});
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "n": {"type": "integer", "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string", "minLength": 1}},
            "kind": kind,
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    let value = json!({"n": 10, "tags": ["ok", "", 3], "kind": true, "other": 1});
    let all = own(&schema).violations(&value, 10);
    let mut pointers: Vec<&str> = all.iter().map(|it| it.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["", "", "/kind", "/n", "/tags/1", "/tags/2"]);
    for max in [1, 2, 5, 6] {
        assert_eq!(own(&schema).violations(&value, max).len(), max);
    }
    assert_eq!(own(&schema).violations(&value, 0).len(), 1);
    assert_eq!(own(&schema).violations(&json!({"id": 1, "kind": 2}), 5), []);
}

#[test]
fn schemas_may_refer_to_themselves() {
    let tree = json!({
        "$defs": {"node": {
            "type": "object",
            "properties": {
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "more": {"type": "array", "items": {"$ref": "#"}},
            },
            "required": ["v"],
        }},
        "allOf": [{"$ref": "#/$defs/node"}],
    });
    let leaf = json!({"v": 1});
    assert!(fits(
        &tree,
        &json!({"v": 1, "left": {"v": 1, "right": leaf}, "more": [leaf]})
    ));
    let complaint = complaint(&tree, &json!({"v": 1, "left": {"v": 1, "more": [{}]}}));
    assert_eq!(
        complaint,
        r#"/left/more/0: property "v" is required and missing"#
    );
}

#[test]
fn quoted_values_are_short() {
    let long = "x".repeat(5_000);
    let schema = json!({"additionalProperties": {"type": "integer"}});
    let violation = own(&schema).check(&json!({ &long: &long })).unwrap_err();
    assert!(violation.to_string().len() < 256, "{violation}");
    assert_eq!(violation.pointer.chars().count(), 66);
    let closed = json!({"additionalProperties": false});
    assert!(complaint(&closed, &json!({ &long: 1 })).len() < 256);
    let chosen = json!({"enum": [&long, "b"]});
    assert!(complaint(&chosen, &json!("y".repeat(5_000))).len() < 512);
}

// proves: M-SCHEMA-008
#[test]
fn malformed_schemas_are_refused() {
    for schema in [
        json!({"type": "text"}),
        json!({"type": 5}),
        json!({"properties": []}),
        json!({"required": "a"}),
        json!({"minLength": -1}),
        json!({"anyOf": []}),
        json!({"items": "string"}),
        json!({"enum": "a"}),
        json!({"minimum": "1"}),
    ] {
        let refusal = refusal(&schema, Origin::Own);
        assert!(refusal.contains("malformed"), "{refusal}");
    }
    let nowhere = json!({"properties": {"a": {"$ref": "#/$defs/nowhere"}}});
    for origin in [Origin::Own, Origin::Foreign] {
        assert!(refusal(&nowhere, origin).contains("nowhere"));
    }
}

// proves: BASE-026, M-SCHEMA-007
#[test]
fn an_unknown_dialect_is_refused_with_its_name() {
    let uri = "https://example.com/dialects/mine";
    for schema in [
        json!({"$schema": uri}),
        json!({"properties": {"a": {"$schema": uri}}}),
    ] {
        let refusal = refusal(&schema, Origin::Foreign);
        assert!(
            refusal.contains(uri) && refusal.contains("2020-12"),
            "{refusal}"
        );
    }
    assert!(refusal(&json!({"$schema": 7}), Origin::Own).contains("$schema"));
}

#[test]
fn dialects_are_known_by_their_uri() {
    for uri in [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft/2020-12/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
    ] {
        let schema = json!({"$schema": uri, "type": "object"});
        assert!(fits(&schema, &json!({})) && !fits(&schema, &json!(1)));
    }
    // In draft-07, keywords beside `$ref` are ignored.
    let hidden = |uri: &str| {
        json!({
            "$schema": uri,
            "definitions": {"any": {}},
            "properties": {"a": {"$ref": "#/definitions/any", "type": "string"}},
        })
    };
    let draft7 = hidden("http://json-schema.org/draft-07/schema#");
    assert!(fits(&draft7, &json!({"a": 1})));
    let newest = hidden("https://json-schema.org/draft/2020-12/schema");
    assert!(!fits(&newest, &json!({"a": 1})));
}

#[cfg(not(feature = "validate"))]
#[test]
fn unsupported_keywords_are_rejected_with_the_name_of_the_feature() {
    for (keyword, value) in [
        ("pattern", json!("a+")),
        ("not", json!({})),
        ("if", json!({})),
        ("prefixItems", json!([{}])),
        ("unevaluatedProperties", json!(false)),
        ("dependentRequired", json!({})),
        ("multipleOf", json!(2)),
        ("uniqueItems", json!(true)),
        ("$anchor", json!("a")),
        ("$dynamicRef", json!("#a")),
    ] {
        let error = compile(
            &json!({ "properties": {"a": {keyword: value}} }),
            Origin::Own,
        );
        let error = error.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(keyword), "{text}");
        assert!(text.contains("\"validate\""), "{text}");
        assert!(error.is_missing_feature());
    }
    let annotated = json!({"title": "t", "x-unit": "kg", "format": "date", "$comment": "c"});
    assert!(fits(&annotated, &json!("no date")));
}
