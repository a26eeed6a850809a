//! Forms, URL requests and their responses.

use std::collections::BTreeMap;

use mcp_types::{
    BooleanSchema, ElicitAction, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, ElicitValue, ElicitationCompleteNotificationParams,
    FormProperties, NumberKind, NumberSchema, PrimitiveSchemaDefinition, RequestedSchema,
    StringFormat, StringSchema, UrlElicitationRequired,
};
use serde_json::json;

use crate::support::{error_of, survives};

fn field(text: &str) -> PrimitiveSchemaDefinition {
    survives::<PrimitiveSchemaDefinition>(text);
    serde_json::from_str(text).unwrap()
}

// proves: ELIC-018
#[test]
fn a_text_field_of_a_form_keeps_all_its_limits() {
    let text = r#"{"type":"string","title":"T","description":"D","pattern":"^a+$","format":"email","maxLength":9,"minLength":1,"default":"a@b.c"}"#;
    let PrimitiveSchemaDefinition::String(schema) = serde_json::from_str(text).unwrap() else {
        panic!()
    };
    assert_eq!((schema.min_length, schema.max_length), (Some(1), Some(9)));
    assert_eq!(schema.pattern.as_deref(), Some("^a+$"));
    assert_eq!(schema.default.as_deref(), Some("a@b.c"));
    let encoded = serde_json::to_value(&schema).unwrap();
    assert_eq!(
        encoded,
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}

// proves: ELIC-019, M-ELIC-016
#[test]
fn unknown_text_formats_are_kept() {
    let formats = [
        StringFormat::Email,
        StringFormat::Uri,
        StringFormat::Date,
        StringFormat::DateTime,
    ];
    let wire = ["email", "uri", "date", "date-time"];
    assert_eq!(formats.each_ref().map(StringFormat::as_str), wire);
    for (format, wire) in formats.into_iter().zip(wire) {
        let schema = StringSchema::new().with_format(format);
        assert_eq!(
            serde_json::to_value(schema).unwrap(),
            json!({"type": "string", "format": wire})
        );
    }
    field(r#"{"type":"string","format":"hostname"}"#);
}

// proves: ELIC-020
#[test]
fn number_fields_distinguish_fractions_and_integers() {
    let text = r#"{"type":"number","minimum":0.5,"maximum":3,"default":3.5}"#;
    let PrimitiveSchemaDefinition::Number(schema) = field(text) else {
        panic!()
    };
    assert_eq!(schema.kind, NumberKind::Number);
    let text = r#"{"type":"integer","minimum":-1,"maximum":9007199254740993,"default":3}"#;
    let PrimitiveSchemaDefinition::Number(schema) = field(text) else {
        panic!()
    };
    assert_eq!(schema.kind, NumberKind::Integer);
    let built = NumberSchema::new(NumberKind::Integer)
        .with_minimum(1)
        .with_default(2);
    assert_eq!(
        serde_json::to_value(built).unwrap(),
        json!({"type": "integer", "minimum": 1, "default": 2})
    );
}

// proves: ELIC-021
#[test]
fn boolean_fields_keep_a_default_of_true_or_false() {
    field(r#"{"type":"boolean","default":true}"#);
    let PrimitiveSchemaDefinition::Boolean(schema) = field(r#"{"type":"boolean","default":false}"#)
    else {
        panic!()
    };
    assert_eq!(schema.default, Some(false));
}

// proves: ELIC-022, ELIC-023, ELIC-024, ELIC-025, ELIC-026, M-DEPR-007
#[test]
fn five_kinds_of_choice_are_distinguished_and_round_trip() {
    use PrimitiveSchemaDefinition as Field;
    let single = field(r#"{"type":"string","title":"T","enum":["a","b"],"default":"a"}"#);
    assert!(matches!(single, Field::UntitledSingleSelectEnum(_)));
    let titled = field(
        r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"default":"b"}"#,
    );
    assert!(matches!(titled, Field::TitledSingleSelectEnum(_)));
    let many = field(
        r#"{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":2,"minItems":1,"default":["a"]}"#,
    );
    assert!(matches!(many, Field::UntitledMultiSelectEnum(_)));
    let titled_many = field(
        r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"maxItems":2,"minItems":1,"default":[]}"#,
    );
    assert!(matches!(titled_many, Field::TitledMultiSelectEnum(_)));
    let legacy = field(r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#);
    assert!(matches!(legacy, Field::LegacyTitledEnum(_)));
}

// proves: ELIC-026
#[test]
fn a_form_of_2025_06_18_parses() {
    let text = r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{"size":{"type":"string","title":"Size","enum":["s","l"],"enumNames":["Small","Large"]},"gift":{"type":"boolean","default":false}},"required":["size"]}}"#;
    survives::<ElicitRequestParams>(text);
    let ElicitRequestParams::Form(form) = serde_json::from_str(text).unwrap() else {
        panic!()
    };
    let Some(PrimitiveSchemaDefinition::LegacyTitledEnum(size)) =
        form.requested_schema.properties.get("size")
    else {
        panic!()
    };
    assert_eq!(
        size.enum_names.as_deref(),
        Some(["Small".to_owned(), "Large".to_owned()].as_slice())
    );
}

#[test]
fn an_unknown_field_is_kept_and_a_field_without_type_is_an_error() {
    let raw = field(r#"{"default":"red","type":"colour"}"#);
    assert_eq!(
        raw,
        PrimitiveSchemaDefinition::Unknown(json!({"type": "colour", "default": "red"}))
    );
    let error = error_of::<PrimitiveSchemaDefinition>(r#"{"title":"T"}"#);
    assert!(
        error.starts_with("missing member `type` of PrimitiveSchemaDefinition"),
        "{error}"
    );
}

#[test]
fn a_form_keeps_the_order_of_its_fields() {
    let properties = FormProperties::new()
        .with("zip", StringSchema::new())
        .with("age", NumberSchema::new(NumberKind::Integer))
        .with("zip", BooleanSchema::new());
    let text = serde_json::to_string(&RequestedSchema::new(properties)).unwrap();
    assert_eq!(
        text,
        r#"{"type":"object","properties":{"zip":{"type":"boolean"},"age":{"type":"integer"}}}"#
    );
    survives::<RequestedSchema>(&text);
    let twice = r#"{"b":{"type":"string"},"a":{"type":"string"},"b":{"type":"boolean"}}"#;
    let properties: FormProperties = serde_json::from_str(twice).unwrap();
    assert_eq!(
        properties.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["b", "a"]
    );
    assert!(matches!(
        properties.get("b"),
        Some(PrimitiveSchemaDefinition::Boolean(_))
    ));
}

// proves: ELIC-013, ELIC-014, M-ELIC-013
#[test]
fn a_request_without_mode_is_a_form() {
    let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    for text in [
        format!("{{{form}}}"),
        format!(r#"{{"mode":"form",{form}}}"#),
        format!(r#"{{{form},"mode":null}}"#),
        format!(r#"{{"mode":null,{form}}}"#),
    ] {
        let params: ElicitRequestParams = serde_json::from_str(&text).unwrap();
        assert!(matches!(params, ElicitRequestParams::Form(_)), "{text}");
        assert_eq!(params.message(), Some("m"));
        assert_eq!(
            serde_json::to_string(&params).unwrap(),
            format!("{{{form}}}")
        );
    }
}

#[test]
fn a_url_request_has_all_its_members() {
    let params =
        ElicitRequestUrlParams::new("Sign in", "https://example.test/in").with_elicitation_id("e1");
    let expected = r#"{"mode":"url","message":"Sign in","url":"https://example.test/in","elicitationId":"e1"}"#;
    assert_eq!(serde_json::to_string(&params).unwrap(), expected);
    let decoded: ElicitRequestParams = serde_json::from_str(expected).unwrap();
    assert_eq!(decoded, ElicitRequestParams::from(params));
}

#[test]
fn an_unknown_mode_is_kept() {
    let text = r#"{"message":"m","mode":"telepathy"}"#;
    survives::<ElicitRequestParams>(text);
    let params: ElicitRequestParams = serde_json::from_str(text).unwrap();
    assert!(matches!(params, ElicitRequestParams::Unknown(_)));
}

// proves: SCHEMA-033
#[test]
fn responses_of_every_kind_round_trip() {
    let text = r#"{"action":"accept","content":{"a":1.5,"b":true,"c":"x","d":["a","b"],"e":3,"f":18446744073709551615}}"#;
    survives::<ElicitResult>(text);
    let result: ElicitResult = serde_json::from_str(text).unwrap();
    let content = result.content.unwrap();
    assert_eq!(content["a"].as_f64(), Some(1.5));
    assert_eq!(content["b"].as_bool(), Some(true));
    assert_eq!(content["c"].as_str(), Some("x"));
    assert_eq!(content["d"].as_strings().map(<[String]>::len), Some(2));
    assert_eq!(content["e"].as_i64(), Some(3));
    for refused in ["null", "{}", "[1]", "[[\"a\"]]"] {
        error_of::<ElicitValue>(refused);
    }
}

#[test]
fn only_an_accepted_form_has_content() {
    let answers = [
        ElicitResult::accept(None),
        ElicitResult::decline(),
        ElicitResult::cancel(),
    ];
    let texts = answers.map(|answer| serde_json::to_string(&answer).unwrap());
    assert_eq!(
        texts,
        [
            r#"{"action":"accept"}"#,
            r#"{"action":"decline"}"#,
            r#"{"action":"cancel"}"#
        ]
    );
    let form = ElicitResult::accept(BTreeMap::from([("a".to_owned(), 3.into())]));
    assert_eq!(
        serde_json::to_string(&form).unwrap(),
        r#"{"action":"accept","content":{"a":3}}"#
    );
    let later: ElicitResult = serde_json::from_str(r#"{"action":"postpone"}"#).unwrap();
    assert_eq!(later.action, ElicitAction::Unknown("postpone".into()));
}

// proves: SCHEMA-009
#[test]
fn the_error_that_requires_a_url_has_typed_data() {
    let data = json!({"elicitations": [
        {"mode": "url", "message": "m", "url": "https://example.test", "elicitationId": "e1"}
    ]});
    let required: UrlElicitationRequired = serde_json::from_value(data.clone()).unwrap();
    assert_eq!(
        required.elicitations[0].elicitation_id.as_deref(),
        Some("e1")
    );
    assert_eq!(serde_json::to_value(&required).unwrap(), data);
    assert_eq!(UrlElicitationRequired::CODE.0, -32042);
}

#[test]
fn a_completion_without_its_id_is_rejected() {
    assert!(error_of::<ElicitationCompleteNotificationParams>("{}").contains("elicitationId"));
}

#[test]
fn the_params_of_a_form_request_are_written_without_a_mode() {
    let form = ElicitRequestFormParams::new("m", RequestedSchema::new(FormProperties::new()));
    let text = serde_json::to_string(&form).unwrap();
    assert_eq!(
        text,
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#
    );
}
