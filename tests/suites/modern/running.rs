//! Requests that run at once, and requests that end with an input request.

use super::{Peer, named, text};
use crate::features::waiting;
use crate::peer::Gone;
use crate::prelude::*;

// proves: M-STATE-002, M-STATE-006
#[tokio::test]
async fn multi_round_trip_requests_on_one_pipe_do_not_affect_each_other() {
    let mut peer = Peer::with(everything::server(), json!({ "elicitation": {} }));
    let tool = "test_input_required_result_multi_round";
    let mut states = Vec::new();
    for name in ["Ann", "Bob"] {
        // Earlier responses do not count for the next call.
        let first = peer.tool(tool, json!({})).await;
        assert_eq!(
            first["inputRequests"]["step1"]["params"]["message"],
            "What is your name?"
        );
        let answer = json!({ "action": "accept", "content": { "name": name } });
        let more =
            json!({ "requestState": first["requestState"], "inputResponses": { "step1": answer } });
        let second = peer.tool(tool, more).await;
        let asked = &second["inputRequests"]["step2"]["params"]["message"];
        assert_eq!(asked, &format!("{name}, which color?"));
        states.push((name, second["requestState"].clone()));
    }
    for (name, state) in states {
        let answer = json!({ "action": "accept", "content": { "color": "blue" } });
        let more = json!({ "requestState": state, "inputResponses": { "step2": answer } });
        assert_eq!(
            text(&peer.tool(tool, more).await),
            format!("{name} likes blue")
        );
    }
}

// proves: M-STATE-001, M-META-012, M-LOG-005
#[tokio::test]
async fn the_metadata_of_a_request_applies_to_no_other_request() {
    let mut peer = Peer::with(everything::server(), json!({ "elicitation": {} }));
    let tool = "test_input_required_result_elicitation";
    assert_eq!(
        peer.tool(tool, json!({})).await["resultType"],
        "input_required"
    );
    peer.capabilities = json!({});
    peer.expect_error("tools/call", named(tool, json!({})), -32021)
        .await;

    // Two at once, of which one has a progress token.
    let (server, gone) = waiting();
    let logging = server.tool(Tool::new("log", |cx: Ctx| {
        cx.log(LoggingLevel::Error, "heard");
        "logged"
    }));
    let mut peer = Peer::new(logging);
    let params = named(
        "wait",
        json!({ "_meta": { "io.modelcontextprotocol/logLevel": "debug" } }),
    );
    let id = peer.request("tools/call", params).await;
    text(&peer.tool("log", json!({})).await);
    peer.wire.cancel(&id).await;
    gone.notified().await;
    peer.silent().await;
}

// proves: M-MRTR-022, M-MRTR-036, M-STDIO-009, M-BASE-023, M-ROOT-003
#[tokio::test]
async fn an_input_request_ends_its_request_and_leaves_no_running_handler() {
    let gone = Arc::new(Notify::new());
    let notice = Arc::clone(&gone);
    let ask = Tool::new("ask", move |cx: Ctx| {
        let gone = Gone(Arc::clone(&notice));
        async move {
            let _gone = gone;
            cx.roots().await?;
            Ok::<_, HandlerError>("never")
        }
    });
    let mut peer = Peer::with(Server::builder("s", "1").tool(ask), json!({ "roots": {} }));
    for _ in 0..100 {
        // More calls than may run at once, none of which is ever retried.
        let asked = peer.tool("ask", json!({})).await;
        assert_eq!(asked["resultType"], "input_required");
        gone.notified().await;
    }
    peer.silent().await;
}
