//! Metadata, its keys, capabilities, and absent members.

use mcp_types::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, InitializeRequestParams,
    LoggingLevel, Meta, MetaKey, MetaKeyError, MetaKeyKind, ProgressNotificationParams,
    ProgressToken, RequestId, ServerCapabilities,
};
use serde_json::{Value, json};

use crate::generate::Generator;
use crate::generated_table::TABLE;
use crate::support::{Schema, error_of, schema_dir, survives};

// proves: BASE-029, BASE-030, M-META-019, M-META-020
#[test]
fn prefixes_are_labels_before_one_slash() {
    for key in ["com.example/x", "com.ex-ample9/x", "a/b", "A1.b2/C3"] {
        assert_eq!(MetaKey::check(key), Ok(MetaKeyKind::Prefixed), "{key}");
    }
    for key in [
        "com..example/x",
        "/x",
        ".com/x",
        "com./x",
        "1com.example/x",
        "com-.example/x",
        "-com/x",
        "com.ex_ample/x",
        "cöm/x",
    ] {
        assert_eq!(MetaKey::check(key), Err(MetaKeyError::Label), "{key}");
    }
    assert_eq!(MetaKey::check("a/b/c"), Err(MetaKeyError::Name));
}

// proves: BASE-032, M-META-022
#[test]
fn prefixes_of_the_protocol_are_recognized_by_their_second_label() {
    for key in [
        "dev.mcp/x",
        "io.modelcontextprotocol/x",
        "com.mcp.tools/x",
        "io.modelcontextprotocol/",
    ] {
        assert_eq!(MetaKey::check(key), Ok(MetaKeyKind::Reserved), "{key}");
    }
    for key in ["com.example.mcp/x", "com.mcpx/x", "mcp/x"] {
        assert_eq!(MetaKey::check(key), Ok(MetaKeyKind::Prefixed), "{key}");
    }
}

// proves: BASE-033, BASE-034, M-META-023, M-META-024
#[test]
fn names_begin_and_end_with_a_letter_or_digit() {
    assert_eq!(MetaKey::check("com.a/x_y-z.w"), Ok(MetaKeyKind::Prefixed));
    assert_eq!(MetaKey::check("com.a/"), Ok(MetaKeyKind::Prefixed));
    for key in ["x", "progressToken", "9", "a.b_c-d"] {
        assert_eq!(MetaKey::check(key), Ok(MetaKeyKind::Plain), "{key}");
    }
    for key in ["com.a/_x", "x-", "_x", "a b", "a:b", "ä", "com.a/x."] {
        assert_eq!(MetaKey::check(key), Err(MetaKeyError::Name), "{key}");
    }
    assert_eq!(MetaKey::check(""), Err(MetaKeyError::Empty));
}

// proves: BASE-028, M-META-018
#[test]
fn invalid_values_under_reserved_keys_pass_through() {
    let text = r#"{"name":"t","_meta":{"io.modelcontextprotocol/later":[1,null],"io.modelcontextprotocol/related-task":7,"progressToken":{}}}"#;
    survives::<CallToolRequestParams>(text);
    let params: CallToolRequestParams = serde_json::from_str(text).unwrap();
    let meta = params.meta.unwrap();
    assert_eq!(meta.progress_token(), None);
    assert_eq!(meta.related_task(), None);
}

#[test]
fn the_progress_token_keeps_its_type() {
    for (token, json) in [(ProgressToken::from(7), json!(7)), ("7".into(), json!("7"))] {
        let mut meta = Meta::new();
        meta.set_progress_token(token.clone());
        assert_eq!(
            serde_json::to_value(&meta).unwrap(),
            json!({"progressToken": json})
        );
        assert_eq!(meta.progress_token(), Some(token));
    }
    for refused in ["1.5", "null", "true", "[]", "9223372036854775808"] {
        error_of::<ProgressToken>(refused);
    }
    survives::<ProgressToken>("9007199254740993");
}

#[test]
fn a_related_task_is_written_to_and_read_from_meta() {
    let mut meta = Meta::new();
    meta.set_related_task("t1");
    assert_eq!(meta.related_task().unwrap().task_id, "t1");
    let expected = r#"{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}"#;
    assert_eq!(serde_json::to_string(&meta).unwrap(), expected);
}

// proves: SCHEMA-035, PROG-006
#[test]
fn a_progress_value_without_a_fraction_is_written_as_an_integer() {
    survives::<ProgressNotificationParams>(
        r#"{"progressToken":"a","progress":3,"total":10,"message":"m"}"#,
    );
    survives::<ProgressNotificationParams>(r#"{"progressToken":7,"progress":0.25}"#);
    let small: ProgressNotificationParams =
        serde_json::from_str(r#"{"progressToken":7,"progress":1e-3}"#).unwrap();
    assert_eq!((small.progress, small.total), (0.001, None));
    assert!(error_of::<ProgressNotificationParams>(r#"{"progress":1}"#).contains("progressToken"));
    assert!(error_of::<ProgressNotificationParams>(r#"{"progressToken":1}"#).contains("progress"));
    let nonsense = ProgressNotificationParams::new(ProgressToken::from(1), f64::NAN);
    assert!(serde_json::to_string(&nonsense).is_err());
}

#[test]
fn unknown_capabilities_round_trip() {
    let client = r#"{"experimental":{"a":{"b":1}},"roots":{"listChanged":true},"x-foo":{"a":1}}"#;
    survives::<ClientCapabilities>(client);
    let capabilities: ClientCapabilities = serde_json::from_str(client).unwrap();
    assert_eq!(capabilities.extra["x-foo"], json!({"a": 1}));
    survives::<ServerCapabilities>(r#"{"completions":{},"logging":{},"tools":{},"x-foo":7}"#);
    let text = r#"{"protocolVersion":"2025-11-25","capabilities":{"x-foo":{"a":1}},"clientInfo":{"name":"c","version":"1"}}"#;
    survives::<InitializeRequestParams>(text);
}

// proves: SCHEMA-014, M-BASE-028
#[test]
fn unknown_members_of_a_result_are_ignored_and_meta_is_kept() {
    let text = r#"{"content":[],"later":{"a":1},"_meta":{"com.example/a":1}}"#;
    let result: CallToolResult = serde_json::from_str(text).unwrap();
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"content":[],"_meta":{"com.example/a":1}}"#
    );
    survives::<mcp_types::OpenResult>(r#"{"_meta":{},"later":{"a":1}}"#);
}

// proves: SCHEMA-017
#[test]
fn null_reads_as_absent_and_is_never_written() {
    let Some(dir) = schema_dir() else { return };
    let schema = Schema::load(&dir, "2025-11-25").unwrap();
    for (name, round_trip) in TABLE {
        let definition = &schema.definitions()[name];
        let Some(properties) = definition["properties"].as_object() else {
            continue;
        };
        let required: Vec<&Value> = definition["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let mut value = Generator::new(&schema, &[]).value(definition);
        for property in properties
            .keys()
            .filter(|property| !required.contains(&&Value::from(property.as_str())))
        {
            value[property] = Value::Null;
        }
        if matches!(*name, "Result" | "GetTaskPayloadResult") {
            continue;
        }
        let encoded = round_trip(&value.to_string())
            .unwrap_or_else(|error| panic!("{name}: {error} in {value}"));
        let encoded: Value = serde_json::from_str(&encoded).unwrap();
        let nulls = encoded
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, member)| member.is_null());
        let nulls: Vec<_> = nulls.map(|(member, _)| member.as_str()).collect();
        // Null is a valid value of the first two, and of the last since 2026-07-28.
        let allowed = nulls.iter().all(|member| {
            matches!(
                (*name, *member),
                (_, "ttl" | "data") | ("ToolResultContent", "structuredContent")
            )
        });
        assert!(allowed, "{name}: {encoded}");
    }
}

// proves: LOG-002, M-LOG-007
#[test]
fn the_eight_log_levels_are_ordered_and_no_other_level_is_accepted() {
    let names = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    let levels: Vec<LoggingLevel> = names.iter().map(|name| name.parse().unwrap()).collect();
    assert!(levels.is_sorted());
    assert_eq!(levels, LoggingLevel::ALL);
    for (level, name) in levels.iter().zip(names) {
        assert_eq!(serde_json::to_value(level).unwrap(), json!(name));
        survives::<LoggingLevel>(&format!("\"{name}\""));
    }
    for foreign in ["\"warn\"", "\"ERROR\"", "\"\"", "3"] {
        assert!(error_of::<LoggingLevel>(foreign).contains("`emergency`"));
    }
}

#[test]
fn request_ids_are_the_ids_of_the_json_rpc_envelope() {
    let params: mcp_types::CancelledNotificationParams =
        serde_json::from_str(r#"{"requestId":7}"#).unwrap();
    assert_eq!(params.request_id, Some(RequestId::Number(7)));
}
