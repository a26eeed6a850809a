//! Calls that get `input_required`.

use mcp_client::Timeouts;
use mcp_types::Root;
use mcp_types::v2026_07_28::{CallToolOutcome, InputResponses};
use tokio::sync::Barrier;
use tokio::time::{Instant, sleep};

use super::{claims, client, closed, connected};
use crate::peer::listing;
use crate::prelude::*;
use crate::scripted::Notes;

type Calling = JoinHandle<Result<CallToolResult, Error>>;

async fn with_tools(builder: ClientBuilder) -> (PipeEnd, Client) {
    connected(
        builder,
        json!({ "tools": {}, "prompts": {}, "resources": {} }),
    )
    .await
}

fn call(client: &Client) -> Calling {
    let client = client.clone();
    tokio::spawn(async move { client.call_tool("ask", json!({ "n": 1 })).await })
}

pub(super) fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    json!({ "method": "elicitation/create", "params": {
        "message": message, "requestedSchema": schema } })
}

pub(super) fn asks(questions: Value, state: Value) -> Value {
    let mut result = json!({ "resultType": "input_required" });
    if !questions.is_null() {
        result["inputRequests"] = questions;
    }
    if !state.is_null() {
        result["requestState"] = state;
    }
    result
}

/// One input request, under the key `q`.
pub(super) fn asks_for(message: &str) -> Value {
    asks(json!({ "q": form(message) }), Value::Null)
}

fn done() -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] })
}

pub(super) fn accepting() -> ClientBuilder {
    client().on_elicit(async |form| form.accept(json!({ "name": "octocat" })))
}

// proves: M-MRTR-003, M-MRTR-005, M-MRTR-024, M-MRTR-026, M-MRTR-027, M-MRTR-028, M-MRTR-030, M-TOOL-012
// proves: M-PROG-002, M-ELIC-013
#[tokio::test(start_paused = true)]
async fn a_retry_contains_the_responses_and_the_unchanged_state() {
    let (mut wire, client) = with_tools(accepting()).await;
    let calling = call(&client);
    let first = wire.recv_patiently().await;
    claims(&first);
    assert_eq!(first["params"]["name"], "ask");
    let state = "{\"not\": \"json\"}\u{0}\n \u{1f980}\\u0041";
    wire.answer(
        &first,
        asks(json!({ "a \"key\"": form("who?") }), json!(state)),
    )
    .await;
    let second = wire.recv_patiently().await;
    assert_ne!(second["id"], first["id"]);
    let answer = json!({ "action": "accept", "content": { "name": "octocat" } });
    let answers = json!({ "a \"key\"": answer });
    assert_eq!(second["params"]["inputResponses"], answers);
    assert_eq!(second["params"]["requestState"], state);
    // The state of an earlier round trip is not sent again.
    wire.answer(&second, asks(json!({ "b": form("and?") }), Value::Null))
        .await;
    let third = wire.recv_patiently().await;
    let params = third["params"].as_object().unwrap();
    assert!(!params.contains_key("requestState"), "{third}");
    assert_eq!(third["params"]["inputResponses"], json!({ "b": answer }));

    let bare = |request: &Value| {
        let mut params = request["params"].clone();
        let meta = params["_meta"].as_object_mut().unwrap();
        let token = meta.shift_remove("progressToken").unwrap();
        let params = params.as_object_mut().unwrap();
        params.shift_remove("inputResponses");
        params.shift_remove("requestState");
        (json!(params), token)
    };
    let last = json!({ "id": third["id"] });
    let [first, second, third] = [bare(&first), bare(&second), bare(&third)];
    assert_eq!((&first.0, &second.0), (&second.0, &third.0));
    assert!(
        first.1 != second.1 && second.1 != third.1,
        "tokens are used once"
    );
    wire.answer(&last, done()).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    assert!(format!("{client:?}").contains("progress_tokens: 0"));
}

// proves: M-MRTR-029
#[tokio::test(start_paused = true)]
async fn a_round_trip_does_not_affect_other_calls() {
    let (mut wire, client) = with_tools(accepting()).await;
    let first = call(&client);
    let asked = wire.recv_patiently().await;
    let second = call(&client);
    let plain = wire.recv_patiently().await;
    wire.answer(&asked, asks(json!({ "a": form("who?") }), json!("state")))
        .await;
    let retry = wire.recv_patiently().await;
    assert_eq!(retry["params"]["requestState"], "state");
    let third = call(&client);
    for request in [plain, wire.recv_patiently().await] {
        let params = request["params"].as_object().unwrap();
        assert!(!params.contains_key("requestState"), "{request}");
        assert!(!params.contains_key("inputResponses"), "{request}");
        wire.answer(&request, done()).await;
    }
    wire.answer(&retry, done()).await;
    for calling in [first, second, third] {
        calling.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn all_input_requests_of_a_round_trip_are_handled_concurrently() {
    let both = Arc::new(Barrier::new(2));
    let host = client()
        .roots([Root::new("file:///work")])
        .on_elicit({
            let both = Arc::clone(&both);
            move |form| {
                let both = Arc::clone(&both);
                async move {
                    both.wait().await;
                    form.decline()
                }
            }
        })
        .on_sample(move |ask| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                Ok(ask.reply("model", "Paris"))
            }
        });
    let (mut wire, client) = with_tools(host).await;
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "?" } });
    let sample = json!({ "method": "sampling/createMessage", "params": {
        "messages": [message], "maxTokens": 5 } });
    let questions =
        json!({ "form": form("who?"), "model": sample, "roots": { "method": "roots/list" } });
    wire.answer(&request, asks(questions, Value::Null)).await;
    let retry = wire.recv_patiently().await;
    let answers = &retry["params"]["inputResponses"];
    // A decline is a response.
    assert_eq!(answers["form"], json!({ "action": "decline" }));
    assert_eq!(answers["model"]["content"]["text"], "Paris");
    let roots = json!({ "roots": [{ "uri": "file:///work" }] });
    assert_eq!(answers["roots"], roots);
    wire.answer(&retry, done()).await;
    calling.await.unwrap().unwrap();
}

// proves: M-MRTR-035, M-MRTR-037, M-SAMP-021
#[tokio::test(start_paused = true)]
async fn an_input_request_without_a_response_fails_the_call() {
    let host = || accepting().on_sample(async |ask| Err(ask.rejected_by_user()));
    let sample = |more: Value| {
        let mut params = json!({ "messages": [], "maxTokens": 5 });
        if !more.is_null() {
            params["tools"] = more;
        }
        json!({ "method": "sampling/createMessage", "params": params })
    };
    for (question, reason) in [
        (json!({ "method": "roots/list" }), "roots/list"),
        (sample(Value::Null), "user rejected"),
        (sample(json!([])), "sampling.tools"),
        (
            json!({ "method": "elicitation/create", "params": {} }),
            "invalid params",
        ),
        (
            json!({ "method": "elicitation/create", "params": {
                "mode": "url", "message": "m", "url": "https://example.com" } }),
            "URL",
        ),
    ] {
        let (mut wire, client) = with_tools(host()).await;
        let calling = call(&client);
        let request = wire.recv_patiently().await;
        let questions = json!({ "good": form("who?"), "bad": question });
        wire.answer(&request, asks(questions, json!("s"))).await;
        let error = calling.await.unwrap().unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::InputFailed { .. }), "{text}");
        assert!(text.contains("\"bad\"") && text.contains(reason), "{text}");
        assert!(error.rejection().is_none());
        closed(client, wire).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_only_its_call() {
    let host = client().on_elicit(async |form| {
        assert_ne!(form.params.message, "bad", "a bug of the host");
        form.decline()
    });
    let (mut wire, client) = with_tools(host).await;
    let calling = call(&client);
    wire.answer_next(asks_for("bad")).await;
    assert_fails!(calling.await.unwrap(), Error::InputFailed { .. });
}

#[tokio::test(start_paused = true)]
async fn the_number_of_round_trips_is_limited() {
    for limit in [10, 2] {
        let (mut wire, client) = with_tools(accepting().max_round_trips(limit)).await;
        let calling = call(&client);
        for _ in 0..=limit {
            wire.answer_next(asks_for("again?")).await;
        }
        let error = calling.await.unwrap().unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&limit.to_string()), "{text}");
        assert!(text.contains("ClientBuilder::max_round_trips"), "{text}");
        closed(client, wire).await;
    }
}

// proves: M-MRTR-025
#[tokio::test(start_paused = true)]
async fn a_result_with_only_a_state_is_retried_with_a_delay() {
    let (mut wire, client) = with_tools(client()).await;
    let began = Instant::now();
    let calling = call(&client);
    let mut waits = Vec::new();
    for _ in 0..3 {
        let request = wire.recv_patiently().await;
        waits.push(began.elapsed().as_millis());
        wire.answer(&request, asks(Value::Null, json!("wait")))
            .await;
    }
    let last = wire.recv_patiently().await;
    let params = last["params"].as_object().unwrap();
    assert!(!params.contains_key("inputResponses"), "{last}");
    wire.answer(&last, done()).await;
    calling.await.unwrap().unwrap();
    assert_eq!(waits, [0, 0, 100]);
}

// proves: M-BASE-014
#[tokio::test(start_paused = true)]
async fn invalid_results_have_different_errors() {
    let (mut wire, client) = with_tools(accepting()).await;
    for (result, told) in [
        (
            json!({ "resultType": "hologram", "taskId": "1" }),
            "\"hologram\"",
        ),
        (json!({ "resultType": "input_required" }), "neither"),
        (json!({ "resultType": 7 }), "/resultType"),
        (asks(Value::Null, json!({ "a": 1 })), "requestState"),
        (
            asks(json!({ "q": { "params": {} } }), Value::Null),
            "no method",
        ),
        (asks(json!([1]), Value::Null), "expected an object"),
    ] {
        let calling = call(&client);
        wire.answer_next(result).await;
        fails_with(calling.await.unwrap(), told);
    }
    let listing = listing(&client);
    wire.answer_next(asks_for("?")).await;
    assert_fails!(listing.await.unwrap(), Error::Protocol { .. });
    // A result without a type is complete.
    for result in [
        json!({ "content": [] }),
        json!({ "resultType": null, "content": [] }),
    ] {
        let calling = call(&client);
        wire.answer_next(result).await;
        calling.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_may_be_slow_up_to_the_total_timeout() {
    let second = Duration::from_secs(1);
    let slow = |wait: Duration| {
        let host = client().on_elicit(move |form| async move {
            // sleep: the clock is paused
            sleep(wait).await;
            form.decline()
        });
        host.timeouts(Timeouts::new(second * 10, second * 60))
    };
    let (mut wire, client) = with_tools(slow(second * 30)).await;
    let calling = call(&client);
    wire.answer_next(asks_for("?")).await;
    let retry = wire.recv_patiently().await;
    // The idle timeout of the server starts again.
    sleep(second * 9).await;
    wire.answer(&retry, done()).await;
    calling.await.unwrap().unwrap();

    let (mut wire, client) = with_tools(slow(second * 90)).await;
    let calling = call(&client);
    wire.answer_next(asks_for("?")).await;
    fails_with(calling.await.unwrap(), "Timeouts::total");
    closed(client, wire).await;
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_in_every_round_trip() {
    let (mut wire, client) = with_tools(accepting()).await;
    let heard = Notes::default();
    let notes = heard.clone();
    let calling = client
        .call_tool("ask", json!({}))
        .on_progress(move |progress| notes.note(progress.progress.to_string()));
    let calling = tokio::spawn(async move { calling.await });
    for result in [asks_for("?"), done()] {
        let request = wire.recv_patiently().await;
        let token = &request["params"]["_meta"]["progressToken"];
        let params = json!({ "progressToken": token, "progress": 1 });
        wire.notify("notifications/progress", params).await;
        wire.answer(&request, result).await;
    }
    calling.await.unwrap().unwrap();
    assert_eq!(heard.take(), ["1", "1"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_may_perform_the_round_trips_itself() {
    let (mut wire, client) = with_tools(client()).await;
    let round = client.call_tool_once("ask", json!({ "n": 1 }));
    let round = tokio::spawn(async move { round.await });
    wire.answer_next(asks(json!({ "q": form("?") }), json!("s")))
        .await;
    let CallToolOutcome::InputRequired(interim) = round.await.unwrap().unwrap() else {
        panic!("it asked")
    };
    let answer = json!({ "q": { "action": "accept", "content": { "name": "me" } } });
    let answers: InputResponses = serde_json::from_value(answer.clone()).unwrap();
    let round = client
        .call_tool_once("ask", json!({ "n": 1 }))
        .input_responses(answers)
        .request_state(interim.request_state.unwrap());
    let round = tokio::spawn(async move { round.await });
    let retry = wire.recv_patiently().await;
    assert_eq!(retry["params"]["inputResponses"], answer);
    assert_eq!(retry["params"]["requestState"], "s");
    wire.answer(&retry, done()).await;
    let outcome = round.await.unwrap().unwrap();
    assert!(matches!(outcome, CallToolOutcome::Complete(_)));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_drops_its_input_handlers() {
    let alive = Arc::new(());
    let held = Arc::downgrade(&alive);
    let host = client().on_elicit(move |form| {
        let alive = Arc::clone(&alive);
        async move {
            std::future::pending::<()>().await;
            drop(alive);
            form.decline()
        }
    });
    let (mut wire, client) = with_tools(host).await;
    let calling = call(&client);
    wire.answer_next(asks_for("?")).await;
    while held.strong_count() < 2 {
        tokio::task::yield_now().await;
    }
    calling.abort();
    assert!(calling.await.unwrap_err().is_cancelled());
    assert_eq!(held.strong_count(), 1);
    client.close().await.unwrap();
    // The request has a response, so nothing is cancelled.
    wire.ended().await;
}
