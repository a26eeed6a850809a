//! Unions: the variant, unknown members, and error texts.

use mcp_types::{
    AudioContent, BlobResourceContents, CallToolResult, CompleteRequestParams, CompletionReference,
    ContentBlock, EmbeddedResource, ImageContent, PromptMessage, ReadResourceResult, Resource,
    ResourceContents, ResourceLink, Role, TextContent,
};
use serde_json::json;

use crate::support::{error_of, survives};

const BLOCKS: [&str; 5] = [
    r#"{"type":"text","text":"hi","annotations":{"audience":["user","assistant"],"lastModified":"2025-01-12T15:00:58Z","priority":0.5}}"#,
    r#"{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{"priority":1}}"#,
    r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav","annotations":{"priority":0}}"#,
    r#"{"type":"resource_link","uri":"file:///a","name":"a","annotations":{"audience":["user"]}}"#,
    r#"{"type":"resource","resource":{"uri":"file:///a","text":"hi"},"annotations":{"audience":["assistant"]}}"#,
];

fn arm(text: &str) -> &'static str {
    match serde_json::from_str::<ContentBlock>(text).unwrap() {
        ContentBlock::Text(_) => "text",
        ContentBlock::Image(_) => "image",
        ContentBlock::Audio(_) => "audio",
        ContentBlock::ResourceLink(_) => "resource_link",
        ContentBlock::Resource(_) => "resource",
        ContentBlock::Unknown(_) => "unknown",
        _ => "new arm",
    }
}

// proves: SCHEMA-024, SCHEMA-028, TOOL-022, TOOL-023
#[test]
fn five_block_types_round_trip_with_annotations() {
    for (text, expected) in
        BLOCKS
            .iter()
            .zip(["text", "image", "audio", "resource_link", "resource"])
    {
        survives::<ContentBlock>(text);
        assert_eq!(arm(text), expected);
    }
    survives::<CallToolResult>(&format!(r#"{{"content":[{}]}}"#, BLOCKS.join(",")));
}

// proves: SCHEMA-024
#[test]
fn an_unknown_block_keeps_all_members_and_its_neighbours() {
    let text = r#"{"content":[{"type":"text","text":"a"},{"depth":[1,null],"type":"hologram"}]}"#;
    let result: CallToolResult = serde_json::from_str(text).unwrap();
    assert_eq!(
        result.content[1],
        ContentBlock::Unknown(json!({"type": "hologram", "depth": [1, null]}))
    );
    survives::<CallToolResult>(text);
    survives::<ContentBlock>(r#"{"depth":1,"type":"hologram"}"#);
}

#[test]
fn the_discriminator_of_a_union_may_be_at_any_position() {
    assert_eq!(arm(r#"{"text":"a","type":"text"}"#), "text");
    assert_eq!(
        arm(r#"{"mimeType":"image/png","type":"image","data":""}"#),
        "image"
    );
    assert_eq!(
        arm(r#"{"zzz":{"type":"image"},"type":"text","text":"a"}"#),
        "text"
    );
    let escaped = r#"{"\u0074ype":"te\u0078t","text":"a"}"#;
    assert_eq!(arm(escaped), "text");
    let from_value: ContentBlock =
        serde_json::from_value(json!({"text": "a", "type": "text"})).unwrap();
    assert_eq!(from_value.as_text(), Some("a"));
}

#[test]
fn the_error_of_a_missing_discriminator_names_the_expected_values() {
    for text in ["{}", r#"{"text":"a"}"#] {
        let error = error_of::<ContentBlock>(text);
        let expected = "missing member `type` of ContentBlock, expected one of `text`, `image`, `audio`, `resource_link`, `resource`";
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_discriminator_of_the_wrong_type_is_named() {
    for (text, found) in [
        (r#"{"type":5,"text":"a"}"#, "integer `5`"),
        (r#"{"text":"a","type":null}"#, "null"),
    ] {
        let error = error_of::<ContentBlock>(text);
        assert!(
            error.contains("a string as member `type` of ContentBlock"),
            "{error}"
        );
        assert!(error.contains(found), "{error}");
    }
    for text in ["[]", "null", "\"text\"", "7"] {
        assert!(error_of::<ContentBlock>(text).contains("expected a ContentBlock object"));
    }
}

#[test]
fn the_error_of_a_variant_names_its_member() {
    for text in [
        r#"{"type":"image","data":""}"#,
        r#"{"data":"","type":"image"}"#,
    ] {
        assert!(error_of::<ContentBlock>(text).contains("missing field `mimeType`"));
    }
    let error = error_of::<CallToolResult>(r#"{"content":[{"type":"text","text":7}]}"#);
    assert!(
        error.contains("invalid type: integer `7`, expected a string"),
        "{error}"
    );
    assert!(!error.contains("variant"), "{error}");
}

// proves: TOOL-024
#[test]
fn a_link_has_uri_and_name_at_its_top_level() {
    let link = ContentBlock::resource_link("file:///a", "a");
    assert_eq!(
        serde_json::to_value(link).unwrap(),
        json!({"type": "resource_link", "uri": "file:///a", "name": "a"})
    );
}

// proves: TOOL-026, SCHEMA-027
#[test]
fn the_annotations_of_an_embedded_resource_are_beside_the_nested_resource() {
    let mut block = EmbeddedResource::new(ResourceContents::text("file:///a", "hi"));
    block.annotations = serde_json::from_str(r#"{"priority":0.5}"#).unwrap();
    let expected = json!({
        "type": "resource", "resource": {"uri": "file:///a", "text": "hi"}, "annotations": {"priority": 0.5}
    });
    assert_eq!(
        serde_json::to_value(ContentBlock::from(block)).unwrap(),
        expected
    );
    let blob = ContentBlock::resource(BlobResourceContents::new("file:///b", "aGk="));
    assert_eq!(
        serde_json::to_value(blob).unwrap()["resource"],
        json!({"uri": "file:///b", "blob": "aGk="})
    );
    let nested = r#"{"type":"resource","resource":{"uri":"file:///a","text":"hi","annotations":{"priority":1}}}"#;
    assert_eq!(arm(nested), "resource");
}

#[test]
fn resource_contents_are_distinguished_by_their_payload() {
    let text = r#"{"contents":[{"uri":"a:b","text":""},{"uri":"a:b","mimeType":"x/y","blob":""},{"later":1,"uri":"a:b"}]}"#;
    let result: ReadResourceResult = serde_json::from_str(text).unwrap();
    assert!(matches!(result.contents[0], ResourceContents::Text(_)));
    assert!(matches!(result.contents[1], ResourceContents::Blob(_)));
    assert_eq!(
        result.contents[2],
        ResourceContents::Unknown(json!({"uri": "a:b", "later": 1}))
    );
    assert!(
        result
            .contents
            .iter()
            .all(|contents| contents.uri() == Some("a:b"))
    );
    survives::<ReadResourceResult>(text);
    assert!(error_of::<ResourceContents>(r#"{"text":"a"}"#).contains("missing field `uri`"));
}

// proves: SCHEMA-036, M-COMP-002
#[test]
fn a_completion_reference_is_distinguished_by_its_type() {
    let text = r#"{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":"b"}}"#;
    let params: CompleteRequestParams = serde_json::from_str(text).unwrap();
    assert!(matches!(params.reference, CompletionReference::Prompt(_)));
    survives::<CompleteRequestParams>(text);
    survives::<CompletionReference>(r#"{"type":"ref/prompt","name":"p"}"#);
    survives::<CompletionReference>(r#"{"type":"ref/resource","uri":"file:///{path}"}"#);
    survives::<CompletionReference>(r#"{"type":"ref/tool","uri":"a"}"#);
}

// proves: SCHEMA-026
#[test]
fn prompt_content_is_one_block() {
    let message = PromptMessage::user("hi");
    assert_eq!(
        serde_json::to_string(&message).unwrap(),
        r#"{"role":"user","content":{"type":"text","text":"hi"}}"#
    );
    let error =
        error_of::<PromptMessage>(r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#);
    assert!(error.contains("expected a ContentBlock object"), "{error}");
}

// proves: RES-021, M-RES-023
#[test]
fn an_unknown_role_is_kept() {
    let text =
        r#"{"uri":"a:b","name":"n","annotations":{"audience":["user","assistant","auditor"]}}"#;
    survives::<Resource>(text);
    let resource: Resource = serde_json::from_str(text).unwrap();
    let audience = resource.annotations.unwrap().audience.unwrap();
    assert_eq!(
        audience,
        [Role::User, Role::Assistant, Role::Unknown("auditor".into())]
    );
}

#[test]
fn the_type_of_a_content_block_is_written_first_and_needs_no_argument() {
    assert_eq!(
        serde_json::to_string(&TextContent::new("a")).unwrap(),
        r#"{"type":"text","text":"a"}"#
    );
    assert_eq!(
        serde_json::from_str::<TextContent>(r#"{"text":"a"}"#).unwrap(),
        TextContent::new("a")
    );
    for block in [
        serde_json::to_string(&ImageContent::new("", "image/png")).unwrap(),
        serde_json::to_string(&AudioContent::new("", "audio/wav")).unwrap(),
        serde_json::to_string(&ResourceLink::new("a:b", "n")).unwrap(),
    ] {
        assert!(block.starts_with(r#"{"type":""#), "{block}");
    }
}
