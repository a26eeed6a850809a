//! Cancellation, deadlines and ends of running requests.

use super::{Peer, named, text};
use crate::peer::{Gone, counting_roots};
use crate::prelude::*;
use crate::traced::Traced;
use mcp_server::{Change, ServerBuilder};

/// Creates a server whose tool `wait` never ends, and a notification of the end of its handler.
pub(crate) fn waiting() -> (ServerBuilder, Arc<Notify>) {
    let gone = Arc::new(Notify::new());
    let notice = Arc::clone(&gone);
    let wait = Tool::new("wait", move |cx: Ctx| {
        let gone = Gone(Arc::clone(&notice));
        async move {
            let _gone = gone;
            cx.progress(1.0, None);
            cx.cancelled().await;
            cx.progress(2.0, None);
            cx.log(LoggingLevel::Emergency, "too late");
            std::future::pending::<String>().await
        }
    });
    (Server::builder("waits", "1").tool(wait), gone)
}

// proves: CANC-002, CANC-007, CANC-008, CANC-009, CANC-020
// proves: M-STDIO-013, M-STDIO-014, M-CANC-003, M-CANC-013
#[tokio::test]
async fn a_cancelled_request_ends_its_handler_and_is_never_answered() {
    let (server, gone) = waiting();
    for mut peer in Peer::both(server).await {
        let mut meta = json!({ "progressToken": "t" });
        if peer.is_stateless {
            meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        let params = peer.params(named("wait", json!({ "_meta": meta })));
        for id in [json!(5), json!("5")] {
            let request =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            peer.wire.send(request).await;
            peer.wire.expect("notifications/progress").await;
        }
        for id in [json!("5"), json!(5)] {
            let params = json!({ "requestId": id, "reason": "enough" });
            peer.wire.notify("notifications/cancelled", params).await;
            gone.notified().await;
            peer.silent().await;
        }
    }
}

// proves: CANC-010, CANC-011
#[tokio::test]
async fn cancelling_unknown_or_completed_requests_has_no_effect() {
    let mut wire = PipeEnd::session(waiting().0).await;
    let id = wire.request("ping", Value::Null).await;
    assert_eq!(wire.recv().await["id"], id);
    wire.cancel(&id).await;
    wire.cancel(&json!(999)).await;
    wire.silent().await;
}

// proves: CANC-003
#[tokio::test]
async fn a_cancellation_applies_only_to_requests_of_its_direction() {
    let mut wire = PipeEnd::open(counting_roots(), "2025-11-25", json!({ "roots": {} })).await;
    // The client's request has the same id as the server's request.
    let call = named("ask", json!({}));
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    wire.send(request).await;
    let question = wire.respond("roots/list", json!({ "roots": [] })).await;
    assert_eq!(question["id"], 1);
    assert_eq!(text(&wire.recv().await["result"]), "0");
}

#[tokio::test]
async fn cancelling_a_call_cancels_its_server_request() {
    let mut wire = PipeEnd::open(counting_roots(), "2025-11-25", json!({ "roots": {} })).await;
    let id = wire.request("tools/call", named("ask", json!({}))).await;
    let question = wire.expect("roots/list").await;
    wire.cancel(&id).await;
    let withdrawn = wire.expect("notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    wire.answer(&question, json!({ "roots": [] })).await;
    wire.silent().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_request_fails_at_once_when_the_client_is_gone() {
    let mut wire = PipeEnd::open(counting_roots(), "2025-11-25", json!({ "roots": {} })).await;
    let start = tokio::time::Instant::now();
    let id = wire.request("tools/call", named("ask", json!({}))).await;
    wire.expect("roots/list").await;
    wire.end();
    let answer = wire.recv().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["isError"], true);
    assert!(start.elapsed() < Duration::from_millis(100));
}

/// The right to subscribe is checked within the deadline; the subscription itself has none.
#[tokio::test(start_paused = true)]
async fn a_subscription_whose_check_waited_outlives_the_deadline() {
    let (may_read, hears) = (
        Arc::new(Notify::new()),
        json!({ "resourceSubscriptions": ["x:///a"] }),
    );
    let checked = Arc::clone(&may_read);
    let resource = Resource::new("x:///a", "a", move || {
        let checked = Arc::clone(&checked);
        async move {
            checked.notified().await;
            "text"
        }
    });
    let server = Server::builder("s", "1").resource(resource);
    let server = server.deadline(Duration::from_secs(10)).build().unwrap();
    let mut peer = Peer::new(server.clone());
    peer.request("subscriptions/listen", json!({ "notifications": hears }))
        .await;
    peer.silent().await;
    may_read.notify_one();
    let acknowledged = "notifications/subscriptions/acknowledged";
    peer.wire.expect(acknowledged).await;
    tokio::time::advance(Duration::from_secs(100)).await;
    peer.silent().await;
    server.changed(Change::Resource("x:///a".to_owned()));
    peer.wire.expect("notifications/resources/updated").await;
    peer.request("subscriptions/listen", json!({ "notifications": hears }))
        .await;
    says(&peer.wire.recv().await, "10 s");
    peer.silent().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_ended_at_its_deadline() {
    let (server, gone) = waiting();
    let mut wire = PipeEnd::session(server.deadline(Duration::from_secs(30))).await;
    let start = tokio::time::Instant::now();
    let id = wire.request("tools/call", named("wait", json!({}))).await;
    let answer = wire.recv_patiently().await;
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(answer["id"], id);
    assert_eq!(answer["error"]["code"], -32603);
    says(&answer, "30 s");
    gone.notified().await;
}

// proves: PING-003, TOOL-044, COMP-018, M-TOOL-040, M-COMP-010
#[tokio::test]
async fn slow_requests_do_not_delay_other_requests_and_their_number_is_limited() {
    for is_stateless in [false, true] {
        let (server, gone) = waiting();
        let mut peer = Peer::open(server, json!({}), is_stateless).await;
        let call = || named("wait", json!({}));
        let mut ids = Vec::new();
        for _ in 0..64 {
            ids.push(peer.request("tools/call", call()).await);
        }
        if !is_stateless {
            peer.silent().await;
        }
        let refused = peer.answer("tools/call", call()).await;
        says(&refused, "64");
        peer.wire.cancel(&ids[0]).await;
        gone.notified().await;
        peer.silent().await;
        if !is_stateless {
            peer.request("tools/call", call()).await;
            peer.silent().await;
        }
    }
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_the_first_request_survives() {
    let open_gate = Arc::new(Notify::new());
    let opened = Arc::clone(&open_gate);
    let server = Server::builder("s", "1").tool(Tool::new("wait", move || {
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            "done"
        }
    }));
    let mut wire = PipeEnd::session(server).await;
    let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "wait" } });
    wire.send(call.clone()).await;
    wire.send(call).await;
    let refused = wire.recv().await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(
        refused.get("id").is_none(),
        "an id would make it the answer: {refused}"
    );
    open_gate.notify_one();
    let answer = wire.recv().await;
    assert_eq!(answer["id"], "x");
    assert!(answer["result"].is_object());
}

#[tokio::test]
async fn a_disconnected_client_cancels_its_running_requests() {
    let (server, gone) = waiting();
    let mut wire = PipeEnd::session(server).await;
    wire.request("tools/call", named("wait", json!({}))).await;
    wire.close().await.unwrap();
    gone.notified().await;
}

#[tokio::test]
async fn a_blocking_tool_sees_its_cancellation() {
    let (started, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starts, stops) = (Arc::clone(&started), Arc::clone(&stopped));
    let spin = Tool::new("spin", move |cx: Ctx| {
        starts.notify_one();
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        stops.notify_one();
        "stopped"
    });
    let mut wire = PipeEnd::session(Server::builder("s", "1").tool(spin.blocking())).await;
    let id = wire.request("tools/call", named("spin", json!({}))).await;
    started.notified().await;
    wire.silent().await;
    wire.cancel(&id).await;
    stopped.notified().await;
    wire.silent().await;
}

// proves: CANC-015, M-CANC-017
#[tokio::test]
async fn the_reason_of_a_cancellation_is_logged_on_one_line() {
    let (traced, _guard) = Traced::start();
    let mut wire = PipeEnd::session(everything::server()).await;
    let call = named("wait_for_cancel", json!({}));
    let id = wire.request("tools/call", call).await;
    let cancelled = json!({ "requestId": id, "reason": "bored\n\u{1b}[31mred" });
    wire.notify("notifications/cancelled", cancelled).await;
    wire.silent().await;
    let line = traced.line("bored").expect("a line");
    assert!(line.contains("bored\\n\\u{1b}[31mred"), "{line}");
}

// proves: CANC-012
#[tokio::test]
async fn a_handler_that_cannot_stop_runs_on_and_its_answer_is_dropped() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let (started, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starts, ends) = (Arc::clone(&started), Arc::clone(&done));
    let stubborn = Tool::new("stubborn", move || {
        starts.notify_one();
        let _ = released.lock().unwrap().recv();
        ends.notify_one();
        "finished"
    });
    let mut wire = PipeEnd::session(Server::builder("s", "1").tool(stubborn.blocking())).await;
    let call = named("stubborn", json!({}));
    let id = wire.request("tools/call", call).await;
    started.notified().await;
    wire.cancel(&id).await;
    wire.silent().await;
    release.send(()).unwrap();
    done.notified().await;
    wire.silent().await;
}
