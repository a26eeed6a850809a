//! Multi round-trip requests: one handler, several requests.

use mcp_server::{Ask, ServerBuilder, StateKeys};

use super::{Peer, named, text};
use crate::prelude::*;

fn able() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

fn sampled(said: &str) -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": said }, "model": "m" })
}

/// The input requests of a result, by key.
fn questions(result: &Value) -> Vec<&str> {
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result["ttlMs"].is_null() && result["content"].is_null());
    let questions = result["inputRequests"].as_object().unwrap();
    for question in questions.values() {
        let members: Vec<_> = question.as_object().unwrap().keys().collect();
        assert!(
            members == ["method", "params"] || members == ["method"],
            "{question}"
        );
        let method = question["method"].as_str().unwrap();
        let kinds = ["elicitation/create", "sampling/createMessage", "roots/list"];
        assert!(kinds.contains(&method), "{question}");
    }
    questions.keys().map(String::as_str).collect()
}

// proves: M-MRTR-001, M-MRTR-003, M-MRTR-004, M-MRTR-006, M-MRTR-010, M-TOOL-011, M-BASE-011, M-DEPR-003
#[tokio::test]
async fn an_input_request_ends_the_call_and_its_response_comes_with_the_retry() {
    let mut peer = Peer::with(everything::server(), able());
    for (tool, key, answer, said) in [
        (
            "elicitation",
            "user_name",
            accepted(json!({ "name": "Ann" })),
            "Hello, Ann!",
        ),
        (
            "sampling",
            "capital_question",
            sampled("Paris"),
            "Sampling response: Paris",
        ),
        (
            "list_roots",
            "client_roots",
            json!({ "roots": [{ "uri": "file:///a" }] }),
            "Roots: file:///a",
        ),
    ] {
        let tool = format!("test_input_required_result_{tool}");
        let first = peer.tool(&tool, json!({})).await;
        assert_eq!(questions(&first), [key]);
        assert!(
            first["requestState"].is_null(),
            "there is nothing to remember"
        );
        let again = peer
            .tool(&tool, json!({ "inputResponses": { key: answer.clone() } }))
            .await;
        assert_eq!(text(&again), said);
    }
    let prompt = "test_input_required_result_prompt";
    let first = peer.call("prompts/get", named(prompt, json!({}))).await;
    assert_eq!(questions(&first), ["user_context"]);
    let answer = accepted(json!({ "context": "tests" }));
    let more = json!({ "inputResponses": { "user_context": answer } });
    let again = peer.call("prompts/get", named(prompt, more)).await;
    assert_eq!(again["messages"][0]["content"]["text"], "Talk about tests.");
}

// proves: M-MRTR-031, M-MRTR-032, M-MRTR-033, M-MRTR-034
#[tokio::test]
async fn missing_and_malformed_responses_are_requested_again() {
    let mut peer = Peer::with(everything::server(), able());
    let tool = "test_input_required_result_elicitation";
    for responses in [
        json!({}),
        json!({ "other": accepted(json!({ "name": "Ann" })) }),
        json!({ "user_name": 7 }),
        json!({ "user_name": accepted(json!({ "name": 7 })) }),
        json!({ "user_name": accepted(json!({})) }),
        json!({ "user_name": { "action": "perhaps" } }),
    ] {
        let asked = peer
            .tool(tool, json!({ "inputResponses": responses }))
            .await;
        assert_eq!(questions(&asked), ["user_name"], "{responses}");
    }
    for responses in [json!([]), json!("x")] {
        peer.expect_error(
            "tools/call",
            named(tool, json!({ "inputResponses": responses })),
            -32602,
        )
        .await;
    }
    let declined = json!({ "inputResponses": { "user_name": { "action": "decline" } } });
    assert_eq!(peer.tool(tool, declined).await["isError"], true);
}

// proves: M-MRTR-002, M-MRTR-009, M-MRTR-011, M-MRTR-023, M-MRTR-034
#[tokio::test]
async fn concurrent_input_requests_share_a_round_trip() {
    let mut peer = Peer::with(everything::server(), able());
    let tool = "test_input_required_result_multi_round";
    let first = peer.tool(tool, json!({})).await;
    assert_eq!(questions(&first), ["step1"]);
    let more = json!({
        "requestState": first["requestState"],
        "inputResponses": { "step1": accepted(json!({ "name": "Ann" })) }
    });
    let second = peer.tool(tool, more).await;
    assert_eq!(questions(&second), ["step2"]);
    assert_ne!(second["requestState"], first["requestState"]);
    let more = json!({
        "requestState": second["requestState"],
        "inputResponses": { "step2": accepted(json!({ "color": "blue" })) }
    });
    assert_eq!(text(&peer.tool(tool, more).await), "Ann likes blue");

    let tool = "test_input_required_result_multiple_inputs";
    let asked = peer.tool(tool, json!({})).await;
    assert_eq!(questions(&asked), ["user_name", "greeting", "client_roots"]);
    // Two of three responses: the third is requested again, and the two are kept.
    let more = json!({
        "requestState": asked["requestState"],
        "inputResponses": { "greeting": sampled("Hello"), "client_roots": { "roots": [] } }
    });
    let asked = peer.tool(tool, more).await;
    assert_eq!(questions(&asked), ["user_name"]);
    let more = json!({
        "requestState": asked["requestState"],
        "inputResponses": { "user_name": accepted(json!({ "name": "Ann" })) }
    });
    assert_eq!(text(&peer.tool(tool, more).await), "Hello, Ann: 0 roots");
}

// proves: M-META-009, M-META-010, M-MRTR-021, M-ERR-012
#[tokio::test]
async fn undeclared_input_requests_are_not_sent() {
    let mut peer = Peer::with(everything::server(), json!({ "sampling": {} }));
    let asked = peer
        .tool("test_input_required_result_capabilities", json!({}))
        .await;
    assert_eq!(questions(&asked), ["capital_question"]);
    text(&peer.tool("test_missing_capability", json!({})).await);

    peer.capabilities = json!({});
    for (tool, needed) in [
        ("test_missing_capability", json!({ "sampling": {} })),
        (
            "test_input_required_result_list_roots",
            json!({ "roots": {} }),
        ),
        ("test_elicitation_url", json!({ "elicitation": {} })),
    ] {
        let answer = peer.answer("tools/call", named(tool, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32021, "{answer}");
        let expected = json!({ "requiredCapabilities": needed });
        assert_eq!(answer["error"]["data"], expected);
    }
    peer.capabilities = json!({ "elicitation": { "form": {} } });
    let answer = peer
        .answer("tools/call", named("test_elicitation_url", json!({})))
        .await;
    let needed = json!({ "requiredCapabilities": { "elicitation": { "url": {} } } });
    assert_eq!(answer["error"]["data"], needed);
}

// proves: M-MRTR-012, M-MRTR-013, M-MRTR-014, M-MRTR-018, M-STATE-003
#[tokio::test]
async fn the_request_state_of_a_call_is_valid_only_for_that_call() {
    let mut peer = Peer::with(everything::server(), able());
    let tool = "test_input_required_result_tampered_state";
    let asked = peer.tool(tool, json!({})).await;
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let answers = json!({ "confirm": accepted(json!({ "ok": true })) });
    let with = |state: &str| json!({ "requestState": state, "inputResponses": answers });

    let mut refusals = Vec::new();
    for forged in [
        format!("{state}-TAMPERED"),
        String::new(),
        state[1..].to_owned(),
    ] {
        refusals.push(peer.answer("tools/call", named(tool, with(&forged))).await);
    }
    let other = "test_input_required_result_request_state";
    refusals.push(peer.answer("tools/call", named(other, with(&state))).await);
    let mut arguments = with(&state);
    arguments["arguments"] = json!({ "x": 1 });
    let strange = peer.answer("tools/call", named(tool, arguments)).await;
    assert!(
        strange["error"].is_object() || strange["result"]["isError"] == true,
        "{strange}"
    );
    refusals.push(
        peer.answer("tools/call", named(tool, json!({ "requestState": 7 })))
            .await,
    );
    let message = refusals[0]["error"]["message"].clone();
    for refusal in refusals {
        assert_eq!(refusal["error"]["code"], -32602, "{refusal}");
        assert_eq!(refusal["error"]["message"], message, "one error for all");
    }
    assert_eq!(text(&peer.tool(tool, with(&state)).await), "state-ok");

    // Another process without the state key, and with it.
    let keys = |key| everything::server().state_keys(StateKeys::new([key; 32]));
    let mut one = Peer::with(keys(1), able());
    let asked = one.tool(tool, json!({})).await;
    let state = asked["requestState"].as_str().unwrap();
    let mut same = Peer::with(keys(1), able());
    assert_eq!(text(&same.tool(tool, with(state)).await), "state-ok");
    let mut other = Peer::with(keys(2), able());
    other
        .expect_error("tools/call", named(tool, with(state)), -32602)
        .await;
}

/// Shall it be wiped?
#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

/// Which one?
#[derive(Deserialize, JsonSchema)]
struct Which {
    which: String,
}

/// A tool with a side effect before its input request, which it counts.
fn booking(effects: &Arc<AtomicUsize>, runs: &Arc<AtomicUsize>) -> ServerBuilder {
    let (effects, runs) = (Arc::clone(effects), Arc::clone(runs));
    Server::builder("s", "1").tool(Tool::new("book", move |cx: Ctx| {
        let (effects, runs) = (Arc::clone(&effects), Arc::clone(&runs));
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            let seat = cx
                .memoize("seat", async { effects.fetch_add(1, Ordering::SeqCst) + 7 })
                .await?;
            let sure = cx.elicit::<Sure>(format!("Take seat {seat}?")).await?;
            let sure = sure.accepted().is_some_and(|it| it.sure);
            Ok::<_, HandlerError>(format!("{seat} {sure}"))
        }
    }))
}

#[tokio::test]
async fn a_memoized_side_effect_before_an_input_request_happens_once() {
    let (effects, runs) = (Arc::default(), Arc::default());
    let mut peer = Peer::with(booking(&effects, &runs), able());
    let asked = peer.tool("book", json!({})).await;
    let key = questions(&asked)[0].to_owned();
    let message = &asked["inputRequests"][&key]["params"]["message"];
    assert_eq!(message, "Take seat 7?");
    let more = json!({
        "requestState": asked["requestState"],
        "inputResponses": { key: accepted(json!({ "sure": true })) }
    });
    assert_eq!(text(&peer.tool("book", more).await), "7 true");
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    assert_eq!(runs.load(Ordering::SeqCst), 2);

    let (effects, runs) = (Arc::default(), Arc::default());
    let mut old = PipeEnd::open(booking(&effects, &runs), "2025-11-25", able()).await;
    let id = old.request("tools/call", named("book", json!({}))).await;
    old.respond("elicitation/create", accepted(json!({ "sure": true })))
        .await;
    let answer = old.recv().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"], "7 true");
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn ask_parameters_need_one_round_trip_and_the_body_runs_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let wipe = Tool::new(
        "wipe",
        move |Ask(sure): Ask<Sure>, Ask(which): Ask<Which>| {
            count.fetch_add(1, Ordering::SeqCst);
            format!("{} {}", which.which, sure.sure)
        },
    );
    let mut peer = Peer::with(Server::builder("s", "1").tool(wipe), able());
    let asked = peer.tool("wipe", json!({})).await;
    assert_eq!(questions(&asked).len(), 2);
    assert!(asked["requestState"].is_null());
    let mut responses = json!({});
    for (key, question) in asked["inputRequests"].as_object().unwrap() {
        let sure = question["params"]["message"] == "Shall it be wiped?";
        let content = if sure {
            json!({ "sure": true })
        } else {
            json!({ "which": "all" })
        };
        responses[key] = accepted(content);
    }
    let done = peer
        .tool("wipe", json!({ "inputResponses": responses }))
        .await;
    assert_eq!(text(&done), "all true");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// A handler that ignores errors cannot ignore an input request, because a pending request is not an error.
#[tokio::test]
async fn a_handler_cannot_discard_an_input_request() {
    let careless = Tool::new("careless", async |cx: Ctx| {
        match cx.elicit::<Sure>("Sure?").await {
            Ok(answer) => format!("answered {}", answer.accepted().is_some()),
            Err(_) => "went on without".to_owned(),
        }
    });
    let spawned = Tool::new("spawned", async |cx: Ctx| {
        let asking = tokio::spawn(async move { cx.elicit::<Sure>("Sure?").await.is_ok() });
        asking.await.unwrap_or_default().to_string()
    });
    let server = Server::builder("s", "1").tool(careless).tool(spawned);
    let mut peer = Peer::with(server, able());
    for (tool, said) in [("careless", "answered true"), ("spawned", "true")] {
        let asked = peer.tool(tool, json!({})).await;
        let key = questions(&asked)[0].to_owned();
        let more = json!({ "inputResponses": { key: accepted(json!({ "sure": true })) } });
        assert_eq!(text(&peer.tool(tool, more).await), said);
    }
}

// proves: M-ERR-008, M-ELIC-018, M-ELIC-020
#[tokio::test]
async fn required_urls_become_input_requests_and_not_an_error() {
    let paid = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&paid);
    let buy = Tool::new("buy", move |cx: Ctx| {
        if seen.load(Ordering::SeqCst) == 0 {
            return Err(cx.urls_required([("Pay here", "https://example.com/pay")]));
        }
        Ok("bought")
    });
    let capabilities = json!({ "elicitation": { "url": {} } });
    let mut peer = Peer::with(Server::builder("s", "1").tool(buy), capabilities);
    let asked = peer.tool("buy", json!({})).await;
    let key = questions(&asked)[0].to_owned();
    let question = &asked["inputRequests"][&key];
    assert_eq!(question["params"]["url"], "https://example.com/pay");
    assert!(question["params"]["elicitationId"].is_null());
    paid.store(1, Ordering::SeqCst);
    let more = json!({ "inputResponses": { key: { "action": "accept" } } });
    assert_eq!(text(&peer.tool("buy", more).await), "bought");
}
