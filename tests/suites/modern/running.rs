//! Running requests: progress, log messages, cancellation, several at once.

use mcp_types::LoggingLevel;

use super::{Peer, named, text};
use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Params of a call of a tool, with a progress token.
fn tokened(tool: &str, token: &Value) -> Value {
    named(tool, json!({ "_meta": { "progressToken": token } }))
}

/// Params of a call of a tool, with the least level of its log messages.
fn logged(tool: &str, level: &Value) -> Value {
    named(
        tool,
        json!({ "_meta": { "io.modelcontextprotocol/logLevel": level } }),
    )
}

// proves: M-PROG-003, M-PROG-005, M-PROG-006, M-PROG-008, M-META-028, M-BASE-021, M-BASE-025
#[tokio::test]
async fn progress_carries_the_token_as_it_came() {
    let work = Tool::new("work", |cx: Ctx| {
        cx.progress(0.25, None);
        cx.progress_with(1.0, 4.5, "a quarter");
        "done"
    });
    let mut peer = Peer::new(Server::new("p", "1").tool(work));
    for token in [json!("tok"), json!(77), json!("77")] {
        let params = tokened("work", &token);
        let id = peer.request("tools/call", params).await;
        let first = peer.wire.expect("notifications/progress").await;
        assert_eq!(
            first["params"],
            json!({ "progressToken": token, "progress": 0.25 })
        );
        let second = peer.wire.expect("notifications/progress").await;
        assert_eq!(
            second["params"],
            json!({ "progressToken": token, "progress": 1, "total": 4.5, "message": "a quarter" })
        );
        assert_eq!(peer.wire.recv().await["id"], id);
    }
    assert_eq!(
        text(&peer.tool("work", json!({})).await),
        "done",
        "who asks for none gets none"
    );
}

// proves: M-PROG-004, M-PROG-007, M-PROG-009, M-PROG-011
#[tokio::test]
async fn progress_only_grows_and_only_while_the_request_runs() {
    let kept: Arc<Mutex<Vec<Ctx>>> = Arc::default();
    let (done, asked) = (Arc::clone(&kept), Arc::clone(&kept));
    let server = Server::new("p", "1")
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
                let who = cx.elicit::<Name>("Who?").await?.accepted();
                Ok::<_, HandlerError>(who.map_or_else(String::new, |it| it.name))
            }
        }));
    let mut peer = Peer::with(server, json!({ "elicitation": {} }));
    for (tool, values, kind) in [
        ("work", &[1, 2][..], "complete"),
        ("ask", &[1], "input_required"),
    ] {
        let params = tokened(tool, &json!(5));
        let id = peer.request("tools/call", params).await;
        for value in values {
            let heard = peer.wire.expect("notifications/progress").await;
            assert_eq!(heard["params"]["progress"], *value);
        }
        let answer = peer.wire.recv().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["resultType"]),
            (&id, &json!(kind))
        );
        let late = kept.lock().unwrap().pop().unwrap();
        assert!(!late.progress(3.0, None), "{tool}");
        assert!(!late.log(LoggingLevel::Emergency, "late"), "{tool}");
        peer.silent().await;
    }
}

/// Logs one message of each level.
fn logs() -> Server {
    Server::new("logs", "1").tool(Tool::new("log", |cx: Ctx| {
        for level in LoggingLevel::ALL.iter().copied() {
            cx.log_as("test", level, json!({ "n": 1 }));
        }
        "logged"
    }))
}

// proves: M-LOG-002, M-LOG-003, M-LOG-004, M-LOG-006, M-LOG-007, M-META-008, M-ERR-015, M-DEPR-003
#[tokio::test]
async fn the_level_is_per_request_and_filters() {
    let mut peer = Peer::new(logs());
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["logging"].is_object());
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
    for (least, heard) in [
        (Some("warning"), &all[3..]),
        (None, &[]),
        (Some("debug"), &all),
        (None, &[]),
    ] {
        let params = match least {
            Some(least) => logged("log", &json!(least)),
            None => named("log", json!({})),
        };
        let id = peer.request("tools/call", params).await;
        for level in heard {
            let message = peer.wire.expect("notifications/message").await;
            assert_eq!(
                message["params"],
                json!({ "level": level, "logger": "test", "data": { "n": 1 } })
            );
        }
        assert_eq!(peer.wire.recv().await["id"], id, "{least:?}");
    }
    for bad in [json!("loud"), json!("Debug"), json!("warn"), json!(3)] {
        let params = logged("log", &bad);
        peer.expect_error("tools/call", params, -32602).await;
    }
    let mut quiet = Peer::new(logs().logging(false));
    let told = quiet.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["logging"].is_null());
    let params = logged("log", &json!("debug"));
    text(&quiet.call("tools/call", params).await);
}

/// Notifies when it is dropped.
struct Gone(Arc<Notify>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Creates a server whose tool `wait` never ends, and a notification of the end of its handler.
fn waiting() -> (Server, Arc<Notify>) {
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
    (Server::new("waits", "1").tool(wait), gone)
}

// proves: M-STDIO-013, M-STDIO-014, M-CANC-013, M-CANC-003
#[tokio::test]
async fn a_cancelled_request_ends_its_handler_and_nothing_more_is_said_of_it() {
    let (server, gone) = waiting();
    let mut peer = Peer::new(server);
    let mut params = peer.params(tokened("wait", &json!("t")));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
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

// proves: M-TOOL-040, M-COMP-010
#[tokio::test]
async fn slow_requests_delay_no_others_and_too_many_are_rejected() {
    let (server, gone) = waiting();
    let mut peer = Peer::new(server);
    let mut ids = Vec::new();
    for _ in 0..64 {
        let call = named("wait", json!({}));
        ids.push(peer.request("tools/call", call).await);
    }
    let refused = peer.answer("tools/call", named("wait", json!({}))).await;
    let said = refused["error"]["message"].as_str().unwrap();
    assert!(said.contains("64"), "{said}");
    let cancelled = json!({ "requestId": ids[0] });
    peer.wire.notify("notifications/cancelled", cancelled).await;
    gone.notified().await;
    peer.silent().await;
}

// proves: M-STATE-002, M-STATE-006
#[tokio::test]
async fn conversations_on_one_pipe_know_nothing_of_each_other() {
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
async fn what_one_request_says_holds_for_no_other() {
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
    let params = logged("wait", &json!("debug"));
    let id = peer.request("tools/call", params).await;
    text(&peer.tool("log", json!({})).await);
    let params = json!({ "requestId": id });
    peer.wire.notify("notifications/cancelled", params).await;
    gone.notified().await;
    peer.silent().await;
}

// proves: M-MRTR-022, M-MRTR-036, M-STDIO-009, M-BASE-023, M-ROOT-003
#[tokio::test]
async fn an_input_request_ends_its_request_and_nothing_waits() {
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
    let mut peer = Peer::with(Server::new("s", "1").tool(ask), json!({ "roots": {} }));
    for _ in 0..100 {
        // More calls than may run at once, none of which is ever retried.
        let asked = peer.tool("ask", json!({})).await;
        assert_eq!(asked["resultType"], "input_required");
        gone.notified().await;
    }
    peer.silent().await;
}
