//! Calls in flight: cancellation, progress, panics, limits, ends.

use mcp_client::Timeouts;
use mcp_tests::wire::connect;

use crate::prelude::*;

fn client() -> Builder {
    Client::builder("host", "0.1")
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
    let wait = Tool::new("wait", move || {
        let gone = Gone(Arc::clone(&notice));
        async move {
            let _gone = gone;
            std::future::pending::<String>().await
        }
    });
    (Server::new("waits", "1").tool(wait), gone)
}

// proves: CANC-007, CANC-008, CANC-009, CANC-002, CANC-020
#[tokio::test]
async fn a_cancelled_request_ends_its_handler_and_is_never_answered() {
    let (server, gone) = waiting();
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    let call = json!({ "name": "wait" });
    wire.send(json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call }))
        .await;
    wire.send(json!({ "jsonrpc": "2.0", "id": "5", "method": "tools/call", "params": call }))
        .await;
    wire.notify(
        "notifications/cancelled",
        json!({ "requestId": "5", "reason": "enough" }),
    )
    .await;
    gone.notified().await;
    wire.silent().await;
    wire.notify("notifications/cancelled", json!({ "requestId": 5 }))
        .await;
    gone.notified().await;
    wire.silent().await;
}

// proves: CANC-010, CANC-011
#[tokio::test]
async fn cancelling_what_is_unknown_or_done_does_nothing() {
    let (server, _gone) = waiting();
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    let id = wire.request("ping", Value::Null).await;
    assert_eq!(wire.recv().await["id"], id);
    wire.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    wire.notify("notifications/cancelled", json!({ "requestId": 999 }))
        .await;
    wire.silent().await;
}

// proves: CANC-001, CANC-004, CANC-013, CANC-018, M-CANC-015
#[tokio::test]
async fn dropping_a_call_cancels_it_on_the_wire_and_a_late_answer_is_dropped() {
    let tools = json!({ "tools": {} });
    let (mut wire, client) = Wire::accept(client(), "2025-11-25", tools).await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("slow", json!({})).await }
    });
    let request = wire.expect("tools/call").await;
    call.abort();
    let cancelled = wire.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    wire.answer(&request, json!({ "content": [] })).await;
    wire.silent().await;
    // A call with a response is not cancelled afterwards.
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("quick", json!({})).await }
    });
    let request = wire.expect("tools/call").await;
    wire.answer(&request, json!({ "content": [] })).await;
    call.await.unwrap().unwrap();
    wire.silent().await;
}

// proves: CANC-003
#[tokio::test]
async fn a_cancellation_reaches_only_its_own_direction() {
    let server = Server::new("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.roots().await.map(|roots| roots.len().to_string())
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({ "roots": {} })).await;
    // The client's request has the same id as the server's request.
    wire.send(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "ask" } }),
    )
    .await;
    let question = wire.expect("roots/list").await;
    assert_eq!(question["id"], 1);
    wire.send(json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": [] } }))
        .await;
    let answer = wire.recv().await;
    assert_eq!(answer["result"]["content"][0]["text"], "0");
}

#[tokio::test]
async fn cancelling_a_call_cancels_its_server_request() {
    let server = Server::new("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.roots().await.map(|roots| roots.len().to_string())
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({ "roots": {} })).await;
    let id = wire.request("tools/call", json!({ "name": "ask" })).await;
    let question = wire.expect("roots/list").await;
    wire.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    let withdrawn = wire.expect("notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    wire.answer(&question, json!({ "roots": [] })).await;
    wire.silent().await;
}

// proves: BASE-015, PROG-001, PROG-002, PROG-004, PROG-006, PROG-007, PROG-012, M-PROG-001
#[tokio::test]
async fn progress_carries_the_token_as_it_came() {
    let server = Server::new("p", "1").tool(Tool::new("work", async |cx: Ctx| {
        cx.progress(0.25, None);
        cx.progress_with(1.0, 4.0, "a quarter");
        "done"
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    for token in [json!("tok"), json!(77), json!("77")] {
        let params = json!({ "name": "work", "_meta": { "progressToken": token } });
        let id = wire.request("tools/call", params).await;
        let first = wire.expect("notifications/progress").await;
        assert_eq!(
            first["params"],
            json!({ "progressToken": token, "progress": 0.25 })
        );
        let second = wire.expect("notifications/progress").await;
        assert_eq!(
            second["params"],
            json!({ "progressToken": token, "progress": 1, "total": 4, "message": "a quarter" })
        );
        assert_eq!(wire.recv().await["id"], id);
    }
}

// proves: PROG-005, PROG-008, PROG-009, PROG-010, PROG-017
#[tokio::test]
async fn progress_only_grows_and_only_while_the_request_runs_and_wants_it() {
    let kept: Arc<Mutex<Option<Ctx>>> = Arc::default();
    let slot = Arc::clone(&kept);
    let server = Server::new("p", "1").tool(Tool::new("work", move |cx: Ctx| {
        for value in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 2.0] {
            cx.progress(value, None);
        }
        *slot.lock().unwrap() = Some(cx);
        "done"
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    let params = json!({ "name": "work", "_meta": { "progressToken": 1 } });
    let id = wire.request("tools/call", params).await;
    for value in [1, 2] {
        assert_eq!(
            wire.expect("notifications/progress").await["params"]["progress"],
            value
        );
    }
    assert_eq!(wire.recv().await["id"], id);
    let late = kept.lock().unwrap().take().unwrap();
    assert!(!late.progress(3.0, None));
    wire.call("tools/call", json!({ "name": "work" })).await;
    wire.silent().await;
}

// proves: PROG-003, PROG-015, PROG-011
#[tokio::test]
async fn the_client_routes_progress_by_token_and_drops_the_rest() {
    let tools = json!({ "tools": {} });
    let (mut wire, client) = Wire::accept(client(), "2025-11-25", tools).await;
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let call = tokio::spawn({
        let (client, seen) = (client.clone(), Arc::clone(&seen));
        async move {
            client
                .call_tool("work", json!({}))
                .on_progress(move |p| seen.lock().unwrap().push(p.progress))
                .await
        }
    });
    let other = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("other", json!({})).await }
    });
    let (a, b) = (
        wire.expect("tools/call").await,
        wire.expect("tools/call").await,
    );
    let (mine, other_request) = if a["params"]["name"] == "work" {
        (a, b)
    } else {
        (b, a)
    };
    let token = mine["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token, other_request["params"]["_meta"]["progressToken"]);
    for (token, progress) in [
        (token.clone(), 0.1),
        (json!("unknown"), 5.0),
        (json!(4711), 6.0),
        (token.clone(), 0.1),
        (token.clone(), 0.05),
        (token.clone(), 0.9),
    ] {
        wire.notify(
            "notifications/progress",
            json!({ "progressToken": token, "progress": progress }),
        )
        .await;
    }
    wire.answer(&mine, json!({ "content": [] })).await;
    wire.answer(&other_request, json!({ "content": [] })).await;
    call.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(*seen.lock().unwrap(), [0.1, 0.9]);
    assert!(format!("{client:?}").contains("progress_tokens: 0"));
}

// proves: LIFE-032, LIFE-033, M-CANC-009, M-CANC-010
#[tokio::test(start_paused = true)]
async fn progress_keeps_a_call_alive_up_to_the_total_timeout() {
    let tools = json!({ "tools": {} });
    let (mut wire, client) = Wire::accept(client(), "2025-11-25", tools).await;
    let start = tokio::time::Instant::now();
    let call = tokio::spawn(async move {
        let timeouts = Timeouts::new(Duration::from_secs(10), Duration::from_secs(25));
        client.call_tool("slow", json!({})).timeouts(timeouts).await
    });
    let request = wire.expect("tools/call").await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    for n in 1..=4 {
        tokio::time::sleep_until(start + Duration::from_secs(6 * n)).await;
        let params = json!({ "progressToken": token, "progress": n });
        wire.notify("notifications/progress", params).await;
    }
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("total"), "{error}");
    assert_eq!(start.elapsed().as_secs(), 25);
}

// proves: BASE-006, M-BASE-006
#[tokio::test]
async fn request_ids_are_never_used_twice() {
    let tools = json!({ "tools": {} });
    let (mut wire, client) = Wire::accept(client(), "2025-11-25", tools).await;
    let mut seen = std::collections::HashSet::new();
    for round in 0..300 {
        let client = client.clone();
        let call = tokio::spawn(async move { client.call_tool("t", json!({})).await });
        let request = wire.expect("tools/call").await;
        assert!(seen.insert(request["id"].to_string()));
        match round % 3 {
            0 => {
                call.abort();
                wire.expect("notifications/cancelled").await;
            }
            1 => wire.refuse(&request, -32603, "no").await,
            _ => wire.answer(&request, json!({ "content": [] })).await,
        }
    }
}

// proves: SCHEMA-008, TOOL-035
#[tokio::test]
async fn a_panicking_handler_is_answered_and_nothing_of_it_leaks() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("secret in drop");
        }
    }
    let state = Arc::new(Mutex::new(0));
    let locked = Arc::clone(&state);
    let server = Server::new("panics", "1")
        .tool(Tool::new("sync", || -> String { panic!("secret {}", 1) }))
        .tool(Tool::new("asynchronous", async || -> String {
            tokio::task::yield_now().await;
            panic!("secret")
        }))
        .tool(Tool::new("payload", || -> String {
            std::panic::panic_any(7_u8)
        }))
        .tool(Tool::new("bomb", || -> String {
            std::panic::panic_any(Bomb)
        }))
        .tool(Tool::new("dropped", async || {
            let _bomb = Bomb;
            tokio::task::yield_now().await;
            "never"
        }))
        .tool(Tool::new("blocking", || -> String { panic!("secret") }).blocking())
        .tool(Tool::new("locked", move || -> String {
            let _guard = locked.lock();
            panic!("secret")
        }))
        .tool(Tool::new("fine", || "fine"));
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    let names = [
        "sync",
        "asynchronous",
        "payload",
        "bomb",
        "dropped",
        "blocking",
        "locked",
    ];
    for name in names.into_iter().cycle().take(70) {
        let answer = wire.answer_to("tools/call", json!({ "name": name })).await;
        assert_eq!(answer["error"]["code"], -32603, "{name}: {answer}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    assert_eq!(
        wire.tool("fine", json!({})).await["content"][0]["text"],
        "fine"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_meets_its_deadline() {
    let (server, gone) = waiting();
    let mut wire = Wire::open(
        server.deadline(Duration::from_secs(30)),
        "2025-11-25",
        json!({}),
    )
    .await;
    let start = tokio::time::Instant::now();
    let id = wire.request("tools/call", json!({ "name": "wait" })).await;
    let answer = wire.recv_patiently().await;
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&id, &json!(-32603))
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("30 s"),
        "{answer}"
    );
    gone.notified().await;
}

// proves: PING-003, TOOL-044, COMP-018
#[tokio::test]
async fn slow_requests_delay_no_others_and_too_many_are_rejected() {
    let (server, gone) = waiting();
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    for _ in 0..64 {
        wire.request("tools/call", json!({ "name": "wait" })).await;
    }
    wire.silent().await;
    let refused = wire
        .answer_to("tools/call", json!({ "name": "wait" }))
        .await;
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("64"),
        "{refused}"
    );
    wire.notify("notifications/cancelled", json!({ "requestId": 2 }))
        .await;
    gone.notified().await;
    wire.request("tools/call", json!({ "name": "wait" })).await;
    wire.silent().await;
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_the_first_request_survives() {
    let open = Arc::new(Notify::new());
    let opened = Arc::clone(&open);
    let server = Server::new("s", "1").tool(Tool::new("wait", move || {
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            "done"
        }
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "wait" } });
    wire.send(call.clone()).await;
    wire.send(call).await;
    let refused = wire.recv().await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(
        refused.get("id").is_none(),
        "it would be taken for the answer: {refused}"
    );
    open.notify_one();
    let answer = wire.recv().await;
    assert_eq!(
        (&answer["id"], answer["result"].is_object()),
        (&json!("x"), true)
    );
}

#[tokio::test]
async fn the_end_of_the_client_cancels_what_runs() {
    let (server, gone) = waiting();
    let mut wire = Wire::open(server, "2025-11-25", json!({})).await;
    wire.request("tools/call", json!({ "name": "wait" })).await;
    wire.close().await.unwrap();
    gone.notified().await;
}

// proves: CANC-014
#[tokio::test]
async fn cancelling_at_any_moment_leaves_nothing_behind() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Turns {
        turns: u32,
    }
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let server = Server::new("s", "1").tool(Tool::new("turns", move |Args(args): Args<Turns>| {
        let counted = Arc::clone(&counted);
        async move {
            struct Count(Arc<AtomicUsize>);
            impl Drop for Count {
                fn drop(&mut self) {
                    self.0.fetch_sub(1, Ordering::SeqCst);
                }
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let _count = Count(counted);
            for _ in 0..args.turns {
                tokio::task::yield_now().await;
            }
            args.turns.to_string()
        }
    }));
    let client = connect(client(), server).await.unwrap();
    for round in 0..400_u32 {
        let call = client.call_tool("turns", json!({ "turns": round % 7 }));
        let call = tokio::spawn(async move { call.await });
        for _ in 0..round % 11 {
            tokio::task::yield_now().await;
        }
        call.abort();
        match call.await {
            Ok(result) => assert_eq!(result.unwrap().joined_text(), (round % 7).to_string()),
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    client.ping().await.unwrap();
    while running.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    assert!(format!("{client:?}").contains("progress_tokens: 0"));
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_blocking_tool_sees_its_cancellation() {
    let (started, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let seen = Arc::new(AtomicBool::new(false));
    let (a, b, c) = (
        Arc::clone(&started),
        Arc::clone(&stopped),
        Arc::clone(&seen),
    );
    let spin = Tool::new("spin", move |cx: Ctx| {
        a.notify_one();
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        c.store(true, Ordering::SeqCst);
        b.notify_one();
        "stopped"
    });
    let mut wire = Wire::open(
        Server::new("s", "1").tool(spin.blocking()),
        "2025-11-25",
        json!({}),
    )
    .await;
    let id = wire.request("tools/call", json!({ "name": "spin" })).await;
    started.notified().await;
    wire.silent().await;
    wire.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    stopped.notified().await;
    assert!(seen.load(Ordering::SeqCst));
    wire.silent().await;
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_at_once() {
    let (mut wire, transport) = Wire::server();
    let options = mcp_transport_stdio::Options::for_client().with_line_limit(2_000);
    let connecting = tokio::spawn(
        client()
            .negotiation(Negotiation::Legacy)
            .connect(transport.with_options(options)),
    );
    wire.welcome("2025-11-25", json!({ "tools": {} })).await;
    let client = connecting.await.unwrap().unwrap();
    wire.expect("notifications/initialized").await;
    let call = client.call_tool("big", json!({}));
    let call = tokio::spawn(async move { call.await });
    let request = wire.expect("tools/call").await;
    let text = "x".repeat(5_000);
    wire.answer(
        &request,
        json!({ "content": [{ "type": "text", "text": text }] }),
    )
    .await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("2000 bytes"), "{error}");
    // A request that is too long gets a response, because its head contains the id.
    let params = json!({ "message": "x".repeat(5_000) });
    let answer = wire.answer_to("elicitation/create", params).await;
    assert_eq!(answer["error"]["code"], -32700);
    wire.silent().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_request_fails_at_once_when_the_client_is_gone() {
    let server = Server::new("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.roots().await.map(|roots| roots.len().to_string())
    }));
    let mut wire = Wire::open(server, "2025-11-25", json!({ "roots": {} })).await;
    let start = tokio::time::Instant::now();
    let id = wire.request("tools/call", json!({ "name": "ask" })).await;
    wire.expect("roots/list").await;
    wire.end();
    let answer = wire.recv().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&id, &json!(true))
    );
    assert!(start.elapsed() < Duration::from_millis(100));
}
