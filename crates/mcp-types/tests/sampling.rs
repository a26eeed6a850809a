//! Sampling: one or many blocks, tool calls, open enums.

use mcp_types::{
    CreateMessageRequestParams, CreateMessageResult, OneOrMany, SamplingMessage,
    SamplingMessageContentBlock, StopReason, ToolChoiceMode,
};

use crate::support::{error_of, survives};

// proves: SAMP-012
#[test]
fn one_block_and_many_blocks_keep_their_form() {
    let contents = [
        r#"{"type":"text","text":"a"}"#,
        r#"[{"type":"text","text":"a"}]"#,
        r#"[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]"#,
        "[]",
    ];
    for (content, count) in contents.iter().zip([1, 1, 2, 0]) {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        survives::<SamplingMessage>(&message);
        survives::<CreateMessageRequestParams>(&format!(
            r#"{{"messages":[{message}],"maxTokens":9}}"#
        ));
        let result = format!(r#"{{"role":"assistant","content":{content},"model":"m"}}"#);
        survives::<CreateMessageResult>(&result);
        let result: CreateMessageResult = serde_json::from_str(&result).unwrap();
        assert_eq!(
            (result.content.len(), result.content.iter().count()),
            (count, count)
        );
        assert_eq!(result.content.into_vec().len(), count);
    }
    assert!(
        error_of::<SamplingMessage>(r#"{"role":"user","content":"a"}"#)
            .contains("an object or an array of objects")
    );
    let error = error_of::<SamplingMessage>(r#"{"role":"user","content":[{"text":"a"}]}"#);
    assert!(
        error.contains("missing member `type` of SamplingMessageContentBlock"),
        "{error}"
    );
}

// proves: SAMP-013, M-SAMP-020
#[test]
fn the_stop_reason_is_an_open_enum() {
    let known = [
        (StopReason::EndTurn, "endTurn"),
        (StopReason::StopSequence, "stopSequence"),
        (StopReason::MaxTokens, "maxTokens"),
        (StopReason::ToolUse, "toolUse"),
    ];
    for (reason, wire) in known {
        assert_eq!(reason.as_str(), wire);
        assert_eq!(StopReason::from(wire), reason);
    }
    let content = r#""role":"assistant","content":{"type":"text","text":""},"model":"m""#;
    for reason in ["end_turn", "com.example/tired", "endTurn"] {
        survives::<CreateMessageResult>(&format!(r#"{{{content},"stopReason":"{reason}"}}"#));
    }
}

// proves: SAMP-026
#[test]
fn a_result_may_use_several_tools() {
    let text = r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"x":1},"_meta":{"k":1}},{"type":"tool_use","id":"2","name":"b","input":{}}],"model":"m","stopReason":"toolUse"}"#;
    survives::<CreateMessageResult>(text);
    let result: CreateMessageResult = serde_json::from_str(text).unwrap();
    let ids: Vec<_> = result
        .tool_uses()
        .map(|tool_use| tool_use.id.as_str())
        .collect();
    assert_eq!(ids, ["1", "2"]);
}

// proves: SAMP-025
#[test]
fn without_a_tool_choice_the_model_decides_about_tool_calls() {
    let base = r#""messages":[],"maxTokens":1"#;
    for (choice, mode) in [
        ("", ToolChoiceMode::Auto),
        (r#","toolChoice":{}"#, ToolChoiceMode::Auto),
        (r#","toolChoice":{"mode":"none"}"#, ToolChoiceMode::None),
    ] {
        let text = format!("{{{base}{choice}}}");
        survives::<CreateMessageRequestParams>(&text);
        let params: CreateMessageRequestParams = serde_json::from_str(&text).unwrap();
        assert_eq!(params.tool_choice_mode(), mode);
    }
}

#[test]
fn an_unknown_block_keeps_its_object() {
    let text = r#"{"role":"user","content":[{"type":"resource","uri":"a"}]}"#;
    survives::<SamplingMessage>(text);
    let message: SamplingMessage = serde_json::from_str(text).unwrap();
    assert!(matches!(
        message.content.as_slice(),
        [SamplingMessageContentBlock::Unknown(_)]
    ));
}

#[test]
fn one_block_and_several_blocks_convert_to_content() {
    let one = SamplingMessage::user("a");
    assert_eq!(SamplingMessage::user(format!("{}", 'a')), one);
    assert!(matches!(one.content, OneOrMany::One(_)));
    let many = SamplingMessage::assistant(vec![SamplingMessageContentBlock::text("a")]);
    assert!(matches!(many.content, OneOrMany::Many(_)));
    let block = mcp_types::ToolUseContent::new("1", "a", mcp_types::JsonObject::new());
    let block: SamplingMessageContentBlock = block.into();
    assert_eq!(SamplingMessage::assistant(block).content.len(), 1);
}
