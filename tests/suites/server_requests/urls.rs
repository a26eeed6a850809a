//! Elicitation by URL.

use std::collections::BTreeSet;

use mcp_protocol::AskError;
use mcp_server::{Elicitation, UrlElicitation};

use super::{Peer, answered, asked, failed, named, text};
use crate::prelude::*;

const URL: &str = "https://example.com/connect";

fn able() -> Value {
    json!({ "elicitation": { "url": {} } })
}

// proves: ELIC-028, ELIC-029, ELIC-030, ELIC-033, ELIC-034, ELIC-035
#[tokio::test]
async fn a_url_elicitation_has_an_id_and_its_completion_is_notified_to_its_client() {
    let kept: Arc<Mutex<Vec<UrlElicitation>>> = Arc::default();
    let visits = Arc::clone(&kept);
    let server = Server::builder("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let visits = Arc::clone(&visits);
        async move {
            let visit = cx.elicit_url("Connect", URL).await?;
            visits.lock().unwrap().extend(visit.accepted());
            Ok::<_, AskError>("asked")
        }
    }));
    let server = server.build().unwrap();
    let mut peer = Peer::session(server.clone(), able()).await;
    let mut other = Peer::session(server, able()).await;
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let request = asked(&mut peer, "ask").await;
        let params = &request["params"];
        assert_eq!(params["mode"], "url");
        assert_eq!(params["url"], URL);
        assert!(ids.insert(params["elicitationId"].as_str().unwrap().to_owned()));
        peer.wire
            .answer(&request, json!({ "action": "accept" }))
            .await;
        peer.wire.recv().await;
    }
    let visit = kept.lock().unwrap().pop().unwrap();
    assert!(ids.contains(&visit.id));
    assert!(visit.complete());
    let notice = peer.wire.expect("notifications/elicitation/complete").await;
    assert_eq!(notice["params"]["elicitationId"], visit.id);
    other.silent().await;
}

// proves: M-ELIC-018, M-ELIC-019, M-ELIC-020
#[tokio::test]
async fn without_a_session_a_url_elicitation_has_no_id_and_no_completion() {
    let server = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let visit = cx.elicit_url("Connect", URL).await?.accepted();
        let is_notified = visit.map(|visit| visit.complete());
        Ok::<_, AskError>(format!("{is_notified:?}"))
    }));
    let mut peer = Peer::with(server, able());
    let request = asked(&mut peer, "ask").await;
    let params = json!({ "mode": "url", "message": "Connect", "url": URL });
    let expected = json!({ "method": "elicitation/create", "params": params });
    assert_eq!(request, expected);
    let done = answered(&mut peer, "ask", json!({ "action": "accept" })).await;
    assert_eq!(text(&done), "Some(false)");
    peer.silent().await;
}

#[tokio::test]
async fn each_answer_to_a_url_reaches_the_handler() {
    let server = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        Ok::<_, AskError>(match cx.elicit_url("Connect", URL).await? {
            Elicitation::Accepted(_) => "accept",
            Elicitation::Declined => "decline",
            Elicitation::Cancelled => "cancel",
        })
    }));
    let server = server.build().unwrap();
    for is_stateless in [false, true] {
        let mut peer = Peer::open(server.clone(), able(), is_stateless).await;
        for action in ["accept", "decline", "cancel"] {
            let result = answered(&mut peer, "ask", json!({ "action": action })).await;
            assert_eq!(text(&result), action);
        }
    }
}

// proves: ELIC-030, M-ELIC-018
#[tokio::test]
async fn an_invalid_url_is_never_sent() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("ask", async |cx: Ctx| {
            cx.elicit_url("Connect", "not a url").await.map(|_| "never")
        }))
        .build()
        .unwrap();
    for is_stateless in [false, true] {
        let mut peer = Peer::open(server.clone(), able(), is_stateless).await;
        failed(&mut peer, "not a URL").await;
    }
}

// proves: ELIC-039, ELIC-040, ELIC-041, ELIC-042, ELIC-043
#[tokio::test]
async fn the_error_for_a_required_url_is_sent_only_to_clients_with_url_elicitation() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("ask", |cx: Ctx| {
            Err::<String, _>(cx.urls_required([("Connect", URL)]))
        }))
        .build()
        .unwrap();
    let mut peer = Peer::session(server.clone(), able()).await;
    let call = named("ask", json!({}));
    let error = peer.expect_error("tools/call", call, -32042).await;
    let elicitations = error["data"]["elicitations"].as_array().unwrap();
    assert_eq!(elicitations.len(), 1);
    assert_eq!(elicitations[0]["mode"], "url");
    assert_eq!(elicitations[0]["url"], URL);
    assert!(elicitations[0]["elicitationId"].is_string());
    for (revision, capabilities) in [
        ("2025-11-25", json!({ "elicitation": {} })),
        ("2025-11-25", json!({})),
        ("2025-06-18", able()),
    ] {
        let mut wire = PipeEnd::open(server.clone(), revision, capabilities).await;
        let result = wire.tool("ask", json!({})).await;
        assert_eq!(result["isError"], true, "{revision}: {result}");
        assert!(text(&result).contains(URL), "{revision}: {result}");
    }
}
