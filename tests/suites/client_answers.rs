//! Responses of a client to server requests: roots, sampling, elicitation.

use mcp_types::{Root, StopReason};

use crate::peer::{Gone, accept, client};
use crate::prelude::*;

/// Adds the members of another object.
fn add(params: &mut Value, extra: Value) {
    params.as_object_mut().unwrap().extend(object(extra));
}

fn form(properties: Value, required: Value) -> Value {
    json!({
        "message": "Enter your name",
        "requestedSchema": { "type": "object", "properties": properties, "required": required }
    })
}

fn name_form() -> Value {
    form(json!({ "name": { "type": "string" } }), json!(["name"]))
}

/// Params of a sampling request.
fn sampling(max_tokens: i64) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
    json!({ "messages": [message], "maxTokens": max_tokens })
}

// proves: ROOT-005, ROOT-007, ROOT-010
#[tokio::test]
async fn invalid_roots_and_requests_for_undeclared_roots_are_rejected() {
    let (wire, transport) = PipeEnd::server();
    let builder = client().roots([Root::new("https://x/")]);
    fails_with(builder.connect(transport).await, "file://");
    drop(wire);
    let (mut wire, client) = accept(client()).await;
    wire.expect_error("roots/list", Value::Null, -32601).await;
    assert!(client.set_roots([]).is_err());
    wire.silent().await;
}

// proves: SAMP-001, SAMP-003, SAMP-004, SAMP-010, SAMP-011, SAMP-018, M-SAMP-002
#[tokio::test]
async fn sampling_is_answered_by_the_host_or_refused_by_its_user() {
    let builder = client().on_sample(async |ask| {
        if ask.params.max_tokens > 1000 {
            return Err(ask.rejected_by_user());
        }
        assert_eq!(ask.server.name, "scripted");
        let mut answer = ask.reply("model-x", "Paris");
        answer.stop_reason = Some(StopReason::EndTurn);
        Ok(answer)
    });
    let (mut wire, _client) = accept(builder).await;
    assert_eq!(
        wire.call("sampling/createMessage", sampling(100)).await,
        json!({
            "role": "assistant",
            "content": { "type": "text", "text": "Paris" },
            "model": "model-x",
            "stopReason": "endTurn"
        })
    );
    wire.expect_error("sampling/createMessage", sampling(5000), -1)
        .await;
    wire.expect_error("sampling/createMessage", json!({ "maxTokens": 1 }), -32602)
        .await;
}

// proves: SAMP-006, SAMP-021, SAMP-022, SAMP-038, LIFE-020, M-SAMP-003
#[tokio::test]
async fn undeclared_features_are_rejected() {
    let (mut wire, _client) = accept(client()).await;
    wire.expect_error("sampling/createMessage", json!({}), -32601)
        .await;
    wire.expect_error("elicitation/create", name_form(), -32601)
        .await;
    let builder = client().on_sample(async |ask| Ok(ask.reply("m", "x")));
    let (mut wire, _client) = accept(builder).await;
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    for extra in [
        json!({ "tools": [tool] }),
        json!({ "toolChoice": { "mode": "auto" } }),
    ] {
        let mut params = sampling(5);
        add(&mut params, extra);
        wire.expect_error("sampling/createMessage", params, -32602)
            .await;
    }
}

// proves: SAMP-017, SAMP-019, SAMP-020, SAMP-023, SAMP-024, SAMP-025, SAMP-034, SCHEMA-025, M-SAMP-010
#[tokio::test]
async fn sampling_with_tools_follows_the_rules() {
    let uses = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&uses);
    let builder = client().sampling_tools().on_sample(move |ask| {
        counted.fetch_add(1, Ordering::SeqCst);
        let input = JsonObject::new();
        let mut answer = ask.reply("m", "x");
        if ask.params.metadata.is_some() {
            let used = mcp_types::ToolUseContent::new("u1", "t", input);
            answer.content = vec![used.into()].into();
        }
        std::future::ready(Ok(answer))
    });
    let (mut wire, _client) = accept(builder).await;
    let text = |role: &str| json!({ "role": role, "content": { "type": "text", "text": "x" } });
    let used = |id: &str| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "t", "input": {} }] });
    let result = |id: &str| json!({ "type": "tool_result", "toolUseId": id, "content": [] });
    let results = |blocks: Vec<Value>| json!({ "role": "user", "content": blocks });
    let ask = |messages: Vec<Value>, extra: Value| {
        let mut params = json!({ "messages": messages, "maxTokens": 5 });
        add(&mut params, extra);
        params
    };
    for good in [
        vec![text("user"), used("a"), results(vec![result("a")])],
        vec![
            text("user"),
            used("a"),
            results(vec![result("a")]),
            text("assistant"),
        ],
    ] {
        wire.call("sampling/createMessage", ask(good, json!({})))
            .await;
    }
    let served = uses.load(Ordering::SeqCst);
    for bad in [
        vec![text("user"), used("a")],
        vec![text("user"), used("a"), text("user")],
        vec![text("user"), used("a"), results(vec![result("b")])],
        vec![text("user"), results(vec![result("a")])],
        vec![
            used("a"),
            results(vec![result("a"), json!({ "type": "text", "text": "x" })]),
        ],
        vec![used("a"), results(vec![result("a"), result("a")])],
        vec![
            json!({ "role": "user", "content": { "type": "resource", "resource": { "uri": "x:y", "text": "" } } }),
        ],
        vec![json!({ "role": "system", "content": { "type": "text", "text": "x" } })],
    ] {
        let params = ask(bad, json!({}));
        wire.expect_error("sampling/createMessage", params, -32602)
            .await;
    }
    assert_eq!(
        uses.load(Ordering::SeqCst),
        served,
        "no bad request reached the model"
    );
    let choice = |mode: &str, uses: bool| {
        let mut extra = json!({ "toolChoice": { "mode": mode } });
        if uses {
            extra["metadata"] = json!({});
        }
        ask(vec![text("user")], extra)
    };
    for (mode, uses, fine) in [
        ("auto", true, true),
        ("auto", false, true),
        ("required", true, true),
        ("required", false, false),
        ("none", false, true),
        ("none", true, false),
    ] {
        let answer = wire
            .answer_to("sampling/createMessage", choice(mode, uses))
            .await;
        assert_eq!(
            answer.get("result").is_some(),
            fine,
            "{mode} {uses} {answer}"
        );
    }
}

// proves: ELIC-003, ELIC-004, ELIC-013, ELIC-014, ELIC-045, ELIC-047, ELIC-060, M-ELIC-003, M-ELIC-004
#[tokio::test]
async fn the_user_may_accept_decline_and_cancel() {
    let builder = client().on_elicit(async |form| {
        assert_eq!(form.server.name, "scripted");
        match &*form.params.message {
            "accept" => form.accept(json!({ "name": "Ada" })),
            "decline" => form.decline(),
            "cancel" => form.cancel(),
            _ => mcp_types::ElicitResult::new("shrug"),
        }
    });
    let (mut wire, _client) = accept(builder).await;
    for (message, mode, answer) in [
        (
            "accept",
            None,
            json!({ "action": "accept", "content": { "name": "Ada" } }),
        ),
        (
            "accept",
            Some("form"),
            json!({ "action": "accept", "content": { "name": "Ada" } }),
        ),
        ("decline", None, json!({ "action": "decline" })),
        ("cancel", None, json!({ "action": "cancel" })),
        ("else", None, json!({ "action": "cancel" })),
    ] {
        let mut params = name_form();
        params["message"] = json!(message);
        if let Some(mode) = mode {
            params["mode"] = json!(mode);
        }
        assert_eq!(wire.call("elicitation/create", params).await, answer);
    }
}

// proves: ELIC-027, ELIC-046, ELIC-075, ELIC-020, ELIC-021, ELIC-024, SCHEMA-041, M-ELIC-017, M-ELIC-022, M-ELIC-046
#[tokio::test]
async fn defaults_are_filled_in_and_answers_checked_before_they_are_sent() {
    let answers: Arc<Mutex<Value>> = Arc::default();
    let next = Arc::clone(&answers);
    let builder = client()
        .on_elicit(move |form| std::future::ready(form.accept(next.lock().unwrap().clone())));
    let (mut wire, _client) = accept(builder).await;
    let params = form(
        json!({
            "name": { "type": "string", "default": "Ada", "minLength": 2, "maxLength": 5 },
            "age": { "type": "integer", "default": 30, "minimum": 0, "maximum": 150 },
            "score": { "type": "number", "default": 95.5 },
            "ok": { "type": "boolean", "default": true },
            "one": { "type": "string", "enum": ["a", "b"], "default": "a" },
            "many": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "default": ["a"], "maxItems": 1 },
            "mail": { "type": "string", "format": "email" }
        }),
        json!(["name"]),
    );
    *answers.lock().unwrap() = json!({});
    let filled = wire.call("elicitation/create", params.clone()).await;
    assert_eq!(
        filled["content"],
        json!({ "name": "Ada", "age": 30, "score": 95.5, "ok": true, "one": "a", "many": ["a"] })
    );
    *answers.lock().unwrap() = json!({ "score": 3.5, "age": 7, "mail": "a@b" });
    let filled = wire.call("elicitation/create", params.clone()).await;
    assert_eq!(filled["content"]["score"], 3.5);
    for bad in [
        json!({ "name": "A" }),
        json!({ "name": "Adalbert" }),
        json!({ "age": 7.5 }),
        json!({ "age": -1 }),
        json!({ "age": 151 }),
        json!({ "ok": "yes" }),
        json!({ "one": "c" }),
        json!({ "many": ["a", "b"] }),
        json!({ "many": ["z"] }),
        json!({ "mail": "nowhere" }),
        json!({ "unasked": "x" }),
    ] {
        *answers.lock().unwrap() = bad.clone();
        wire.expect_error("elicitation/create", params.clone(), -32603)
            .await;
    }
}

// proves: ELIC-009, ELIC-010, ELIC-044, ELIC-032, M-ELIC-009
#[tokio::test]
async fn only_declared_modes_are_answered() {
    let url = json!({
        "mode": "url",
        "message": "Connect",
        "url": "https://example.com/c?x=1",
        "elicitationId": "an id\u{1F389}"
    });
    let builder = client().on_elicit(async |form| form.accept(json!({ "name": "x" })));
    let (mut wire, _client) = accept(builder).await;
    wire.expect_error("elicitation/create", url.clone(), -32602)
        .await;
    wire.call("elicitation/create", name_form()).await;
    let builder = client().on_elicit_url(async |ask| {
        assert_eq!(ask.params.url, "https://example.com/c?x=1");
        ask.accept()
    });
    let (mut wire, _client) = accept(builder).await;
    let expected = json!({ "action": "accept" });
    assert_eq!(wire.call("elicitation/create", url).await, expected);
    wire.expect_error("elicitation/create", name_form(), -32602)
        .await;
    for url in ["javascript:alert(1)", "file:///etc/passwd", "vscode://x"] {
        let elsewhere = json!({ "mode": "url", "message": "x", "url": url, "elicitationId": "i" });
        wire.expect_error("elicitation/create", elsewhere, -32602)
            .await;
    }
    let other = json!({ "mode": "smoke", "message": "x", "requestedSchema": {} });
    wire.expect_error("elicitation/create", other, -32602).await;
}

// proves: ELIC-007, ELIC-067, ELIC-068, M-ELIC-006, M-ELIC-039, M-ELIC-040, M-ELIC-051
#[tokio::test]
async fn the_client_never_opens_the_url_of_an_elicitation() {
    let (listener, address) = listen().await;
    let visited = tokio::spawn(async move { listener.accept().await.map(drop) });
    let builder = client().on_elicit_url(async |ask| ask.accept());
    let (mut wire, client) = accept(builder).await;
    for _ in 0..3 {
        let params = json!({
            "mode": "url",
            "message": "Connect",
            "url": format!("http://{address}/"),
            "elicitationId": "1"
        });
        wire.call("elicitation/create", params).await;
    }
    client.close().await.unwrap();
    assert!(!visited.is_finished(), "the URL was opened");
    visited.abort();
}

// proves: ELIC-031, ELIC-036
#[tokio::test]
async fn completion_of_a_url_is_reported_once_if_it_was_accepted() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, notice) = (Arc::clone(&told), Arc::new(Notify::new()));
    let notify = Arc::clone(&notice);
    let builder = client()
        .on_elicit_url(async |ask| {
            if ask.params.message == "yes" {
                ask.accept()
            } else {
                ask.decline()
            }
        })
        .on_elicit_url_done(move |id| {
            seen.lock().unwrap().push(id);
            notify.notify_one();
        });
    let (mut wire, _client) = accept(builder).await;
    for (message, id) in [("yes", "id \u{1F389}"), ("no", "declined")] {
        let params = json!({ "mode": "url", "message": message, "url": "https://x.y/", "elicitationId": id });
        wire.call("elicitation/create", params).await;
    }
    for id in ["unknown", "declined", "id \u{1F389}", "id \u{1F389}"] {
        wire.notify(
            "notifications/elicitation/complete",
            json!({ "elicitationId": id }),
        )
        .await;
    }
    wire.silent().await;
    notice.notified().await;
    assert_eq!(*told.lock().unwrap(), ["id \u{1F389}"]);
}

// proves: ELIC-061, SAMP-035, M-SAMP-022
#[tokio::test]
async fn a_flood_of_server_requests_is_rejected() {
    let builder = client()
        .on_elicit(async |_| std::future::pending().await)
        .on_sample(async |_| std::future::pending().await);
    let (mut wire, _client) = accept(builder).await;
    for _ in 0..16 {
        wire.request("elicitation/create", name_form()).await;
    }
    wire.expect_error("elicitation/create", name_form(), -32603)
        .await;
    wire.expect_error("sampling/createMessage", sampling(5), -32603)
        .await;
    wire.silent().await;
}

// proves: ELIC-038, ELIC-059, M-ELIC-021, M-ELIC-034
#[tokio::test]
async fn a_cancelled_server_request_drops_its_handler() {
    let gone = Arc::new(Notify::new());
    let notice = Arc::clone(&gone);
    let builder = client().on_elicit(move |_| {
        let gone = Gone(Arc::clone(&notice));
        async move {
            let _gone = gone;
            std::future::pending().await
        }
    });
    let (mut wire, _client) = accept(builder).await;
    let id = wire.request("elicitation/create", name_form()).await;
    wire.silent().await;
    wire.cancel(&id).await;
    gone.notified().await;
    wire.silent().await;
}
