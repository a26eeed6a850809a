//! What a server sends to a client of an older revision.

use mcp_server::{Ctx, Server, Tool};
use mcp_tests::everything;
use mcp_tests::wire::Wire;
use serde_json::{Value, json};

use super::{REVISIONS, asking, check, decorated, since};

// proves: LIFE-019
#[tokio::test]
async fn decorations_are_left_out_where_they_are_unknown() {
    for revision in REVISIONS {
        let mut wire = Wire::to(decorated());
        let result = wire.handshake(revision, json!({})).await;
        check(revision, &result["serverInfo"], "title", "2025-06-18");
        for member in ["icons", "description", "websiteUrl"] {
            check(revision, &result["serverInfo"], member, "2025-11-25");
        }
        check(
            revision,
            &result["capabilities"],
            "completions",
            "2025-03-26",
        );
        let tools = wire.call("tools/list", Value::Null).await;
        check(revision, &tools["tools"][0], "annotations", "2025-03-26");
        for member in ["title", "_meta", "outputSchema"] {
            check(revision, &tools["tools"][0], member, "2025-06-18");
        }
        check(revision, &tools["tools"][0], "icons", "2025-11-25");
        for (method, member) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let listed = wire.call(method, Value::Null).await;
            let item = &listed[member][0];
            check(revision, item, "title", "2025-06-18");
            check(revision, item, "_meta", "2025-06-18");
            check(revision, item, "icons", "2025-11-25");
            if method == "resources/list" {
                assert_eq!(item["annotations"]["priority"], 0.5);
                check(revision, &item["annotations"], "lastModified", "2025-06-18");
            }
        }
    }
}

#[tokio::test]
async fn content_is_replaced_where_its_kind_is_unknown() {
    for revision in REVISIONS {
        let mut wire = Wire::open(decorated(), revision, json!({})).await;
        let result = wire.tool("structured", json!({})).await;
        check(revision, &result, "structuredContent", "2025-06-18");
        assert_eq!(result["content"][0]["text"], "{\"n\":7}");
        let blocks = wire.tool("blocks", json!({})).await["content"].clone();
        check(revision, &blocks[0], "_meta", "2025-06-18");
        check(
            revision,
            &blocks[0]["annotations"],
            "lastModified",
            "2025-06-18",
        );
        if revision == "2024-11-05" {
            assert_eq!(blocks[1]["type"], "resource");
            assert_eq!(blocks[1]["resource"]["mimeType"], "audio/wav");
            assert_eq!(blocks[1]["resource"]["blob"], "AAAA");
        } else {
            assert_eq!(blocks[1]["type"], "audio");
        }
        if since("2025-06-18").contains(&revision) {
            assert_eq!(blocks[2]["type"], "resource_link");
            check(revision, &blocks[2], "icons", "2025-11-25");
        } else {
            assert_eq!(blocks[2], json!({ "type": "text", "text": "link: x://y" }));
        }
        let params = json!({ "name": "progress", "_meta": { "progressToken": 1 } });
        wire.request("tools/call", params).await;
        let progress = wire.expect("notifications/progress").await;
        check(revision, &progress["params"], "message", "2025-03-26");
    }
}

#[tokio::test]
async fn completion_works_without_its_capability_in_2024_11_05() {
    let mut wire = Wire::open(decorated(), "2024-11-05", json!({})).await;
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "p" },
        "argument": { "name": "a", "value": "" }
    });
    assert_eq!(
        wire.call("completion/complete", params).await["completion"]["values"],
        json!(["x"])
    );
}

#[tokio::test]
async fn methods_of_newer_revisions_do_not_exist_and_newer_members_are_ignored() {
    for revision in REVISIONS {
        let mut wire = Wire::open(decorated(), revision, json!({})).await;
        for method in [
            "tasks/get",
            "tasks/list",
            "server/discover",
            "subscriptions/listen",
        ] {
            assert_eq!(
                wire.fails(method, json!({ "taskId": "x" })).await,
                -32601,
                "{method}"
            );
        }
        wire.notify("notifications/tasks/status", json!({ "taskId": "x" }))
            .await;
        let params = json!({ "name": "structured", "task": { "ttl": 1 }, "inputResponses": {} });
        wire.call("tools/call", params).await;
        wire.silent().await;
    }
}

#[tokio::test]
async fn forms_exist_since_2025_06_18_and_urls_since_2025_11_25() {
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    for revision in REVISIONS {
        for (tool, first) in [("form", "2025-06-18"), ("url", "2025-11-25")] {
            let mut wire = Wire::open(asking(), revision, capabilities.clone()).await;
            let id = wire.request("tools/call", json!({ "name": tool })).await;
            let next = wire.recv().await;
            if since(first).contains(&revision) {
                assert_eq!(next["method"], "elicitation/create", "{revision}");
                if revision == "2025-06-18" {
                    assert!(next["params"].get("mode").is_none(), "{next}");
                }
            } else {
                assert_eq!(
                    (&next["id"], &next["result"]["isError"]),
                    (&id, &json!(true))
                );
                assert!(next.to_string().contains(revision), "{next}");
            }
        }
    }
}

#[tokio::test]
async fn forms_are_fitted_to_2025_06_18() {
    let capabilities = json!({ "elicitation": {} });
    let mut wire = Wire::open(everything::server(), "2025-06-18", capabilities).await;
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
    // Several choices at once cannot be asked for in this revision.
    let result = wire.tool("test_elicitation_sep1330_enums", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
    let titled = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let schema = serde_json::from_value(json!({
            "type": "object",
            "properties": { "c": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }] } }
        }))?;
        let params = mcp_types::ElicitRequestFormParams::new("?", schema);
        cx.elicit_raw(mcp_types::ElicitRequestParams::Form(params))
            .await?;
        Ok::<_, mcp_server::HandlerError>("asked")
    }));
    let mut wire = Wire::open(titled, "2025-06-18", json!({ "elicitation": {} })).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("elicitation/create").await;
    assert_eq!(
        question["params"]["requestedSchema"]["properties"]["c"],
        json!({ "type": "string", "enum": ["a"], "enumNames": ["A"] })
    );
}

#[tokio::test]
async fn sampling_is_fitted_to_revisions_without_tools() {
    let server = || {
        Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
            let params = serde_json::from_value(json!({
                "messages": [{
                    "role": "user",
                    "content": [{ "type": "text", "text": "x" }],
                    "_meta": { "a": 1 }
                }],
                "maxTokens": 5
            }))?;
            cx.sample(params).await?;
            Ok::<_, mcp_server::HandlerError>("asked")
        }))
    };
    for revision in REVISIONS {
        let mut wire = Wire::open(server(), revision, json!({ "sampling": {} })).await;
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("sampling/createMessage").await;
        let message = &question["params"]["messages"][0];
        assert_eq!(
            message["content"].is_array(),
            revision == "2025-11-25",
            "{message}"
        );
        check(revision, message, "_meta", "2025-11-25");
    }
}
