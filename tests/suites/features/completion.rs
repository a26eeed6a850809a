//! Completion of the arguments of prompts and templates, and input requests where there is no call.

use mcp_server::{CompletionRequest, ForCompletion, Handler, ServerBuilder};

use super::{Peer, named};
use crate::prelude::*;

/// Creates a prompt `p` with one argument, which is completed by `complete`.
fn completed<M>(complete: impl Handler<ForCompletion, (), M>) -> ServerBuilder {
    let prompt = Prompt::new("p", |Args(given): Args<Name>| given.name);
    Server::builder("s", "1").prompt(prompt.complete("name", complete))
}

fn of_prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn complete(reference: Value, argument: &str, value: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": argument, "value": value } })
}

// proves: COMP-001, COMP-003, COMP-004, COMP-008, COMP-009, COMP-010, COMP-017
// proves: M-COMP-001, M-COMP-002, M-COMP-006, M-COMP-007, M-COMP-009
#[tokio::test]
async fn completion_serves_prompts_and_templates_and_checks_its_input() {
    let prompt = of_prompt("test_prompt_with_arguments");
    let template = |uri: &str| json!({ "type": "ref/resource", "uri": uri });
    for mut peer in Peer::both(everything::server()).await {
        if peer.is_stateless {
            assert!(peer.discover().await["capabilities"]["completions"].is_object());
        }
        let mut second = complete(prompt.clone(), "arg2", "x");
        second["context"] = json!({ "arguments": { "arg1": "first" } });
        let paris = json!(["paris", "park", "party", "compare"]);
        for (params, values) in [
            (complete(prompt.clone(), "arg1", "par"), paris),
            (
                complete(template("test://template/{id}/data"), "id", "4"),
                json!(["456"]),
            ),
            (second, json!(["first-x"])),
        ] {
            let found = peer.call("completion/complete", params).await["completion"].take();
            assert_eq!(found["total"], values.as_array().unwrap().len());
            assert_eq!(found["hasMore"], false);
            assert_eq!(found["values"], values);
        }
        for bad in [
            json!({}),
            json!({ "ref": prompt }),
            complete(of_prompt("no_such"), "arg1", ""),
            complete(template("no://such"), "id", ""),
            complete(json!({ "type": "ref/other", "name": "x" }), "arg1", ""),
            complete(prompt.clone(), "no_such", ""),
            complete(prompt.clone(), "arg1", &"x".repeat(5_000)),
        ] {
            peer.expect_error("completion/complete", bad, -32602).await;
        }
    }
    let plain = Server::builder("s", "1").prompt(Prompt::new("p", || "x"));
    for mut peer in Peer::both(plain).await {
        let params = complete(of_prompt("p"), "a", "");
        peer.expect_error("completion/complete", params, -32601)
            .await;
        if peer.is_stateless {
            assert!(peer.discover().await["capabilities"]["completions"].is_null());
        }
    }
}

// proves: COMP-011
#[tokio::test]
async fn a_failing_completion_is_an_internal_error() {
    for mut peer in Peer::both(completed(|| -> Vec<String> { panic!("secret") })).await {
        let params = complete(of_prompt("p"), "name", "");
        peer.expect_error("completion/complete", params, -32603)
            .await;
        peer.silent().await;
    }
}

// proves: M-COMP-004, M-COMP-005
#[tokio::test]
async fn at_most_a_hundred_suggestions_are_sent() {
    let many = |n: usize| -> Vec<String> { (0..n).map(|i| format!("v{i:03}")).collect() };
    let server =
        completed(move |request: CompletionRequest| many(request.value.parse().unwrap_or(0)));
    for mut peer in Peer::both(server).await {
        for (given, sent, more) in [("500", 100, true), ("100", 100, false), ("3", 3, false)] {
            let params = complete(of_prompt("p"), "name", given);
            let found = peer.call("completion/complete", params).await["completion"].take();
            assert_eq!(found["values"].as_array().unwrap().len(), sent, "{given}");
            assert_eq!(found["hasMore"] == true, more, "{given}: {found}");
        }
    }
}

// proves: M-COMP-012, M-MRTR-007
#[tokio::test]
async fn a_completion_cannot_send_input_requests() {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let server = completed(|cx: Ctx| {
        let asking = pin!(cx.elicit::<Name>("Which name?"));
        match asking.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => vec![error.to_string()],
            _ => panic!("the input request was accepted"),
        }
    });
    let mut peer = Peer::with(server, json!({ "elicitation": {} }));
    let found = peer
        .call("completion/complete", complete(of_prompt("p"), "name", ""))
        .await;
    assert_eq!(found["resultType"], "complete");
    let said = found["completion"]["values"][0].as_str().unwrap();
    assert!(
        said.contains("outside of tools, prompts and resources"),
        "{said}"
    );
}

// proves: M-RES-007, M-PROMPT-005, M-MRTR-006, M-CACHE-002
#[tokio::test]
async fn resources_and_prompts_may_request_input() {
    let asks = async |cx: Ctx| {
        let name = cx.named("name").elicit::<Name>("Which name?").await?;
        Ok::<_, HandlerError>(name.accepted().map_or_else(String::new, |given| given.name))
    };
    let server = Server::builder("s", "1")
        .resource(Resource::new("x://asks", "asks", asks))
        .resource(Resource::new("x://asks/{v}", "asks", asks))
        .prompt(Prompt::new("asks", asks));
    let mut peer = Peer::with(server, json!({ "elicitation": {} }));
    for (method, params) in [
        ("resources/read", json!({ "uri": "x://asks" })),
        ("resources/read", json!({ "uri": "x://asks/1" })),
        ("prompts/get", named("asks", json!({}))),
    ] {
        let asked = peer.call(method, params.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert_eq!(
            asked["inputRequests"]["name"]["method"],
            "elicitation/create"
        );
        assert!(
            asked.get("ttlMs").is_none() && asked.get("cacheScope").is_none(),
            "{asked}"
        );
        let answer = json!({ "action": "accept", "content": { "name": "Ann" } });
        let mut again = params;
        again["inputResponses"] = json!({ "name": answer });
        let done = peer.call(method, again).await;
        assert_eq!(done["resultType"], "complete", "{done}");
        assert!(done.to_string().contains("Ann"), "{done}");
    }
}
