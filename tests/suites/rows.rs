//! Requirements of the specification that belong to no other suite.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{Client, KeepAlive};
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::AskError;
use mcp_server::{Args, Ctx, Prompt, Server, Tool};
use mcp_tests::everything;
use mcp_tests::wire::{Wire, connect};
use mcp_transport_stdio::Child;
use mcp_types::{
    AudioContent, ContentBlock, CreateMessageRequestParams, JsonObject, LoggingLevel,
    PromptMessage, Role, SamplingMessage,
};
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt as _;

fn client() -> mcp_client::Builder {
    Client::builder("host", "0.1")
}

async fn open(server: Server) -> Wire {
    Wire::open(server, "2025-11-25", json!({})).await
}

/// Collects what is traced on this thread.
#[derive(Clone, Default)]
pub(crate) struct Traced(pub(crate) Arc<Mutex<String>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Traced {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Visitor<'a>(&'a mut String);
        impl tracing::field::Visit for Visitor<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{}={value:?} ", field.name()));
            }
        }
        let mut text = self.0.lock().unwrap();
        event.record(&mut Visitor(&mut text));
        text.push('\n');
    }
}

// proves: CANC-015, M-CANC-017
#[tokio::test]
async fn the_reason_of_a_cancellation_is_logged_on_one_line() {
    let traced = Traced::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(traced.clone()));
    let mut wire = open(everything::server()).await;
    let id = wire
        .request("tools/call", json!({ "name": "wait_for_cancel" }))
        .await;
    let reason = "bored\n\u{1b}[31mred";
    wire.notify(
        "notifications/cancelled",
        json!({ "requestId": id, "reason": reason }),
    )
    .await;
    wire.silent().await;
    let text = traced.0.lock().unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("bored"))
        .expect("a line");
    assert!(line.contains("bored\\n\\u{1b}[31mred"), "{line}");
}

// proves: PING-014
#[tokio::test(start_paused = true)]
async fn a_missed_ping_is_logged() {
    let traced = Traced::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(traced.clone()));
    let builder = client().keep_alive(KeepAlive::new(Duration::from_secs(5), 1));
    let (mut wire, client) = Wire::accept(builder, "2025-11-25", json!({})).await;
    assert_eq!(wire.recv_patiently().await["method"], "ping");
    client.closed().await;
    assert!(traced.0.lock().unwrap().contains("did not answer a ping"));
}

// proves: CANC-012
#[tokio::test]
async fn a_handler_that_cannot_stop_runs_on_and_its_answer_is_dropped() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let done = Arc::new(tokio::sync::Notify::new());
    let started = Arc::new(tokio::sync::Notify::new());
    let (notice, begun) = (Arc::clone(&done), Arc::clone(&started));
    let stubborn = Tool::new("stubborn", move || {
        begun.notify_one();
        let _ = released.lock().unwrap().recv();
        notice.notify_one();
        "finished"
    });
    let mut wire = open(Server::new("s", "1").tool(stubborn.blocking())).await;
    let id = wire
        .request("tools/call", json!({ "name": "stubborn" }))
        .await;
    started.notified().await;
    wire.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    wire.silent().await;
    release.send(()).unwrap();
    done.notified().await;
    wire.silent().await;
}

// proves: PROG-016, M-PROG-010
#[tokio::test]
async fn a_tight_loop_of_progress_is_thinned_out_but_ends() {
    let server = Server::new("s", "1").tool(Tool::new("loop", |cx: Ctx| {
        for n in 1..=100_000 {
            cx.progress(f64::from(n), 100_000.0);
        }
        "done"
    }));
    let mut wire = open(server).await;
    let params = json!({ "name": "loop", "_meta": { "progressToken": 1 } });
    let id = wire.request("tools/call", params).await;
    let (mut frames, mut last) = (0, 0.0);
    loop {
        let message = wire.recv().await;
        if message["id"] == id {
            break;
        }
        frames += 1;
        last = message["params"]["progress"].as_f64().unwrap();
    }
    assert!(frames < 2_000, "{frames} frames");
    assert_eq!(last, 100_000.0);
}

// proves: LOG-011
#[tokio::test]
async fn a_tight_loop_of_log_messages_is_bounded() {
    let server = Server::new("s", "1").tool(Tool::new("loop", |cx: Ctx| {
        let sent = (0..100_000)
            .filter(|n| cx.log(LoggingLevel::Error, *n))
            .count();
        sent.to_string()
    }));
    let mut wire = open(server).await;
    let id = wire.request("tools/call", json!({ "name": "loop" })).await;
    let mut frames = 0;
    let answer = loop {
        let message = wire.recv().await;
        if message["id"] == id {
            break message;
        }
        frames += 1;
    };
    assert!((100..5_000).contains(&frames), "{frames} frames");
    assert_eq!(answer["result"]["content"][0]["text"], frames.to_string());
}

// proves: LOG-010
#[tokio::test]
async fn a_level_that_cannot_be_set_is_an_internal_error() {
    let server = everything::server().guard(|request| {
        if request.method == "logging/setLevel" {
            return Err(ErrorObject::internal("the log is sealed"));
        }
        Ok(())
    });
    let mut wire = open(server).await;
    assert_eq!(
        wire.fails("logging/setLevel", json!({ "level": "info" }))
            .await,
        -32603
    );
}

// proves: ROOT-021, ROOT-022
#[tokio::test]
async fn roots_are_requested_once_until_they_change() {
    let server = || {
        Server::new("s", "1").tool(Tool::new("roots", async |cx: Ctx| {
            cx.roots().await.map(|roots| roots.len().to_string())
        }))
    };
    let announces = json!({ "roots": { "listChanged": true } });
    let mut wire = Wire::open(server(), "2025-11-25", announces).await;
    let call = json!({ "name": "roots" });
    for roots in [json!([]), json!([{ "uri": "file:///a" }])] {
        let id = wire.request("tools/call", call.clone()).await;
        let question = wire.expect("roots/list").await;
        wire.answer(&question, json!({ "roots": roots })).await;
        assert_eq!(wire.recv().await["id"], id);
        let again = wire.call("tools/call", call.clone()).await;
        let count = roots.as_array().unwrap().len();
        assert_eq!(again["content"][0]["text"], count.to_string());
        wire.notify("notifications/roots/list_changed", Value::Null)
            .await;
    }
    // A list that changed while it was requested is not cached.
    wire.request("tools/call", call.clone()).await;
    let question = wire.expect("roots/list").await;
    wire.notify("notifications/roots/list_changed", Value::Null)
        .await;
    wire.answer(&question, json!({ "roots": [] })).await;
    wire.recv().await;
    wire.request("tools/call", call.clone()).await;
    wire.expect("roots/list").await;
    // A client without change notifications is asked each time.
    let mut wire = Wire::open(server(), "2025-11-25", json!({ "roots": {} })).await;
    for _ in 0..2 {
        wire.request("tools/call", call.clone()).await;
        let question = wire.expect("roots/list").await;
        wire.answer(&question, json!({ "roots": [] })).await;
        wire.recv().await;
    }
}

// proves: SAMP-031, SAMP-032
#[tokio::test]
async fn meta_of_tool_uses_and_results_goes_back_as_it_came() {
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let mut params = CreateMessageRequestParams::new(vec![SamplingMessage::user("x")], 5);
        params.tools = Some(Vec::new());
        let answer = cx.sample(params.clone()).await?;
        params.messages.push(SamplingMessage::new(Role::Assistant, answer.content));
        let result = serde_json::from_value::<SamplingMessage>(json!({
            "role": "user",
            "content": [{ "type": "tool_result", "toolUseId": "a", "content": [], "_meta": { "com.example/r": 2 } }]
        }));
        params.messages.extend(result);
        cx.sample(params).await.map(|answer| answer.model)
    }));
    let capabilities = json!({ "sampling": { "tools": {} } });
    let mut wire = Wire::open(server, "2025-11-25", capabilities).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("sampling/createMessage").await;
    let used = json!({
        "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 }, "_meta": { "com.example/u": [1] }
    });
    let answer = json!({ "role": "assistant", "content": [used], "model": "m" });
    wire.answer(&question, answer).await;
    let second = wire.expect("sampling/createMessage").await;
    assert_eq!(second["params"]["messages"][1]["content"], json!([used]));
    let result = &second["params"]["messages"][2]["content"][0];
    assert_eq!(result["_meta"], json!({ "com.example/r": 2 }));
}

// proves: TOOL-025, TOOL-027
#[tokio::test]
async fn links_and_embedded_resources_need_not_be_listed() {
    let client = connect(client(), everything::server()).await.unwrap();
    assert!(client.capabilities().resources.is_some());
    let listed = client.list_resources().await.unwrap();
    let result = client
        .call_tool("test_embedded_resource", json!({}))
        .await
        .unwrap();
    assert!(
        matches!(&result.content[0], ContentBlock::Resource(_)),
        "{result:?}"
    );
    let result = client
        .call_tool("test_resource_link", json!({}))
        .await
        .unwrap();
    let ContentBlock::ResourceLink(link) = &result.content[0] else {
        panic!("{result:?}")
    };
    assert!(listed.iter().all(|resource| resource.uri != link.uri));
    assert_eq!(link.uri, "test://not-listed");
}

// proves: PROMPT-011, PROMPT-012
#[tokio::test]
async fn audio_in_a_prompt_has_a_mime_type() {
    let server = Server::new("s", "1").prompt(Prompt::new("p", || {
        let audio = AudioContent::new(data_encoding::BASE64.encode(b"sound"), "audio/wav");
        PromptMessage::new(Role::User, ContentBlock::Audio(audio))
    }));
    let mut wire = open(server).await;
    let written = wire.call("prompts/get", json!({ "name": "p" })).await;
    assert_eq!(
        written["messages"][0]["content"],
        json!({ "type": "audio", "data": "c291bmQ=", "mimeType": "audio/wav" })
    );
}

// proves: BASE-021, SCHEMA-031
#[tokio::test]
async fn schemas_pass_through_unchanged() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": { "a": { "type": "string" } },
        "properties": { "x": { "$ref": "#/definitions/a" }, "y": { "oneOf": [{ "type": "null" }, { "minimum": 1e3 }] } },
        "additionalProperties": { "type": "boolean" },
        "x-unknown": [1, null, { "deep": true }]
    });
    let server = Server::new("s", "1").tool(
        Tool::dynamic("t", schema.clone(), |Args(_): Args<JsonObject>| "x")
            .output_schema(schema.as_object().unwrap().clone()),
    );
    let client = connect(client(), server).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    assert_eq!(Value::Object(tools[0].input_schema.clone()), schema);
    assert_eq!(
        Value::Object(tools[0].output_schema.clone().unwrap()),
        schema
    );
}

// proves: BASE-031
#[tokio::test]
async fn the_sdk_puts_no_meta_keys_of_its_own_on_the_wire() {
    let mut wire = open(everything::server()).await;
    let names = [
        "test_simple_text",
        "get_weather",
        "test_multiple_content_types",
    ];
    for name in names {
        let result = wire.tool(name, json!({ "location": "x" })).await;
        assert!(!result.to_string().contains("_meta"), "{result}");
    }
    let (mut wire, client) = Wire::accept(client(), "2025-11-25", json!({ "tools": {} })).await;
    let call = tokio::spawn(async move { client.call_tool("t", json!({})).await });
    let request = wire.expect("tools/call").await;
    let meta = request["params"]["_meta"].as_object().unwrap();
    assert_eq!(meta.keys().collect::<Vec<_>>(), ["progressToken"]);
    call.abort();
}

// proves: SCHEMA-010
#[tokio::test]
async fn error_messages_are_one_short_line() {
    let mut wire = open(everything::server()).await;
    let long = "x".repeat(5_000);
    for (method, params) in [
        (&*long, json!({})),
        ("tools/call", json!({ "name": long })),
        ("tools/call", json!({ "name": 5 })),
        ("prompts/get", json!({ "name": format!("a\nb{long}") })),
        ("resources/read", json!({ "uri": long })),
        ("completion/complete", json!({ "ref": { "type": long } })),
        ("logging/setLevel", json!({ "level": long })),
    ] {
        let answer = wire.answer_to(method, params).await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.len() < 400 && !message.contains('\n'), "{message}");
    }
}

// proves: SCHEMA-016
#[tokio::test]
async fn meta_of_notifications_reaches_the_host() {
    let seen: Arc<Mutex<Option<Value>>> = Arc::default();
    let slot = Arc::clone(&seen);
    let builder = client().on_log(move |message| {
        *slot.lock().unwrap() = message.meta.map(|meta| serde_json::to_value(meta).unwrap());
    });
    let (mut wire, _client) = Wire::accept(builder, "2025-11-25", json!({})).await;
    let meta = json!({ "com.example/trace": "t" });
    let params = json!({ "level": "info", "data": 1, "_meta": meta });
    wire.notify("notifications/message", params).await;
    wire.silent().await;
    assert_eq!(*seen.lock().unwrap(), Some(meta));
}

// proves: SCHEMA-030
#[tokio::test]
async fn a_listed_tool_without_name_or_schema_is_named_in_the_error() {
    for (tool, needle) in [
        (json!({ "name": "t" }), "inputSchema"),
        (json!({ "name": "t", "inputSchema": null }), "inputSchema"),
        (json!({ "inputSchema": { "type": "object" } }), "name"),
    ] {
        let (mut wire, client) = Wire::accept(client(), "2025-11-25", json!({ "tools": {} })).await;
        let listing = tokio::spawn(async move { client.list_tools().await });
        let request = wire.expect("tools/list").await;
        wire.answer(&request, json!({ "tools": [tool] })).await;
        let error = listing.await.unwrap().unwrap_err().to_string();
        assert!(
            error.contains("/tools/0") && error.contains(needle),
            "{error}"
        );
    }
}

// proves: SCHEMA-034
#[tokio::test]
async fn a_completion_notice_without_an_id_is_ignored() {
    let told: Arc<Mutex<u32>> = Arc::default();
    let count = Arc::clone(&told);
    let builder = client()
        .on_elicit_url(async |ask| ask.accept())
        .on_elicit_url_done(move |_| *count.lock().unwrap() += 1);
    let (mut wire, _client) = Wire::accept(builder, "2025-11-25", json!({})).await;
    let params =
        json!({ "mode": "url", "message": "m", "url": "https://x.y/", "elicitationId": "i" });
    wire.call("elicitation/create", params).await;
    for params in [Value::Null, json!({}), json!({ "elicitationId": 5 })] {
        wire.notify("notifications/elicitation/complete", params)
            .await;
    }
    wire.silent().await;
    assert_eq!(*told.lock().unwrap(), 0);
}

// proves: SCHEMA-037, SCHEMA-039
#[tokio::test]
async fn a_server_routes_every_method_and_notification_of_a_client() {
    let mut wire = open(everything::server()).await;
    for (method, params) in [
        ("ping", Value::Null),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" },
                "argument": { "name": "arg1", "value": "" }
            }),
        ),
        ("logging/setLevel", json!({ "level": "error" })),
        ("prompts/list", Value::Null),
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        ("resources/list", Value::Null),
        ("resources/templates/list", Value::Null),
        ("resources/read", json!({ "uri": "test://static-text" })),
        (
            "resources/subscribe",
            json!({ "uri": "test://static-text" }),
        ),
        (
            "resources/unsubscribe",
            json!({ "uri": "test://static-text" }),
        ),
        ("tools/list", Value::Null),
        ("tools/call", json!({ "name": "test_simple_text" })),
    ] {
        wire.call(method, params).await;
    }
    for method in [
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "tools/Call",
        "",
    ] {
        assert_eq!(wire.fails(method, json!({})).await, -32601, "{method}");
    }
    for (method, params) in [
        ("notifications/cancelled", json!({ "requestId": 1 })),
        (
            "notifications/progress",
            json!({ "progressToken": 1, "progress": 1 }),
        ),
        ("notifications/initialized", Value::Null),
        ("notifications/roots/list_changed", Value::Null),
        (
            "notifications/tasks/status",
            json!({ "taskId": "t", "status": "working" }),
        ),
    ] {
        wire.notify(method, params).await;
    }
    wire.silent().await;
}

// proves: SCHEMA-038, SCHEMA-040
#[tokio::test]
async fn a_client_routes_every_method_and_notification_of_a_server() {
    let builder = client()
        .roots([])
        .on_sample(async |ask| Ok(ask.reply("m", "x")))
        .on_elicit(async |form| form.decline());
    let (mut wire, _client) = Wire::accept(builder, "2025-11-25", json!({})).await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
    for (method, params) in [
        ("ping", Value::Null),
        ("roots/list", Value::Null),
        (
            "sampling/createMessage",
            json!({ "messages": [message], "maxTokens": 1 }),
        ),
        (
            "elicitation/create",
            json!({
                "message": "?",
                "requestedSchema": { "type": "object", "properties": {} }
            }),
        ),
    ] {
        wire.call(method, params).await;
    }
    for method in ["tools/list", "initialize", "tasks/get", "roots/List"] {
        assert_eq!(wire.fails(method, json!({})).await, -32601, "{method}");
    }
    for (method, params) in [
        ("notifications/cancelled", json!({ "requestId": 1 })),
        (
            "notifications/progress",
            json!({ "progressToken": 1, "progress": 1 }),
        ),
        (
            "notifications/message",
            json!({ "level": "info", "data": 1 }),
        ),
        ("notifications/resources/updated", json!({ "uri": "x:y" })),
        ("notifications/tools/list_changed", Value::Null),
        ("notifications/prompts/list_changed", Value::Null),
        ("notifications/resources/list_changed", Value::Null),
        (
            "notifications/elicitation/complete",
            json!({ "elicitationId": "x" }),
        ),
        (
            "notifications/tasks/status",
            json!({ "taskId": "t", "status": "working" }),
        ),
    ] {
        wire.notify(method, params).await;
    }
    wire.silent().await;
}

// proves: BASE-017, STDIO-002, M-AUTH-003
#[cfg(unix)]
#[tokio::test]
async fn a_child_takes_its_credentials_from_the_environment() {
    // The first line is `initialize`, without an authorization before it.
    let script = r#"read line
        case "$line" in *'"method":"initialize"'*) ;; *) exit 9 ;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"0"},"instructions":"'"$API_TOKEN"'"}}'
        cat >/dev/null"#;
    let child = Child::new("sh")
        .args(["-c", script])
        .env("API_TOKEN", "s3cret");
    let client = client().connect(child).await.unwrap();
    assert_eq!(client.instructions(), Some("s3cret"));
    client.close().await.unwrap();
}

#[tokio::test]
async fn an_unsupported_server_request_names_the_missing_capability() {
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let error = cx.roots().await.unwrap_err();
        assert!(matches!(error, AskError::Unsupported(_)));
        error.to_string()
    }));
    let mut wire = open(server).await;
    let said = wire.tool("ask", json!({})).await["content"][0]["text"].to_string();
    assert!(said.contains("roots"), "{said}");
}
