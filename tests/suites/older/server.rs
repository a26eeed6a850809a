//! What a server sends to a client of an older revision.

use super::{REVISIONS, asking, check, decorated};
use crate::features::LISTS;
use crate::prelude::*;
use mcp_server::ServerBuilder;

/// Descriptive members: the place in the results, the members, and the first revision that has them.
const DESCRIPTIVE: [(&str, &str, &str); 14] = [
    ("/serverInfo", "title", "2025-06-18"),
    ("/serverInfo", "icons description websiteUrl", "2025-11-25"),
    ("/capabilities", "completions", "2025-03-26"),
    ("/tools/0", "annotations", "2025-03-26"),
    ("/tools/0", "title _meta outputSchema", "2025-06-18"),
    ("/tools/0", "icons", "2025-11-25"),
    ("/prompts/0", "title _meta", "2025-06-18"),
    ("/prompts/0", "icons", "2025-11-25"),
    ("/prompts/0/arguments/0", "title", "2025-06-18"),
    ("/resources/0", "title _meta", "2025-06-18"),
    ("/resources/0", "icons", "2025-11-25"),
    ("/resources/0/annotations", "lastModified", "2025-06-18"),
    ("/resourceTemplates/0", "title _meta", "2025-06-18"),
    ("/resourceTemplates/0", "icons", "2025-11-25"),
];

// proves: LIFE-019
#[tokio::test]
async fn descriptive_members_are_omitted_on_revisions_without_them() {
    for revision in REVISIONS {
        let mut wire = PipeEnd::to(decorated());
        let mut results = wire.handshake(revision, json!({})).await;
        for (method, member, _) in LISTS {
            results[member] = wire.call(method, Value::Null).await[member].take();
        }
        for (place, members, first) in DESCRIPTIVE {
            for member in members.split(' ') {
                check(revision, results.pointer(place).unwrap(), member, first);
            }
        }
        assert_eq!(results["resources"][0]["annotations"]["priority"], 0.5);
    }
}

/// The content blocks of the fixture, in a tool result or a prompt.
fn check_blocks(revision: &str, blocks: &[Value]) {
    check(revision, &blocks[0], "_meta", "2025-06-18");
    let notes = &blocks[0]["annotations"];
    assert_eq!(notes["priority"], 0.5);
    check(revision, notes, "lastModified", "2025-06-18");
    if revision == "2024-11-05" {
        assert_eq!(blocks[1]["type"], "resource");
        assert_eq!(blocks[1]["resource"]["mimeType"], "audio/wav");
        assert_eq!(blocks[1]["resource"]["blob"], "AAAA");
    } else {
        assert_eq!(blocks[1]["type"], "audio");
    }
    if revision >= "2025-06-18" {
        assert_eq!(blocks[2]["type"], "resource_link");
        check(revision, &blocks[2], "icons", "2025-11-25");
    } else {
        assert_eq!(blocks[2], json!({ "type": "text", "text": "link: x://y" }));
    }
    assert_eq!(blocks[3]["resource"]["text"], "m");
    check(revision, &blocks[3]["resource"], "_meta", "2025-06-18");
}

#[tokio::test]
async fn content_of_a_kind_that_the_revision_lacks_is_replaced() {
    for revision in REVISIONS {
        let mut wire = PipeEnd::open(decorated(), revision, json!({})).await;
        let result = wire.tool("structured", json!({})).await;
        check(revision, &result, "structuredContent", "2025-06-18");
        assert_eq!(result["content"][0]["text"], "{\"n\":7}");
        let blocks = wire.tool("blocks", json!({})).await["content"].clone();
        check_blocks(revision, blocks.as_array().unwrap());
        let prompt = wire.call("prompts/get", json!({ "name": "q" })).await;
        let messages = prompt["messages"].as_array().unwrap().iter();
        let blocks: Vec<Value> = messages.map(|message| message["content"].clone()).collect();
        check_blocks(revision, &blocks);
        let read = wire.call("resources/read", json!({ "uri": "x://m" })).await;
        check(revision, &read["contents"][0], "_meta", "2025-06-18");
    }
}

#[tokio::test]
async fn forms_exist_since_2025_06_18_and_urls_since_2025_11_25() {
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    for revision in REVISIONS {
        for (tool, first) in [("form", "2025-06-18"), ("url", "2025-11-25")] {
            let mut wire = PipeEnd::open(asking(), revision, capabilities.clone()).await;
            if let Some(request) = requested(&mut wire, tool, revision, first).await {
                assert_eq!(request["method"], "elicitation/create", "{revision}");
                if revision == "2025-06-18" {
                    assert!(request["params"].get("mode").is_none(), "{request}");
                }
            }
        }
    }
}

/// Calls a tool. Returns the request that it sends, which exists since `first`; before that, checks that the tool fails, and
/// that its error names the revision.
async fn requested(wire: &mut PipeEnd, tool: &str, revision: &str, first: &str) -> Option<Value> {
    let id = wire.request("tools/call", json!({ "name": tool })).await;
    let next = wire.recv().await;
    if revision >= first {
        return Some(next);
    }
    assert_eq!(next["id"], id);
    assert_eq!(next["result"]["isError"], true);
    assert!(next.to_string().contains(revision), "{next}");
    wire.silent().await;
    None
}

#[tokio::test]
async fn forms_are_down_converted_to_2025_06_18() {
    let capabilities = json!({ "elicitation": {} });
    let mut wire = PipeEnd::open(everything::server(), "2025-06-18", capabilities).await;
    wire.request(
        "tools/call",
        json!({ "name": "test_elicitation_sep1034_defaults" }),
    )
    .await;
    let question = wire.expect("elicitation/create").await;
    let fields = &question["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["verified"]["default"], true);
    for field in ["name", "age", "score", "status"] {
        assert!(fields[field].get("default").is_none(), "{fields}");
    }
    wire.answer(&question, json!({ "action": "decline" })).await;
    wire.recv().await;
    // This revision has no multiple choice.
    let result = wire.tool("test_elicitation_sep1330_enums", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
    let titled = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let schema = serde_json::from_value(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": { "c": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }] } }
        }))?;
        let params = mcp_types::ElicitRequestFormParams::new("?", schema);
        cx.elicit_raw(mcp_types::ElicitRequestParams::Form(params))
            .await?;
        Ok::<_, HandlerError>("asked")
    }));
    let mut wire = PipeEnd::open(titled, "2025-06-18", json!({ "elicitation": {} })).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("elicitation/create").await;
    let asked = &question["params"]["requestedSchema"];
    assert!(asked.get("$schema").is_none(), "{asked}");
    let expected = json!({ "type": "string", "enum": ["a"], "enumNames": ["A"] });
    assert_eq!(asked["properties"]["c"], expected);
}

/// Creates a server whose tool `ask` sends this sampling request and returns its error.
fn sampling(params: Value) -> ServerBuilder {
    Server::builder("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let params = serde_json::from_value(params.clone()).unwrap();
        async move { cx.sample(params).await.map(|answer| answer.model) }
    }))
}

#[tokio::test]
async fn sampling_is_down_converted_to_revisions_without_tools() {
    let params = json!({
        "messages": [{
            "role": "user",
            "content": [{
                "type": "text", "text": "x", "_meta": { "a": 1 },
                "annotations": { "priority": 1.0, "lastModified": "2025-01-01T00:00:00Z" }
            }],
            "_meta": { "a": 1 }
        }],
        "includeContext": "thisServer",
        "maxTokens": 5
    });
    for revision in REVISIONS {
        let server = sampling(params.clone());
        let mut wire = PipeEnd::open(server, revision, json!({ "sampling": {} })).await;
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("sampling/createMessage").await;
        let message = &question["params"]["messages"][0];
        let content = &message["content"];
        let newest = revision == "2025-11-25";
        assert_eq!(content.is_array(), newest, "{message}");
        check(revision, message, "_meta", "2025-11-25");
        let block = if newest { &content[0] } else { content };
        check(revision, block, "_meta", "2025-06-18");
        assert_eq!(block["annotations"]["priority"], 1.0);
        let notes = &block["annotations"];
        check(revision, notes, "lastModified", "2025-06-18");
        // The context needs a separate capability, so it is only requested from clients that
        // declare it.
        let context = question["params"].get("includeContext");
        assert_eq!(context.is_some(), !newest, "{question}");
        let answer = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "y" } });
        wire.answer(&question, answer).await;
        assert_eq!(wire.recv().await["result"]["content"][0]["text"], "m");
    }
}

#[tokio::test]
async fn a_server_request_that_the_revision_lacks_is_an_error() {
    let text = json!({ "type": "text", "text": "x" });
    let audio = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" });
    let used = json!({ "type": "tool_use", "id": "u", "name": "t", "input": {} });
    let result = json!({ "type": "tool_result", "toolUseId": "u", "content": [] });
    let ask = |content: Value| json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 5 });
    let mut tools = ask(text.clone());
    tools["tools"] = json!([{ "name": "t", "inputSchema": { "type": "object" } }]);
    let used = json!({ "messages": [
        { "role": "assistant", "content": used },
        { "role": "user", "content": result }
    ], "maxTokens": 5 });
    for (params, first) in [
        (ask(audio), "2025-03-26"),
        (ask(json!([text, text])), "2025-11-25"),
        (tools, "2025-11-25"),
        (used, "2025-11-25"),
    ] {
        for revision in REVISIONS {
            let capabilities = json!({ "sampling": { "tools": {} } });
            let mut wire = PipeEnd::open(sampling(params.clone()), revision, capabilities).await;
            if let Some(request) = requested(&mut wire, "ask", revision, first).await {
                assert_eq!(request["method"], "sampling/createMessage", "{revision}");
            }
        }
    }
}

#[tokio::test]
async fn a_required_url_is_an_error_code_since_2025_11_25_and_text_in_older_revisions() {
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    for revision in REVISIONS {
        let server = Server::builder("s", "1").tool(Tool::new("visit", async |cx: Ctx| {
            Err::<String, _>(cx.urls_required([("Connect", "https://example.com/c")]))
        }));
        let mut wire = PipeEnd::open(server, revision, capabilities.clone()).await;
        let answer = wire
            .answer_to("tools/call", json!({ "name": "visit" }))
            .await;
        if revision == "2025-11-25" {
            assert_eq!(answer["error"]["code"], -32042);
            continue;
        }
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("https://example.com/c"), "{text}");
    }
}

// The server has no tasks; a server that declares them uses the same functions.
#[test]
fn tasks_are_not_declared_on_revisions_without_them() {
    for revision in Revision::WITH_SESSIONS {
        let tool =
            json!({ "name": "t", "inputSchema": {}, "execution": { "taskSupport": "optional" } });
        let mut tool = serde_json::from_value(tool).unwrap();
        mcp_protocol::downgrade::tool(&mut tool, revision.rules());
        let mut declared = serde_json::from_value(json!({ "tasks": {} })).unwrap();
        mcp_protocol::downgrade::server_capabilities(&mut declared, revision.rules());
        let revision = revision.as_str();
        check(revision, &json!(tool), "execution", "2025-11-25");
        check(revision, &json!(declared), "tasks", "2025-11-25");
    }
}
