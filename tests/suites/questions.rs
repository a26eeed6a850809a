//! Server requests: what is sent, and what is rejected before it is sent.

use std::sync::{Arc, Mutex};

use mcp_protocol::AskError;
use mcp_server::{Ask, Ctx, Elicitation, HandlerError, Server, Tool, UrlElicitation};
use mcp_tests::everything;
use mcp_tests::wire::Wire;
use mcp_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams, IncludeContext,
    ModelPreferences, SamplingMessage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Creates a server with one tool, `ask`, that sends this sampling request.
fn sampling(params: CreateMessageRequestParams) -> Server {
    Server::new("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let params = params.clone();
        async move { cx.sample(params).await.map(|answer| answer.model) }
    }))
}

/// Decodes a sampling request from JSON, so that it can violate the rules.
fn request(params: Value) -> CreateMessageRequestParams {
    serde_json::from_value(params).expect("sampling params")
}

fn text(role: &str) -> Value {
    json!({ "role": role, "content": { "type": "text", "text": "x" } })
}

async fn open(server: Server, capabilities: Value) -> Wire {
    Wire::open(server, "2025-11-25", capabilities).await
}

/// Calls `ask` and expects it to fail without a server request.
async fn refused(wire: &mut Wire, needle: &str) {
    let result = wire.tool("ask", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
    let said = result["content"][0]["text"].as_str().unwrap();
    assert!(said.contains(needle), "{said}");
}

// proves: SAMP-010, SAMP-007, SAMP-008, SAMP-009, LIFE-020
#[tokio::test]
async fn sampling_asks_only_for_what_was_declared() {
    let plain = CreateMessageRequestParams::new(vec![SamplingMessage::user("Hi")], 100);
    let mut wire = open(sampling(plain.clone()), json!({})).await;
    refused(&mut wire, "sampling").await;
    let mut wire = open(sampling(plain.clone()), json!({ "sampling": {} })).await;
    let id = wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("sampling/createMessage").await;
    assert_eq!(
        question["params"],
        json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } }], "maxTokens": 100 })
    );
    let answer =
        json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" });
    wire.answer(&question, answer.clone()).await;
    assert_eq!(wire.recv().await["id"], id);
    let tools = request(json!({
        "messages": [text("user")],
        "maxTokens": 5,
        "tools": [{ "name": "t", "inputSchema": { "type": "object" } }]
    }));
    let mut wire = open(sampling(tools.clone()), json!({ "sampling": {} })).await;
    refused(&mut wire, "sampling.tools").await;
    let mut wire = open(sampling(tools), json!({ "sampling": { "tools": {} } })).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    assert!(wire.expect("sampling/createMessage").await["params"]["tools"].is_array());
    let mut context = plain;
    context.include_context = Some(IncludeContext::AllServers);
    for (capability, sent) in [
        (json!({}), None),
        (json!({ "context": {} }), Some("allServers")),
    ] {
        let mut wire = open(sampling(context.clone()), json!({ "sampling": capability })).await;
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("sampling/createMessage").await;
        assert_eq!(
            question["params"]
                .get("includeContext")
                .and_then(Value::as_str),
            sent
        );
    }
}

// proves: SAMP-014, SAMP-015, SAMP-016, SAMP-027
#[tokio::test]
async fn sampling_that_breaks_the_rules_is_never_sent() {
    let used = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "t", "input": {} }] });
    let result = json!({ "type": "tool_result", "toolUseId": "a", "content": [] });
    let mixed = json!({ "role": "user", "content": [result, { "type": "text", "text": "x" }] });
    for (messages, needle) in [
        (json!([text("user"), used]), "no message has their results"),
        (json!([used, text("user")]), "exactly one result"),
        (json!([used, mixed]), "mixes"),
        (
            json!([{ "role": "user", "content": [result] }]),
            "does not precede it",
        ),
        (
            json!([{ "role": "system", "content": { "type": "text", "text": "x" } }]),
            "unknown role",
        ),
    ] {
        let params = request(json!({ "messages": messages, "maxTokens": 5 }));
        let mut wire = open(sampling(params), json!({ "sampling": { "tools": {} } })).await;
        refused(&mut wire, needle).await;
    }
    let mut params = request(json!({ "messages": [text("user")], "maxTokens": 5 }));
    let preferences: ModelPreferences =
        serde_json::from_value(json!({ "speedPriority": 1.5 })).unwrap();
    params.model_preferences = Some(preferences);
    let mut wire = open(sampling(params), json!({ "sampling": {} })).await;
    refused(&mut wire, "speedPriority").await;
}

// proves: SAMP-012, SAMP-013, SAMP-026
#[tokio::test]
async fn both_shapes_of_content_and_any_stop_reason_are_read() {
    let seen: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let server = Server::new("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let kept = Arc::clone(&kept);
        async move {
            let message = SamplingMessage::user("x");
            let answer = cx
                .sample(CreateMessageRequestParams::new(vec![message], 5))
                .await?;
            let reason = answer.stop_reason.map(|reason| reason.as_str().to_owned());
            kept.lock()
                .unwrap()
                .push((answer.content.len(), reason.unwrap_or_default()));
            Ok::<_, AskError>("ok")
        }
    }));
    let mut wire = open(server, json!({ "sampling": { "tools": {} } })).await;
    let block = json!({ "type": "text", "text": "x" });
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
    for (content, reason) in [
        (block.clone(), "endTurn"),
        (json!([block]), "end_turn"),
        (json!([used("a"), used("b")]), "toolUse"),
    ] {
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("sampling/createMessage").await;
        let answer =
            json!({ "role": "assistant", "content": content, "model": "m", "stopReason": reason });
        wire.answer(&question, answer).await;
        wire.recv().await;
    }
    let seen = seen.lock().unwrap();
    let expected = [(1, "endTurn"), (1, "end_turn"), (2, "toolUse")];
    assert_eq!(*seen, expected.map(|(n, reason)| (n, reason.to_owned())));
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    /// Who you are.
    #[schemars(length(min = 2))]
    name: String,
    age: u8,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
    kind: Kind,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Person,
    Robot,
}

fn account() -> Server {
    Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        Ok::<_, AskError>(match cx.elicit::<Account>("Who?").await? {
            Elicitation::Accepted(account) => format!("{} is {}", account.name, account.age),
            Elicitation::Declined => "declined".to_owned(),
            Elicitation::Cancelled => "cancelled".to_owned(),
        })
    }))
}

// proves: ELIC-012, ELIC-015, ELIC-016, ELIC-017, ELIC-018, ELIC-019, ELIC-022, BASE-027
#[tokio::test]
async fn a_form_is_made_from_a_type() {
    let mut wire = open(account(), json!({ "elicitation": {} })).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("elicitation/create").await;
    assert_eq!(question["params"]["message"], "Who?");
    assert!(matches!(
        question["params"]["mode"].as_str(),
        None | Some("form")
    ));
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["name", "age", "kind"]));
    let properties = &schema["properties"];
    assert_eq!(properties["name"]["minLength"], 2);
    assert_eq!(properties["name"]["description"], "Who you are.");
    assert_eq!(properties["age"]["type"], "integer");
    assert_eq!(
        properties["mail"],
        json!({ "type": "string", "format": "email" })
    );
    assert_eq!(
        properties["kind"],
        json!({ "type": "string", "enum": ["person", "robot"] })
    );
}

#[tokio::test]
async fn a_nested_form_is_refused_before_it_is_sent() {
    #[derive(Deserialize, JsonSchema)]
    struct Nested {
        #[expect(dead_code, reason = "never reached")]
        account: Account,
    }
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.elicit::<Nested>("Who?").await.map(|_| "never")
    }));
    let mut wire = open(server, json!({ "elicitation": {} })).await;
    refused(&mut wire, "account").await;
}

// proves: ELIC-048, ELIC-076, ELIC-047
#[tokio::test]
async fn each_action_reaches_the_handler_and_a_wrong_answer_does_not() {
    let mut wire = open(account(), json!({ "elicitation": {} })).await;
    let fine = json!({ "name": "Ada", "age": 36, "kind": "person" });
    for (answer, said, error) in [
        (
            json!({ "action": "accept", "content": fine }),
            "Ada is 36",
            false,
        ),
        (json!({ "action": "decline" }), "declined", false),
        (
            json!({ "action": "cancel", "content": { "x": 1 } }),
            "cancelled",
            false,
        ),
        (json!({ "action": "accept" }), "\"name\"", true),
        (
            json!({ "action": "accept", "content": { "name": "A", "age": 1, "kind": "person" } }),
            "\"name\"",
            true,
        ),
        (
            json!({ "action": "accept", "content": { "name": "Ada", "age": 300, "kind": "person" } }),
            "does not match",
            true,
        ),
        (
            json!({ "action": "accept", "content": { "name": "Ada", "age": 3, "kind": "cat" } }),
            "\"kind\"",
            true,
        ),
        (json!({ "action": "shrug" }), "shrug", true),
        (json!({ "action": 5 }), "does not match", true),
        (json!({}), "action", true),
    ] {
        let id = wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("elicitation/create").await;
        wire.answer(&question, answer.clone()).await;
        let result = wire.recv().await;
        assert_eq!(result["id"], id);
        let result = &result["result"];
        assert_eq!(result["isError"] == true, error, "{answer} {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(said), "{answer} {text}");
    }
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("elicitation/create").await;
    wire.refuse(&question, -32602, "no forms today").await;
    let result = wire.recv().await;
    assert!(
        result["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("no forms today")
    );
}

// proves: ELIC-009, ELIC-011
#[tokio::test]
async fn only_declared_modes_are_requested() {
    for (declared, form, url) in [
        (json!({}), true, false),
        (json!({ "form": {} }), true, false),
        (json!({ "url": {} }), false, true),
        (json!({ "form": {}, "url": {} }), true, true),
    ] {
        for (tool, arguments, asked) in [
            ("test_elicitation", json!({ "message": "?" }), form),
            ("test_elicitation_url", json!({}), url),
        ] {
            let capabilities = json!({ "elicitation": declared });
            let mut wire = open(everything::server(), capabilities).await;
            let params = json!({ "name": tool, "arguments": arguments });
            wire.request("tools/call", params).await;
            let next = wire.recv().await;
            assert_eq!(
                next["method"] == "elicitation/create",
                asked,
                "{declared} {next}"
            );
        }
    }
}

// proves: ELIC-028, ELIC-029, ELIC-030, ELIC-033, ELIC-034, ELIC-035
#[tokio::test]
async fn a_url_elicitation_has_an_id_and_its_completion_is_notified_to_its_client() {
    let kept: Arc<Mutex<Vec<UrlElicitation>>> = Arc::default();
    let slot = Arc::clone(&kept);
    let server = Server::new("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let slot = Arc::clone(&slot);
        async move {
            let asked = cx
                .elicit_url("Connect", "https://example.com/connect")
                .await?;
            slot.lock().unwrap().push(asked);
            Ok::<_, AskError>("asked")
        }
    }));
    let capabilities = json!({ "elicitation": { "url": {} } });
    let mut wire = open(server.clone(), capabilities.clone()).await;
    let mut other = open(server, capabilities).await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("elicitation/create").await;
        assert_eq!(question["params"]["mode"], "url");
        assert_eq!(question["params"]["url"], "https://example.com/connect");
        assert!(
            ids.insert(
                question["params"]["elicitationId"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            )
        );
        wire.answer(&question, json!({ "action": "accept" })).await;
        wire.recv().await;
    }
    let asked = kept.lock().unwrap().pop().unwrap();
    assert!(asked.accepted && ids.contains(&asked.id));
    assert!(asked.complete());
    let told = wire.expect("notifications/elicitation/complete").await;
    assert_eq!(told["params"]["elicitationId"], asked.id);
    other.silent().await;
    let bad = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.elicit_url("Connect", "not a url").await.map(|_| "never")
    }));
    let mut wire = open(bad, json!({ "elicitation": { "url": {} } })).await;
    refused(&mut wire, "not a URL").await;
}

// proves: ELIC-039, ELIC-040, ELIC-041, ELIC-042, ELIC-043
#[tokio::test]
async fn a_url_that_is_needed_first_is_an_error_only_clients_with_urls_see() {
    let server = || {
        Server::new("s", "1").tool(Tool::new("ask", |cx: Ctx| {
            Err::<String, _>(cx.urls_required([("Connect", "https://example.com/c")]))
        }))
    };
    let mut wire = open(server(), json!({ "elicitation": { "url": {} } })).await;
    let answer = wire.answer_to("tools/call", json!({ "name": "ask" })).await;
    assert_eq!(answer["error"]["code"], -32042);
    let elicitations = answer["error"]["data"]["elicitations"].as_array().unwrap();
    assert_eq!(elicitations.len(), 1);
    assert_eq!(elicitations[0]["mode"], "url");
    assert_eq!(elicitations[0]["url"], "https://example.com/c");
    assert!(elicitations[0]["elicitationId"].is_string());
    for (revision, capabilities) in [
        ("2025-11-25", json!({ "elicitation": {} })),
        ("2025-11-25", json!({})),
        ("2025-06-18", json!({ "elicitation": { "url": {} } })),
    ] {
        let mut wire = Wire::open(server(), revision, capabilities).await;
        refused(&mut wire, "https://example.com/c").await;
    }
}

/// Really do it?
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

#[tokio::test]
async fn an_ask_parameter_is_resolved_before_the_handler_runs() {
    let runs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&runs);
    let server = Server::new("s", "1").tool(Tool::new("ask", move |Ask(confirm): Ask<Confirm>| {
        *counted.lock().unwrap() += 1;
        confirm.sure
    }));
    let mut wire = open(server.clone(), json!({ "elicitation": {} })).await;
    for (answer, said, ran) in [
        (
            json!({ "action": "accept", "content": { "sure": true } }),
            "true",
            1,
        ),
        (json!({ "action": "decline" }), "the user declined", 1),
        (json!({ "action": "cancel" }), "the user gave no answer", 1),
    ] {
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("elicitation/create").await;
        assert_eq!(question["params"]["message"], "Really do it?");
        wire.answer(&question, answer).await;
        let result = wire.recv().await;
        assert_eq!(result["result"]["content"][0]["text"], said);
        assert_eq!(*runs.lock().unwrap(), ran);
    }
    let mut wire = open(server, json!({})).await;
    refused(&mut wire, "elicitation").await;
}

// proves: ELIC-023, ELIC-025, ELIC-026
#[tokio::test]
async fn every_kind_of_choice_is_sent_as_built() {
    let mut wire = open(everything::server(), json!({ "elicitation": {} })).await;
    wire.request(
        "tools/call",
        json!({ "name": "test_elicitation_sep1330_enums" }),
    )
    .await;
    let question = wire.expect("elicitation/create").await;
    let fields = &question["params"]["requestedSchema"]["properties"];
    assert_eq!(
        fields["titledSingle"]["oneOf"][0],
        json!({ "const": "value1", "title": "First Option" })
    );
    assert_eq!(
        fields["titledMulti"]["items"]["anyOf"][2]["const"],
        "value3"
    );
    assert_eq!(fields["legacyEnum"]["enumNames"][1], "Option Two");
    assert_eq!(fields["untitledMulti"]["maxItems"], 3);
    let content = json!({
        "untitledSingle": "option1",
        "titledSingle": "value2",
        "legacyEnum": "opt3",
        "untitledMulti": ["option1", "option2"],
        "titledMulti": ["value3"]
    });
    wire.answer(&question, json!({ "action": "accept", "content": content }))
        .await;
    let result = wire.recv().await;
    let said = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("value2") && said.contains("[\"value3\"]"),
        "{said}"
    );
}

// proves: ROOT-008, ROOT-013, ROOT-020
#[tokio::test]
async fn roots_that_cannot_be_had_do_not_stop_the_server() {
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let roots = cx.roots().await?;
        Ok::<_, HandlerError>(format!("{} roots", roots.len()))
    }));
    let mut wire = open(server.clone(), json!({})).await;
    refused(&mut wire, "roots").await;
    let mut wire = open(server, json!({ "roots": {} })).await;
    for (code, message) in [(-32603, "broken"), (-32601, "no roots")] {
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("roots/list").await;
        wire.refuse(&question, code, message).await;
        let result = wire.recv().await;
        assert_eq!(result["result"]["isError"], true);
    }
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("roots/list").await;
    wire.answer(&question, json!({ "roots": [{ "uri": "file:///gone" }] }))
        .await;
    assert_eq!(wire.recv().await["result"]["content"][0]["text"], "1 roots");
}

#[tokio::test]
async fn a_client_that_leaves_fails_the_question() {
    let outcome: Arc<Mutex<Option<String>>> = Arc::default();
    let kept = Arc::clone(&outcome);
    let server = Server::new("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let kept = Arc::clone(&kept);
        async move {
            // Outlives the request, like a spawned task.
            let asking = tokio::spawn(async move { cx.roots().await });
            let answer = asking.await.expect("no panic");
            *kept.lock().unwrap() = Some(answer.unwrap_err().to_string());
            "done"
        }
    }));
    let mut wire = open(server, json!({ "roots": {} })).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    wire.expect("roots/list").await;
    wire.close().await.unwrap();
    let _ = outcome;
}

#[tokio::test]
async fn raw_forms_are_checked_too() {
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let params = ElicitRequestFormParams::new(
            "?",
            serde_json::from_value(json!({
                "type": "object",
                "properties": { "n": { "type": "integer", "minimum": 5 } }
            }))?,
        );
        let result = cx.elicit_raw(ElicitRequestParams::Form(params)).await?;
        Ok::<_, HandlerError>(result.action.as_str().to_owned())
    }));
    let mut wire = open(server, json!({ "elicitation": {} })).await;
    for (n, fine) in [(7, true), (3, false)] {
        wire.request("tools/call", json!({ "name": "ask" })).await;
        let question = wire.expect("elicitation/create").await;
        wire.answer(
            &question,
            json!({ "action": "accept", "content": { "n": n } }),
        )
        .await;
        assert_eq!(wire.recv().await["result"]["isError"] != true, fine);
    }
}
