//! Roots.

use mcp_protocol::AskError;
use tokio::sync::mpsc;

use super::{Peer, answered, asked, text, undeclared};
use crate::peer::counting_roots;
use crate::prelude::*;

// proves: ROOT-008, ROOT-013, ROOT-020, M-ROOT-006, M-ROOT-008
#[tokio::test]
async fn roots_are_requested_if_declared_and_errors_do_not_stop_the_server() {
    let able = || json!({ "roots": {} });
    for mut peer in Peer::both(counting_roots()).await {
        undeclared(&mut peer, able(), "roots").await;
    }
    let mut peer = Peer::session(counting_roots(), able()).await;
    for (code, message) in [(-32603, "broken"), (-32601, "no roots")] {
        let request = asked(&mut peer, "ask").await;
        peer.wire.refuse(&request, code, message).await;
        assert_eq!(
            peer.wire.recv().await["result"]["isError"],
            true,
            "{message}"
        );
    }
    let roots = json!({ "roots": [{ "uri": "file:///gone" }] });
    assert_eq!(text(&answered(&mut peer, "ask", roots).await), "1");

    let mut peer = Peer::with(counting_roots(), able());
    assert_eq!(asked(&mut peer, "ask").await["method"], "roots/list");
    for bad in [
        json!({}),
        json!({ "roots": 7 }),
        json!({ "roots": [{}] }),
        Value::Null,
    ] {
        let again = answered(&mut peer, "ask", bad.clone()).await;
        assert_eq!(again["resultType"], "input_required", "{bad}");
    }
    let none = json!({ "roots": [] });
    assert_eq!(text(&answered(&mut peer, "ask", none).await), "0");
}

// proves: ROOT-021, ROOT-022
#[tokio::test]
async fn roots_are_requested_once_until_they_change() {
    let announces = json!({ "roots": { "listChanged": true } });
    let mut peer = Peer::session(counting_roots(), announces).await;
    let changed = "notifications/roots/list_changed";
    for (roots, count) in [(json!([]), "0"), (json!([{ "uri": "file:///a" }]), "1")] {
        answered(&mut peer, "ask", json!({ "roots": roots })).await;
        assert_eq!(text(&peer.tool("ask", json!({})).await), count);
        peer.wire.notify(changed, Value::Null).await;
    }
    // A list that changed while it was requested is not cached.
    let request = asked(&mut peer, "ask").await;
    peer.wire.notify(changed, Value::Null).await;
    peer.wire.answer(&request, json!({ "roots": [] })).await;
    peer.wire.recv().await;
    assert_eq!(asked(&mut peer, "ask").await["method"], "roots/list");
    // A client without change notifications is asked each time.
    let mut peer = Peer::session(counting_roots(), json!({ "roots": {} })).await;
    for _ in 0..2 {
        answered(&mut peer, "ask", json!({ "roots": [] })).await;
    }
}

#[tokio::test]
async fn the_error_of_an_unsupported_server_request_names_the_missing_capability() {
    let server = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let error = cx.roots().await.unwrap_err();
        assert!(matches!(error, AskError::Unsupported(_)));
        error.to_string()
    }));
    let mut peer = Peer::session(server, json!({})).await;
    let result = peer.tool("ask", json!({})).await;
    assert!(text(&result).contains("roots"), "{result}");
}

#[tokio::test]
async fn a_client_that_disconnects_fails_the_server_request() {
    let (outcome, mut outcomes) = mpsc::channel(1);
    let server = Server::builder("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let outcome = outcome.clone();
        async move {
            // Outlives the request.
            let asking = tokio::spawn(async move { outcome.send(cx.roots().await).await });
            asking.await.is_ok()
        }
    }));
    let mut peer = Peer::session(server, json!({ "roots": {} })).await;
    asked(&mut peer, "ask").await;
    peer.wire.close().await.unwrap();
    assert!(outcomes.recv().await.unwrap().is_err());
}
