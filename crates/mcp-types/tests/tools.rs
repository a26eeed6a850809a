//! Tools, resources, icons and implementations.

use mcp_types::{
    Annotations, CallToolResult, Icon, IconTheme, Implementation, ListResourcesResult,
    ListToolsResult, Prompt, Resource, TaskSupport, Tool, ToolAnnotations,
};
use serde_json::json;

use crate::support::{error_of, survives};

fn tool(text: &str) -> Tool {
    serde_json::from_str(text).unwrap()
}

// proves: TOOL-039
#[test]
fn a_result_without_is_error_is_a_success() {
    let silent: CallToolResult = serde_json::from_str(r#"{"content":[]}"#).unwrap();
    assert_eq!((silent.is_error, silent.is_error()), (None, false));
    let failed: CallToolResult = serde_json::from_str(r#"{"content":[],"isError":true}"#).unwrap();
    assert!(failed.is_error());
    assert!(CallToolResult::error("no").is_error());
    assert_eq!(CallToolResult::error("no").joined_text(), "no");
}

// proves: SCHEMA-029
#[test]
fn a_result_needs_content_and_nothing_else() {
    survives::<CallToolResult>(r#"{"content":[]}"#);
    survives::<CallToolResult>(
        r#"{"content":[],"structuredContent":{"a":1},"isError":false,"_meta":{"a":1}}"#,
    );
    survives::<CallToolResult>(r#"{"content":[],"structuredContent":[1,"a"]}"#);
    assert!(error_of::<CallToolResult>("{}").contains("missing field `content`"));
}

// proves: TOOL-040, SCHEMA-023, M-BASE-027
#[test]
fn the_display_name_is_the_title_the_annotated_title_or_the_name() {
    let schema = r#""inputSchema":{"type":"object"}"#;
    let all = tool(&format!(
        r#"{{"name":"n","title":"t","annotations":{{"title":"a"}},{schema}}}"#
    ));
    assert_eq!(all.display_name(), "t");
    let annotated = tool(&format!(
        r#"{{"name":"n","annotations":{{"title":"a"}},{schema}}}"#
    ));
    assert_eq!(annotated.display_name(), "a");
    assert_eq!(
        tool(&format!(r#"{{"name":"n",{schema}}}"#)).display_name(),
        "n"
    );
    assert_eq!(Prompt::new("n").display_name(), "n");
    assert_eq!(Prompt::new("n").with_title("t").display_name(), "t");
    assert_eq!(Resource::new("a:b", "n").display_name(), "n");
}

// proves: TOOL-041
#[test]
fn absent_hints_have_their_defaults() {
    let silent = ToolAnnotations::new();
    assert_eq!(
        (
            silent.read_only(),
            silent.destructive(),
            silent.idempotent(),
            silent.open_world()
        ),
        (false, true, false, true)
    );
    let opposite = silent
        .with_read_only_hint(true)
        .with_destructive_hint(false)
        .with_idempotent_hint(true)
        .with_open_world_hint(false);
    assert_eq!(
        (
            opposite.read_only(),
            opposite.destructive(),
            opposite.idempotent(),
            opposite.open_world()
        ),
        (true, false, true, false)
    );
}

#[test]
fn the_schemas_of_a_tool_are_read_and_written_without_a_change() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a": {"x-later": [1, null]}},
        "additionalProperties": false, "oneOf": [{"$ref": "#/$defs/a"}], "type": "object"
    });
    let text = json!({"name": "t", "inputSchema": schema, "outputSchema": schema});
    let tool: Tool = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(tool).unwrap(), text);
}

// proves: SCHEMA-032
#[test]
fn a_tool_keeps_icons_execution_and_meta() {
    for support in ["forbidden", "optional", "required"] {
        survives::<Tool>(&format!(
            r#"{{"name":"t","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"{support}"}},"icons":[{{"src":"data:,"}}],"_meta":{{"a":1}}}}"#
        ));
        assert_ne!(
            TaskSupport::from(support),
            TaskSupport::Unknown(support.into())
        );
    }
}

// proves: SCHEMA-020
#[test]
fn an_implementation_needs_name_and_version() {
    survives::<Implementation>(r#"{"name":"n","version":"1"}"#);
    survives::<Implementation>(
        r#"{"name":"n","title":"t","version":"1","description":"d","icons":[],"websiteUrl":"https://example.test"}"#,
    );
    assert!(error_of::<Implementation>(r#"{"name":"n"}"#).contains("version"));
    assert!(error_of::<Implementation>(r#"{"version":"1"}"#).contains("name"));
}

// proves: SCHEMA-021, M-ICON-001, M-ICON-007
#[test]
fn an_icon_needs_a_source() {
    survives::<Icon>(r#"{"src":"https://example.test/i.png"}"#);
    survives::<Icon>(
        r#"{"src":"data:,","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}"#,
    );
    survives::<Icon>(r#"{"src":"data:,","theme":"sepia"}"#);
    assert_eq!(IconTheme::from("light"), IconTheme::Light);
    assert!(error_of::<Icon>(r#"{"mimeType":"image/png"}"#).contains("src"));
}

// proves: ICON-006, ICON-007, M-ICON-005
#[test]
fn icons_of_unsafe_origin_parse_and_are_dropped() {
    let sources = [
        "https://example.test/i.png",
        "DATA:image/png;base64,aGk=",
        "http://example.test/i.png",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.test/i",
        "ws://example.test",
        "app-icon:1",
        "i.png",
        "//example.test/i",
        "",
        " https://example.test",
        "httpsx:a",
    ];
    let icons: Vec<_> = sources.iter().map(|src| json!({"src": src})).collect();
    let list = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "icons": icons}]});
    let list: ListToolsResult = serde_json::from_value(list).unwrap();
    let icons = list.tools[0].icons.as_deref().unwrap();
    assert_eq!(icons.len(), sources.len());
    let safe: Vec<_> = Icon::safe(icons).map(|icon| icon.src.as_str()).collect();
    assert_eq!(safe, sources[..2]);
}

// proves: RES-018
#[test]
fn a_resource_keeps_all_members() {
    survives::<Resource>(
        r#"{"uri":"file:///a","name":"n","title":"t","description":"d","mimeType":"text/plain","icons":[{"src":"data:,"}],"size":4294967297,"annotations":{"priority":1}}"#,
    );
}

// proves: RES-022, M-RES-023
#[test]
fn a_priority_out_of_range_is_refused_when_built_and_kept_when_read() {
    for refused in [1.5, -0.1, f64::NAN] {
        assert!(Annotations::new().with_priority(refused).is_err());
    }
    assert_eq!(
        Annotations::new().with_priority(1.0).unwrap().priority,
        Some(1.0)
    );
    survives::<ListResourcesResult>(
        r#"{"resources":[{"uri":"a:b","name":"n","annotations":{"priority":1.5}},{"uri":"a:c","name":"m"}]}"#,
    );
}
