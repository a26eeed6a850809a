//! Progress of a call.

use super::{Peer, named, text};
use crate::prelude::*;

/// Params of a call of a tool, with a progress token.
fn tokened(tool: &str, token: &Value) -> Value {
    named(tool, json!({ "_meta": { "progressToken": token } }))
}

// proves: BASE-015, PROG-001, PROG-002, PROG-004, PROG-006, PROG-007, PROG-012, M-PROG-001
// proves: M-PROG-003, M-PROG-005, M-PROG-006, M-PROG-008, M-META-028, M-BASE-021, M-BASE-025
#[tokio::test]
async fn progress_contains_the_unchanged_token() {
    let work = Tool::new("work", |cx: Ctx| {
        cx.progress(0.25, None);
        cx.progress_with(1.0, 4.5, "a quarter");
        "done"
    });
    for mut peer in Peer::both(Server::builder("p", "1").tool(work)).await {
        for token in [json!("tok"), json!(77), json!("77")] {
            let id = peer.request("tools/call", tokened("work", &token)).await;
            let first = json!({ "progressToken": token, "progress": 0.25 });
            let second = json!({ "progressToken": token, "progress": 1, "total": 4.5, "message": "a quarter" });
            for expected in [first, second] {
                let report = peer.wire.expect("notifications/progress").await;
                assert_eq!(report["params"], expected);
            }
            assert_eq!(peer.wire.recv().await["id"], id);
        }
        // Without a token there are no reports.
        assert_eq!(text(&peer.tool("work", json!({})).await), "done");
    }
}

// proves: PROG-005, PROG-008, PROG-009, PROG-010, PROG-017
// proves: M-PROG-004, M-PROG-007, M-PROG-009, M-PROG-011
#[tokio::test]
async fn progress_is_sent_only_if_requested_and_increasing_while_the_request_runs() {
    let kept: Arc<Mutex<Vec<Ctx>>> = Arc::default();
    let (done, asked) = (Arc::clone(&kept), Arc::clone(&kept));
    let server = Server::builder("p", "1")
        .tool(Tool::new("work", move |cx: Ctx| {
            for value in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 2.0] {
                cx.progress(value, None);
            }
            done.lock().unwrap().push(cx);
            "done"
        }))
        .tool(Tool::new("ask", move |cx: Ctx| {
            asked.lock().unwrap().push(cx.clone());
            async move {
                cx.progress(1.0, None);
                let name = cx.elicit::<Name>("Which name?").await?.accepted();
                Ok::<_, HandlerError>(name.map_or_else(String::new, |given| given.name))
            }
        }));
    let server = server.build().unwrap();
    let session = Peer::session(server.clone(), json!({})).await;
    let stateless = Peer::with(server, json!({ "elicitation": {} }));
    for mut peer in [session, stateless] {
        for (tool, values) in [("work", &[1, 2][..]), ("ask", &[1])] {
            if tool == "ask" && !peer.is_stateless {
                continue;
            }
            let id = peer.request("tools/call", tokened(tool, &json!(5))).await;
            for value in values {
                let report = peer.wire.expect("notifications/progress").await;
                assert_eq!(report["params"]["progress"], *value);
            }
            assert_eq!(peer.wire.recv().await["id"], id);
            let late = kept.lock().unwrap().pop().unwrap();
            assert!(!late.progress(3.0, None), "{tool}");
            assert!(!late.log(LoggingLevel::Emergency, "late"), "{tool}");
            peer.tool(tool, json!({})).await;
            peer.silent().await;
        }
    }
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
    let server = Server::builder("s", "1")
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
