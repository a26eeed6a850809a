//! Types and their schemas.

#![allow(dead_code, reason = "the types are only described")]

use std::collections::{BTreeMap, HashMap, HashSet};

use mcp_schema::{Origin, Validator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

fn input_json<T: JsonSchema>() -> Value {
    let schema = input::<T>().unwrap().schema;
    Validator::compile(&schema, Origin::Foreign).unwrap();
    Value::Object(schema)
}

/// Returns the output schema. For a type that is not always an object, also returns the schema of the object that wraps
/// the output.
fn output_json<T: JsonSchema>() -> (Value, Option<Value>) {
    let Output { schema, wrapped } = output::<T>();
    for schema in wrapped.iter().chain([&schema]) {
        Validator::compile(schema, Origin::Foreign).unwrap();
    }
    (Value::Object(schema), wrapped.map(Value::Object))
}

/// Asserts that `value` matches its output schema, in each form in which it can be sent.
fn assert_output_matches<T: JsonSchema + Serialize>(value: T) {
    let Output { schema, wrapped } = output::<T>();
    let value = serde_json::to_value(value).unwrap();
    let inside = json!({ "result": value });
    for (schema, value) in [(Some(schema), value), (wrapped, inside)] {
        let Some(schema) = schema else { continue };
        let validator = Validator::compile(&schema, Origin::Own).unwrap();
        assert_eq!(validator.check(&value), Ok(()), "{}", json!(schema));
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Plain {
    A,
    B,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Documented {
    /// The first.
    A,
    /// The second.
    B,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    /// Inner x.
    x: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Tagged {
    /// Adds.
    Add {
        a: i32,
        b: Option<i32>,
    },
    Remove {
        a: String,
        id: String,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Mixed {
    Unit,
    Both(i32, String),
    Struct { x: u64 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    v: i32,
    kids: Vec<Self>,
    next: Option<Box<Self>>,
}

#[test]
fn the_schema_of_an_optional_member_does_not_advertise_null() {
    /// What it is for.
    #[derive(Deserialize, JsonSchema)]
    struct Options {
        /// How many.
        count: Option<u32>,
        inner: Option<Inner>,
        plain: Option<Plain>,
        documented: Option<Documented>,
        #[serde(default)]
        defaulted: Option<i64>,
        listed: Vec<Option<bool>>,
    }
    let boolean_or_null = json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]});
    assert_eq!(
        input_json::<Options>(),
        json!({
            "type": "object",
            "description": "What it is for.",
            "properties": {
                "count": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": u32::MAX,
                    "description": "How many.",
                },
                "inner": {
                    "type": "object",
                    "properties": {"x": {
                        "type": "integer", "minimum": 0, "maximum": 255, "description": "Inner x.",
                    }},
                    "required": ["x"],
                },
                "plain": {"type": "string", "enum": ["A", "B"]},
                "documented": {
                    "type": "string",
                    "enum": ["A", "B"],
                    "description": "- `A`: The first.\n- `B`: The second.",
                },
                "defaulted": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX},
                "listed": {"type": "array", "items": boolean_or_null},
            },
            "required": ["listed"],
        })
    );
}

#[test]
fn keywords_unknown_to_hosts_are_replaced() {
    #[derive(Deserialize, JsonSchema)]
    struct Odd {
        any: Value,
        anys: Vec<Value>,
        array: [u16; 3],
        by_number: HashMap<u32, String>,
        double: f64,
        nonzero: std::num::NonZeroI64,
        pair: (f32, f64),
        set: HashSet<String>,
        tuple: (i64, String),
        wide: u128,
    }
    assert_eq!(
        input_json::<Odd>()["properties"],
        json!({
            "any": {},
            "anys": {"type": "array", "items": {}},
            "array": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": 65535},
                "minItems": 3,
                "maxItems": 3,
            },
            "by_number": {"type": "object", "additionalProperties": {"type": "string"}},
            "double": {"type": "number"},
            "nonzero": {
                "type": "integer",
                "minimum": i64::MIN,
                "maximum": i64::MAX,
                "anyOf": [{"type": "integer", "maximum": -1}, {"type": "integer", "minimum": 1}],
            },
            "pair": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "set": {"type": "array", "items": {"type": "string"}},
            "tuple": {
                "type": "array",
                "items": {"anyOf": [
                    {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX},
                    {"type": "string"},
                ]},
                "minItems": 2,
                "maxItems": 2,
            },
            "wide": {"type": "integer", "minimum": 0, "maximum": 340_282_366_920_938_425_684_442_744_474_606_501_888.0},
        })
    );
}

// proves: TOOL-014, M-TOOL-015
#[test]
fn a_tool_without_parameters_has_a_schema_with_empty_properties() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    assert_eq!(
        input_json::<Nothing>(),
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
    assert!(input::<Nothing>().unwrap().is_empty);
    // A map accepts any members.
    assert_eq!(
        input_json::<JsonObject>(),
        json!({"type": "object", "properties": {}, "additionalProperties": true})
    );
}

#[test]
fn a_union_at_the_root_becomes_one_object() {
    let int = json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX});
    let merged = json!({
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["add", "remove"]},
            "a": {"anyOf": [int, {"type": "string"}]},
            "b": int,
            "id": {"type": "string"},
        },
        "required": ["op", "a"],
    });
    assert_eq!(input_json::<Tagged>(), merged);

    #[derive(Deserialize, JsonSchema)]
    struct Flat {
        base: bool,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        rest: BTreeMap<String, String>,
    }
    let flat = input_json::<Flat>();
    assert_eq!(flat["required"], json!(["base", "op", "a"]));
    assert_eq!(flat["properties"]["id"], merged["properties"]["id"]);
    assert_eq!(flat["additionalProperties"], json!({"type": "string"}));
}

#[test]
fn only_recursive_types_keep_a_definition() {
    let tree = input_json::<Tree>();
    assert_eq!(tree["properties"]["kids"]["items"], json!({"$ref": "#"}));
    assert_eq!(tree["properties"]["next"], json!({"$ref": "#"}));

    #[derive(Deserialize, JsonSchema)]
    struct Forest {
        first: Option<Tree>,
    }
    let forest = input_json::<Forest>();
    let next = json!({"$ref": "#/$defs/Tree"});
    assert_eq!(forest["$defs"]["Tree"]["properties"]["next"], next);
    assert_eq!(forest["properties"]["first"]["type"], "object");

    // If the root moves to `$defs`, references to the root change too.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    enum Expr {
        Number { value: i64 },
        Sum { left: Box<Self>, right: Box<Self> },
    }
    let expr = input_json::<Expr>();
    assert_eq!(expr["required"], json!(["kind"]));
    assert_eq!(expr["properties"]["left"], json!({"$ref": "#/$defs/Expr"}));
    assert!(expr["$defs"]["Expr"]["anyOf"].is_array());
}

#[test]
fn a_type_that_is_not_always_an_object_cannot_be_the_argument_type() {
    for (error, expected) in [
        (input::<Vec<i64>>(), "Vec<i64>` is an array"),
        (input::<()>(), "()` is null"),
        (input::<u64>(), "u64` is an integer"),
        (input::<Plain>(), "Plain` is a string"),
        (input::<Mixed>(), "Mixed` is not always an object"),
        (input::<Value>(), "Value` is any value"),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("struct"),
            "{error}"
        );
    }
    assert!(input::<Option<Inner>>().is_ok());
}

// proves: TOOL-032, M-TOOL-017
#[test]
fn output_that_is_not_an_object_is_wrapped_in_an_object() {
    let (schema, wrapped) = output_json::<Inner>();
    assert!(wrapped.is_none() && schema["type"] == "object");

    let (schema, wrapped) = output_json::<Vec<Inner>>();
    assert_eq!(schema["type"], "array");
    assert_eq!(
        wrapped.unwrap(),
        json!({
            "type": "object", "required": ["result"], "properties": { "result": schema }
        })
    );

    for (schema, wrapped) in [
        output_json::<i64>(),
        output_json::<Option<Inner>>(),
        output_json::<Mixed>(),
        output_json::<Value>(),
        output_json::<Vec<Tree>>(),
        output_json::<()>(),
    ] {
        assert_ne!(schema["type"], "object", "{schema}");
        assert_eq!(wrapped.unwrap()["type"], "object", "{schema}");
    }
    assert_eq!(output_json::<Tagged>().1, None);
    assert_eq!(output_json::<Tree>().1, None);
}

#[test]
fn a_wrapped_schema_keeps_its_meaning() {
    let list = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{ "$ref": "#/definitions/leaf" }, { "$ref": "#" }],
        "definitions": { "leaf": { "enum": [{ "$ref": "#" }] } }
    });
    let inside = |schema: &Value| {
        let output = Output::from(schema.as_object().unwrap().clone());
        Value::Object(output.wrapped.unwrap())
    };
    let wrapped = inside(&list);
    assert_eq!(wrapped["$schema"], list["$schema"]);
    let inner = &wrapped["properties"]["result"];
    assert_eq!(
        inner["items"],
        json!([
            { "$ref": "#/properties/result/definitions/leaf" },
            { "$ref": "#/properties/result" }
        ])
    );
    assert_eq!(inner["definitions"], list["definitions"], "no reference");

    let named = json!({ "$id": "urn:list", "type": "array", "items": { "$ref": "#" } });
    assert_eq!(inside(&named)["properties"]["result"], named);
}

// proves: BASE-024, M-SCHEMA-005
#[test]
fn generated_schemas_have_neither_a_dialect_nor_a_title() {
    for schema in [input_json::<Tree>(), output_json::<Tree>().0] {
        assert_eq!(schema.get("$schema"), None);
        assert_eq!(schema.get("title"), None);
    }
}

#[test]
fn serialized_values_match_the_schema_of_their_type() {
    #[derive(Serialize, JsonSchema)]
    struct Report {
        none: Option<String>,
        some: Option<Inner>,
        plain: Option<Plain>,
        documented: Option<Documented>,
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<i32>,
        counts: BTreeMap<u64, f32>,
        names: HashSet<String>,
        pair: (i8, char),
        mixed: Vec<Mixed>,
        tagged: Tagged,
        result: Result<u8, String>,
        big: u64,
    }
    let kids = vec![Tree {
        v: 2,
        kids: Vec::new(),
        next: None,
    }];
    let tree = || Tree {
        v: 1,
        kids: Vec::new(),
        next: None,
    };
    assert_output_matches(Tree {
        v: 0,
        kids,
        next: Some(Box::new(tree())),
    });
    assert_output_matches(vec![tree()]);
    assert_output_matches(Some(Inner { x: 255 }));
    assert_output_matches(None::<Inner>);
    assert_output_matches(Mixed::Struct { x: u64::MAX });
    assert_output_matches(Mixed::Unit);
    assert_output_matches(Tagged::Remove {
        a: String::new(),
        id: String::new(),
    });
    assert_output_matches(Report {
        none: None,
        some: Some(Inner { x: 0 }),
        plain: None,
        documented: Some(Documented::B),
        skipped: None,
        counts: BTreeMap::from([(7, 0.5)]),
        names: HashSet::from(["n".to_owned()]),
        pair: (-1, 'é'),
        mixed: vec![
            Mixed::Unit,
            Mixed::Both(1, String::new()),
            Mixed::Struct { x: 0 },
        ],
        tagged: Tagged::Add { a: 1, b: None },
        result: Ok(1),
        big: u64::MAX,
    });
}

#[test]
fn members_keep_the_order_of_their_declaration() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Answer {
        reasoning: String,
        answer: String,
        #[serde(flatten)]
        more: More,
        confidence: Option<f64>,
    }
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct More {
        zone: Option<Inner>,
        area: Inner,
    }
    let names = |schema: &JsonObject| -> Vec<String> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    let declared = ["reasoning", "answer", "zone", "area", "confidence"];
    let input = input::<Answer>().unwrap().schema;
    assert_eq!(names(&input), declared);
    assert_eq!(input["required"], json!(["reasoning", "answer", "area"]));
    assert_eq!(names(&output::<Answer>().schema), declared);

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "verb")]
    enum Verb {
        Show { name: String, at: u8 },
        Hide { name: String, why: String },
    }
    let merged = super::input::<Verb>().unwrap().schema;
    assert_eq!(names(&merged), ["verb", "name", "at", "why"]);
}

#[test]
fn two_flattened_enums_are_both_advertised() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Target {
        Name { name: String },
        Number { number: u8 },
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "verb")]
    enum Verb {
        Show { at: u8 },
        Wipe,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Order {
        #[serde(flatten)]
        target: Target,
        #[serde(flatten)]
        verb: Verb,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Outer {
        order: Order,
    }
    let properties = &input_json::<Order>()["properties"];
    for name in ["name", "number", "verb", "at"] {
        assert!(properties.get(name).is_some(), "{name}: {properties}");
    }
    let outer = input::<Outer>().unwrap().schema;
    let validator = Validator::compile(&outer, Origin::Own).unwrap();
    let check = |order: Value| validator.check(&json!({ "order": order })).is_ok();
    assert!(check(json!({"name": "n", "verb": "Show", "at": 1})));
    assert!(check(json!({"number": 1, "verb": "Wipe"})));
    assert!(!check(json!({"name": "n"})));
    assert!(!check(json!({"verb": "Wipe"})));
    assert!(!check(json!({"name": "n", "verb": 1})));
}

#[test]
fn an_optional_flattened_union_can_be_arguments() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Target {
        Name { name: String },
        Number { number: u8 },
    }
    #[derive(Deserialize, JsonSchema)]
    struct Order {
        count: u8,
        #[serde(flatten)]
        target: Option<Target>,
    }
    let order = input_json::<Order>();
    assert_eq!(order["required"], json!(["count"]));
    for name in ["count", "name", "number"] {
        assert!(order["properties"].get(name).is_some(), "{order}");
    }
}
