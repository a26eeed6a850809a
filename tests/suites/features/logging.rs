//! Log messages, of a server and of this SDK.

use mcp_client::KeepAlive;
use mcp_server::ServerBuilder;

use super::{Peer, named, text};
use crate::prelude::*;
use crate::traced::Traced;

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
    let mut wire = PipeEnd::session(server).await;
    wire.expect_error("logging/setLevel", level, -32603).await;
}

/// Logs a message of each level, and one more without data.
fn logs() -> ServerBuilder {
    Server::builder("logs", "1").tool(Tool::new("log", |cx: Ctx| {
        for (n, level) in LoggingLevel::ALL.iter().enumerate() {
            cx.log_as("test", *level, json!({ "n": n }));
        }
        cx.log(LoggingLevel::Emergency, Value::Null);
        "logged"
    }))
}

async fn set_level(wire: &mut PipeEnd, level: &str) {
    wire.call("logging/setLevel", json!({ "level": level }))
        .await;
}

// proves: LOG-001, LOG-004, LOG-005, LOG-006, LOG-007, LOG-008, LOG-009
#[tokio::test]
async fn the_log_level_of_a_session_filters_its_messages() {
    let server = logs().build().unwrap();
    let (mut wire, mut other) = (
        PipeEnd::session(server.clone()).await,
        PipeEnd::session(server).await,
    );
    let levels = async |wire: &mut PipeEnd| {
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
    let mut silent = PipeEnd::session(logs().without_logging()).await;
    assert_eq!(text(&silent.tool("log", json!({})).await), "logged");
}

// proves: LOG-002
#[tokio::test]
async fn tracing_events_of_a_handler_become_log_messages_of_its_request() {
    use tracing_subscriber::layer::SubscriberExt as _;
    let server = Server::builder("disk", "1").tool(Tool::new("check", || {
        tracing::warn!(target: "my_app", disk = 93, "running full");
        tracing::debug!(target: "mcp_server", "of the SDK itself");
        "checked"
    }));
    let server = server.build().unwrap();
    let layer = mcp_server::LogLayer::new();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let mut wire = PipeEnd::session(server.clone()).await;
    let mut other = PipeEnd::session(server).await;
    for wire in [&mut wire, &mut other] {
        set_level(wire, "debug").await;
    }
    tracing::error!(target: "my_app", "outside of requests");
    let id = wire.request("tools/call", json!({ "name": "check" })).await;
    let params = wire.expect("notifications/message").await["params"].take();
    let data = json!({ "message": "running full", "disk": 93 });
    let expected = json!({ "level": "warning", "logger": "my_app", "data": data });
    assert_eq!(params, expected);
    assert_eq!(wire.recv().await["id"], id);
    wire.silent().await;
    other.silent().await;
}

#[tokio::test]
async fn tracing_events_outside_of_requests_are_broadcast_on_demand() {
    use tracing_subscriber::layer::SubscriberExt as _;
    let server = logs().build().unwrap();
    let layer = mcp_server::LogLayer::new().broadcast(&server);
    let mut wire = PipeEnd::session(server).await;
    set_level(&mut wire, "debug").await;
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        tracing::warn!(target: "my_app", disk = 93, "running full");
        tracing::debug!(target: "mcp_server", "of the SDK itself");
    });
    let params = wire.expect("notifications/message").await["params"].take();
    let data = json!({ "message": "running full", "disk": 93 });
    let expected = json!({ "level": "warning", "logger": "my_app", "data": data });
    assert_eq!(params, expected);
    wire.silent().await;
}

/// Params of a call of a tool, with the least level of its log messages.
fn logged(tool: &str, level: &Value) -> Value {
    named(
        tool,
        json!({ "_meta": { "io.modelcontextprotocol/logLevel": level } }),
    )
}

// proves: M-LOG-002, M-LOG-003, M-LOG-004, M-LOG-006, M-LOG-007, M-META-008, M-ERR-015, M-DEPR-003
#[tokio::test]
async fn the_log_level_of_a_request_filters_its_messages() {
    let mut peer = Peer::new(logs().strictness(Strictness::Strict));
    assert!(peer.discover().await["capabilities"]["logging"].is_object());
    let all = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    for (least, first) in [
        (Some("warning"), 3),
        (None, all.len()),
        (Some("debug"), 0),
        (None, all.len()),
    ] {
        let params = match least {
            Some(least) => logged("log", &json!(least)),
            None => named("log", json!({})),
        };
        let id = peer.request("tools/call", params).await;
        for (n, level) in all.iter().enumerate().skip(first) {
            let message = peer.wire.expect("notifications/message").await;
            let expected = json!({ "level": level, "logger": "test", "data": { "n": n } });
            assert_eq!(message["params"], expected);
        }
        if least.is_some() {
            let last = peer.wire.expect("notifications/message").await;
            assert_eq!(
                last["params"],
                json!({ "level": "emergency", "data": null })
            );
        }
        assert_eq!(peer.wire.recv().await["id"], id, "{least:?}");
    }
    for bad in [json!("loud"), json!("Debug"), json!("warn"), json!(3)] {
        let params = logged("log", &bad);
        peer.expect_error("tools/call", params, -32602).await;
    }
    let mut quiet = Peer::new(logs().without_logging());
    assert!(quiet.discover().await["capabilities"]["logging"].is_null());
    let params = logged("log", &json!("debug"));
    text(&quiet.call("tools/call", params).await);
}

// proves: PING-014
#[tokio::test(start_paused = true)]
async fn a_missed_ping_is_logged() {
    let (traced, _guard) = Traced::start();
    let keep_alive = KeepAlive::new(Duration::from_secs(5), 1);
    let builder = Client::builder("host", "0.1").keep_alive(keep_alive);
    let (mut wire, client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    wire.next("ping").await;
    client.closed().await;
    assert!(traced.line("did not answer a ping").is_some());
}
