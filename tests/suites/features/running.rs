//! Running requests: cancellation, progress and log messages.

use mcp_client::KeepAlive;
use mcp_jsonrpc::ErrorObject;
use mcp_types::LoggingLevel;

use super::{Peer, named, text};
use crate::prelude::*;
use crate::traced::Traced;

async fn open(server: Server) -> Wire {
    Wire::open(server, "2025-11-25", json!({})).await
}

// proves: CANC-015, M-CANC-017
#[tokio::test]
async fn the_reason_of_a_cancellation_is_logged_on_one_line() {
    let (traced, _guard) = Traced::start();
    let mut wire = open(everything::server()).await;
    let call = named("wait_for_cancel", json!({}));
    let id = wire.request("tools/call", call).await;
    let cancelled = json!({ "requestId": id, "reason": "bored\n\u{1b}[31mred" });
    wire.notify("notifications/cancelled", cancelled).await;
    wire.silent().await;
    let line = traced.line("bored").expect("a line");
    assert!(line.contains("bored\\n\\u{1b}[31mred"), "{line}");
}

// proves: PING-014
#[tokio::test(start_paused = true)]
async fn a_missed_ping_is_logged() {
    let (traced, _guard) = Traced::start();
    let keep_alive = KeepAlive::new(Duration::from_secs(5), 1);
    let builder = Client::builder("host", "0.1").keep_alive(keep_alive);
    let (mut wire, client) = Wire::accept(builder, "2025-11-25", json!({})).await;
    assert_eq!(wire.recv_patiently().await["method"], "ping");
    client.closed().await;
    assert!(traced.line("did not answer a ping").is_some());
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
    let mut wire = open(Server::new("s", "1").tool(stubborn.blocking())).await;
    let call = named("stubborn", json!({}));
    let id = wire.request("tools/call", call).await;
    started.notified().await;
    let cancelled = json!({ "requestId": id });
    wire.notify("notifications/cancelled", cancelled).await;
    wire.silent().await;
    release.send(()).unwrap();
    done.notified().await;
    wire.silent().await;
}

// proves: PROG-016, LOG-011, M-PROG-010, M-LOG-011
#[tokio::test]
async fn a_tight_loop_does_not_flood_the_client() {
    let progress = |cx: &Ctx, n: i32| cx.progress(f64::from(n), 100_000.0);
    let log = |cx: &Ctx, n: i32| cx.log(LoggingLevel::Error, n);
    let all = |cx: Ctx, send: fn(&Ctx, i32) -> bool| {
        let sent = (1..=100_000).filter(|n| send(&cx, *n)).count();
        sent.to_string()
    };
    let server = Server::new("s", "1")
        .tool(Tool::new("progress", move |cx: Ctx| all(cx, progress)))
        .tool(Tool::new("log", move |cx: Ctx| all(cx, log)));
    for mut peer in Peer::both(server).await {
        for tool in ["progress", "log"] {
            let mut meta = json!({ "progressToken": 1 });
            if peer.is_stateless {
                meta["io.modelcontextprotocol/logLevel"] = json!("debug");
            }
            let call = named(tool, json!({ "_meta": meta }));
            let id = peer.request("tools/call", call).await;
            let (mut frames, mut last) = (0, Value::Null);
            let answer = loop {
                let message = peer.wire.recv().await;
                if message["id"] == id {
                    break message;
                }
                frames += 1;
                last = message["params"]["progress"].clone();
            };
            assert!(frames < 5_000, "{tool}: {frames} frames");
            if tool == "log" {
                assert!(frames >= 100, "{frames} messages");
                assert_eq!(text(&answer["result"]), frames.to_string());
            } else {
                assert_eq!(last, 100_000.0, "the last report is not left out");
            }
        }
    }
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
    let level = json!({ "level": "info" });
    let mut wire = open(server).await;
    wire.expect_error("logging/setLevel", level, -32603).await;
}

/// Logs a message of each level, and one more without data.
fn logs() -> Server {
    Server::new("logs", "1").tool(Tool::new("log", |cx: Ctx| {
        for (n, level) in LoggingLevel::ALL.iter().enumerate() {
            cx.log_as("test", *level, json!({ "n": n }));
        }
        cx.log(LoggingLevel::Emergency, Value::Null);
        "logged"
    }))
}

async fn set_level(wire: &mut Wire, level: &str) {
    wire.call("logging/setLevel", json!({ "level": level }))
        .await;
}

// proves: LOG-001, LOG-004, LOG-005, LOG-006, LOG-007, LOG-008, LOG-009
#[tokio::test]
async fn the_level_is_per_session_and_filters() {
    let server = logs();
    let (mut wire, mut other) = (open(server.clone()).await, open(server).await);
    let levels = async |wire: &mut Wire| {
        let id = wire.request("tools/call", json!({ "name": "log" })).await;
        let mut seen = Vec::new();
        loop {
            let message = wire.recv().await;
            if message["id"] == id {
                return seen;
            }
            assert_eq!(message["method"], "notifications/message");
            assert!(message["params"].as_object().unwrap().contains_key("data"));
            seen.push(message["params"]["level"].as_str().unwrap().to_owned());
        }
    };
    assert_eq!(levels(&mut wire).await.len(), 8);
    set_level(&mut wire, "error").await;
    let severe = ["error", "critical", "alert", "emergency", "emergency"];
    assert_eq!(levels(&mut wire).await, severe);
    set_level(&mut wire, "debug").await;
    assert_eq!(levels(&mut wire).await.len(), 9);
    assert_eq!(levels(&mut other).await.len(), 8);
    let unknown = json!({ "level": "warn" });
    wire.expect_error("logging/setLevel", unknown, -32602).await;
    let mut silent = open(logs().logging(false)).await;
    assert_eq!(text(&silent.tool("log", json!({})).await), "logged");
}

// proves: LOG-002
#[tokio::test]
async fn tracing_events_become_log_messages() {
    use tracing_subscriber::layer::SubscriberExt as _;
    let server = logs();
    let subscriber = tracing_subscriber::registry().with(server.log_layer());
    let mut wire = open(server).await;
    set_level(&mut wire, "debug").await;
    tracing::subscriber::with_default(subscriber, || {
        tracing::warn!(target: "my_app", disk = 93, "running full");
        tracing::debug!(target: "mcp_server", "of the SDK itself");
    });
    let params = wire.expect("notifications/message").await["params"].take();
    let data = json!({ "message": "running full", "disk": 93 });
    let expected = json!({ "level": "warning", "logger": "my_app", "data": data });
    assert_eq!(params, expected);
    wire.silent().await;
}
