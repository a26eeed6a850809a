//! Older revisions: what is stripped, replaced and refused, in both directions.

use mcp_client::{Client, Error};
use mcp_protocol::Revision;
use mcp_server::{Args, Ctx, Elicited, Json, Prompt, Resource, Server, Tool};
use mcp_tests::everything;
use mcp_tests::wire::{Wire, connect};
use mcp_types::{
    Annotations, ContentBlock, Icon, Meta, ResourceLink, SamplingMessageContentBlock, TextContent,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revisions from this one on.
fn since(revision: &str) -> Vec<&'static str> {
    REVISIONS.into_iter().filter(|r| *r >= revision).collect()
}

#[derive(Serialize, JsonSchema)]
struct Out {
    n: u32,
}

fn meta() -> Meta {
    serde_json::from_value(json!({ "com.example/x": 1 })).unwrap()
}

/// A server that uses every decoration there is.
fn decorated() -> Server {
    let icon = || Icon::new("https://example.com/i.png");
    let notes = || {
        serde_json::from_value::<Annotations>(
            json!({ "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z" }),
        )
        .unwrap()
    };
    Server::new("s", "1")
        .title("S")
        .description("d")
        .website("https://example.com")
        .icon(icon())
        .tool(
            Tool::new("structured", || Json(Out { n: 7 }))
                .title("T")
                .icon(icon())
                .meta(meta())
                .read_only(true),
        )
        .tool(Tool::new("blocks", move || {
            let mut text = TextContent::new("x");
            text.meta = Some(meta());
            text.annotations = Some(notes());
            vec![
                ContentBlock::Text(text),
                ContentBlock::Audio(mcp_types::AudioContent::new("AAAA", "audio/wav")),
                ContentBlock::ResourceLink(
                    ResourceLink::new("x://y", "link").with_icons(vec![icon()]),
                ),
            ]
        }))
        .tool(Tool::new("progress", |cx: Ctx| {
            cx.progress_with(1.0, 2.0, "half");
            "x"
        }))
        .prompt(
            Prompt::new("p", |Args(_): Args<Arg>| "x")
                .title("P")
                .icon(icon())
                .meta(meta())
                .complete_from("a", ["x"]),
        )
        .resource(
            Resource::text("x://r", "r", "t")
                .title("R")
                .icon(icon())
                .meta(meta())
                .annotations(notes()),
        )
        .resource(
            Resource::new("x://t/{v}", "t", || "t")
                .title("T")
                .icon(icon())
                .meta(meta()),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Arg {
    #[expect(dead_code, reason = "only listed")]
    a: Option<String>,
}

/// Whether a member is there exactly in the revisions since `first`.
fn check(revision: &str, value: &Value, member: &str, first: &str) {
    let there = value.get(member).is_some();
    assert_eq!(
        there,
        since(first).contains(&revision),
        "{revision} {member}: {value}"
    );
}

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

#[derive(Serialize, Deserialize, JsonSchema)]
struct Form {
    name: String,
}

fn asking() -> Server {
    Server::new("s", "1")
        .tool(Tool::new("form", async |cx: Ctx| {
            Ok::<_, mcp_protocol::AskError>(match cx.elicit::<Form>("Who?").await? {
                Elicited::Accepted(form) => form.name,
                _ => "-".to_owned(),
            })
        }))
        .tools(everything_tools())
}

fn everything_tools() -> Vec<Tool> {
    vec![Tool::new("url", async |cx: Ctx| {
        cx.elicit_url("Go", "https://example.com/")
            .await
            .map(|asked| asked.accepted)
    })]
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

#[tokio::test]
async fn a_client_sends_an_older_server_nothing_it_does_not_know() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1").on_sample(async |ask| {
            let mut answer = ask.reply("m", "x");
            let block = SamplingMessageContentBlock::Text(TextContent::new("x"));
            answer.content = vec![block].into();
            Ok(answer)
        });
        let capabilities = json!({ "completions": {}, "prompts": {} });
        let (mut wire, client) = Wire::accept(builder, revision, capabilities).await;
        assert_eq!(client.revision().as_str(), revision);
        let reference = mcp_types::PromptReference::new("p");
        let resolved = [("b".to_owned(), "2".to_owned())].into();
        let call = client.complete(reference, "a", "", resolved);
        let completing = tokio::spawn(async move { call.await });
        let request = wire.expect("completion/complete").await;
        check(revision, &request["params"], "context", "2025-06-18");
        wire.answer(&request, json!({ "completion": { "values": [] } }))
            .await;
        completing.await.unwrap().unwrap();
        let message = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
        let params = json!({ "messages": [message], "maxTokens": 5 });
        let answer = wire.call("sampling/createMessage", params).await;
        assert_eq!(
            answer["content"].is_array(),
            revision == "2025-11-25",
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_client_answers_no_forms_before_2025_06_18_and_no_urls_before_2025_11_25() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1")
            .on_elicit(async |form| form.decline())
            .on_elicit_url(async |url| url.decline());
        let (mut wire, _client) = Wire::accept(builder, revision, json!({})).await;
        let form =
            json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
        let url =
            json!({ "mode": "url", "message": "?", "url": "https://x.y/", "elicitationId": "1" });
        let (form, url) = (
            wire.answer_to("elicitation/create", form).await,
            wire.answer_to("elicitation/create", url).await,
        );
        match revision {
            "2025-11-25" => assert!(form["error"].is_null() && url["error"].is_null()),
            "2025-06-18" => {
                assert!(form["error"].is_null());
                assert_eq!(url["error"]["code"], -32602);
            }
            _ => assert_eq!(
                (&form["error"]["code"], &url["error"]["code"]),
                (&json!(-32601), &json!(-32601))
            ),
        }
    }
}

#[tokio::test]
async fn batches_belong_to_2025_03_26() {
    let ping = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch = json!([
        ping(1),
        { "jsonrpc": "2.0", "method": "notifications/x" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "test_tool_with_progress" } },
        { "jsonrpc": "2.0", "id": 3, "method": "no/such" },
        { "jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {} },
        5
    ]);
    for revision in REVISIONS {
        let mut wire = Wire::open(everything::server(), revision, json!({})).await;
        wire.send(batch.clone()).await;
        if revision != "2025-03-26" {
            assert_eq!(wire.recv().await["error"]["code"], -32600, "{revision}");
            wire.silent().await;
            continue;
        }
        let answers = wire.recv().await;
        let answers = answers.as_array().expect("one array");
        let answer = |id: i64| answers.iter().find(|a| a["id"] == id).expect("an answer");
        assert_eq!(answers.len(), 5, "{answers:?}");
        assert_eq!(answer(1)["result"], json!({}));
        assert_eq!(
            answer(2)["result"]["content"][0]["text"],
            "Progress reported"
        );
        assert_eq!(answer(3)["error"]["code"], -32601);
        assert_eq!(answer(4)["error"]["code"], -32600);
        assert!(
            answers
                .iter()
                .any(|a| a.get("id").is_none() && a["error"]["code"] == -32600)
        );
        wire.send(json!([{ "jsonrpc": "2.0", "method": "notifications/x" }]))
            .await;
        wire.silent().await;
        wire.raw("[]").await;
        let refused = wire.recv().await;
        assert_eq!(refused["error"]["code"], -32600);
        let many: Vec<Value> = (0..65).map(ping).collect();
        wire.send(json!(many)).await;
        assert_eq!(wire.recv().await["error"]["code"], -32600);
        wire.silent().await;
    }
}

#[tokio::test]
async fn a_cancelled_member_of_a_batch_has_no_answer() {
    let mut wire = Wire::open(everything::server(), "2025-03-26", json!({})).await;
    let call = |id: i64, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
    wire.send(json!([
        call(10, "wait_for_cancel"),
        call(11, "test_simple_text")
    ]))
    .await;
    wire.silent().await;
    wire.notify("notifications/cancelled", json!({ "requestId": 10 }))
        .await;
    let answers = wire.recv().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(1), "{answers}");
    assert_eq!(answers[0]["id"], 11);
}

#[tokio::test]
async fn a_client_of_2025_03_26_accepts_batches() {
    let builder = Client::builder("host", "1");
    let (mut wire, client) = Wire::accept(builder, "2025-03-26", json!({ "tools": {} })).await;
    let call = |name: &str| {
        let call = client.call_tool(name, json!({}));
        tokio::spawn(async move { call.await })
    };
    let (a, b) = (call("a"), call("b"));
    let (first, second) = (
        wire.expect("tools/call").await,
        wire.expect("tools/call").await,
    );
    let answer = |request: &Value| json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "content": [] } });
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    wire.send(json!([answer(&first), ping, answer(&second)]))
        .await;
    a.await.unwrap().unwrap();
    b.await.unwrap().unwrap();
    assert_eq!(wire.recv().await[0]["id"], "p");
}

/// Error answers without an id exist since 2025-11-25; before, silence is the answer.
#[tokio::test]
async fn unreadable_lines_are_answered_without_id_only_where_that_exists() {
    for revision in REVISIONS {
        let mut wire = Wire::open(everything::server(), revision, json!({})).await;
        wire.raw("garbage").await;
        if revision == "2025-11-25" {
            assert_eq!(wire.recv().await["error"]["code"], -32700);
        }
        wire.silent().await;
        wire.raw(r#"{"jsonrpc":"2.0","id":"k","method":5}"#).await;
        assert_eq!(wire.recv().await["id"], "k");
    }
}

#[tokio::test]
async fn every_revision_works_from_end_to_end() {
    for revision in Revision::ALL {
        let builder = Client::builder("host", "1")
            .revision(revision)
            .on_elicit(async |form| form.accept(json!({ "username": "u", "email": "e@x" })));
        let client = connect(builder, everything::server()).await.unwrap();
        assert_eq!(client.revision(), revision);
        assert!(client.list_tools().await.unwrap().len() > 10);
        let sum = client
            .call_tool("add", json!({ "a": 1, "b": 2 }))
            .await
            .unwrap();
        assert_eq!(sum.joined_text(), "3");
        let asked = client
            .call_tool("test_elicitation", json!({ "message": "?" }))
            .await
            .unwrap();
        assert_eq!(
            asked.is_error == Some(true),
            revision < Revision::V2025_06_18
        );
        let missing = client.read_resource("test://no").await.unwrap_err();
        assert!(matches!(missing, Error::Rejected(error) if error.code.0 == -32002));
        client.close().await.unwrap();
    }
}
