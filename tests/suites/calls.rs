//! Calls in flight: cancellation, progress, panics, limits, ends.

use mcp_client::Timeouts;

use crate::gate::count_running;
use crate::peer::{calling, client};
use crate::prelude::*;

// proves: CANC-001, CANC-004, CANC-013, CANC-018, M-CANC-015
#[tokio::test]
async fn dropping_a_call_cancels_it_on_the_wire_and_a_late_answer_is_dropped() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let call = calling(&client, "slow");
    let request = wire.expect("tools/call").await;
    call.abort();
    let cancelled = wire.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    wire.answer(&request, json!({ "content": [] })).await;
    wire.silent().await;
    // A call with a response is not cancelled afterwards.
    let call = calling(&client, "quick");
    wire.respond("tools/call", json!({ "content": [] })).await;
    call.await.unwrap().unwrap();
    wire.silent().await;
}

// proves: PROG-003, PROG-015, PROG-011
#[tokio::test]
async fn the_client_routes_progress_by_token_and_drops_unknown_tokens() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
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
    let other = calling(&client, "other");
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
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
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
    fails_with(call.await.unwrap(), "total");
    assert_eq!(start.elapsed().as_secs(), 25);
}

// proves: BASE-006, M-BASE-006
#[tokio::test]
async fn request_ids_are_never_used_twice() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let mut seen = std::collections::HashSet::new();
    for round in 0..300 {
        let client = client.clone();
        let call = calling(&client, "t");
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
async fn a_panicking_handler_gets_an_error_response_without_the_panic_text() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("secret in drop");
        }
    }
    let state = Arc::new(Mutex::new(0));
    let locked = Arc::clone(&state);
    let server = Server::builder("panics", "1")
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
    let mut wire = PipeEnd::session(server).await;
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

#[tokio::test]
async fn a_panic_is_logged_once_in_the_span_of_its_request() {
    let server = Server::builder("panics", "1")
        .tool(Tool::new("sync", || -> String { panic!("secret") }))
        .tool(Tool::new("asynchronous", async || -> String {
            tokio::task::yield_now().await;
            panic!("secret")
        }));
    let mut wire = PipeEnd::session(server).await;
    for name in ["sync", "asynchronous"] {
        let (traced, guard) = crate::traced::Traced::start();
        let answer = wire.answer_to("tools/call", json!({ "name": name })).await;
        drop(guard);
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        let text = traced.text();
        assert_eq!(text.matches("a handler panicked").count(), 1, "{text}");
        let line = traced.line("a handler panicked").unwrap();
        assert!(line.contains("span=mcp.request"), "{name}: {line}");
    }
}

/// An error whose text does not have the cause.
#[derive(Debug)]
struct Hiding(std::io::Error);

impl std::fmt::Display for Hiding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the database failed")
    }
}

impl std::error::Error for Hiding {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The operator must see each error whose cause the client does not see.
#[tokio::test]
async fn errors_of_handlers_are_logged_with_their_sources() {
    async fn list() -> Result<Vec<mcp_server::types::Resource>, HandlerError> {
        Err(HandlerError::from(std::io::Error::other("no such table")))
    }
    async fn complete(_: mcp_server::CompletionRequest) -> Result<Vec<String>, HandlerError> {
        Err(HandlerError::from(std::io::Error::other("no such table")))
    }
    let prompt = Prompt::new("greet", async |Args(name): Args<Name>| name.name);
    let tool = Tool::new("find", async || -> Result<String, HandlerError> {
        Err(HandlerError::from(Hiding(std::io::Error::other(
            "no such table",
        ))))
    });
    let server = Server::builder("fails", "1")
        .tool(tool)
        .list_resources(list)
        .prompt(prompt.complete("name", complete));
    let mut wire = PipeEnd::session(server).await;
    let reference = json!({ "type": "ref/prompt", "name": "greet" });
    let argument = json!({ "name": "name", "value": "" });
    for (method, params) in [
        ("resources/list", json!({})),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument }),
        ),
    ] {
        let (traced, guard) = crate::traced::Traced::start();
        wire.expect_error(method, params, -32603).await;
        drop(guard);
        let line = traced.line("a handler failed").expect(method);
        for part in ["no such table", "span=mcp.request", method] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    // The model reads the text of a tool's error, but only the log has its cause.
    let (traced, guard) = crate::traced::Traced::start();
    let params = json!({ "name": "find" });
    let result = wire.answer_to("tools/call", params).await;
    drop(guard);
    assert!(!result.to_string().contains("no such table"), "{result}");
    let line = traced.line("a handler failed").unwrap();
    for part in ["the database failed", "no such table", "find"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

/// The default of test clients is the stateless revision.
#[tokio::test]
async fn a_method_of_another_revision_is_refused_with_the_revision() {
    let server = Server::builder("empty", "1").build().unwrap();
    let client = mcp_server::testing::TestClient::new(server);
    let params = json!({ "uri": "test://a" });
    let refused = client.request("resources/subscribe", params).await;
    let expected = "method \"resources/subscribe\" is not available in revision 2026-07-28; it has subscriptions/listen";
    assert_eq!(refused.unwrap_err().message, expected);
}

/// Previously, the log named neither the tool nor the user.
#[tokio::test]
async fn invalid_arguments_are_logged_in_the_span_of_their_request() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Limited {
        #[expect(dead_code, reason = "only its schema matters")]
        limit: u32,
    }
    let server = Server::builder("limited", "1")
        .tool(Tool::new("list", async |_: Args<Limited>| "listed"))
        .prompt(Prompt::new("list", async |_: Args<Limited>| "listed"));
    let mut wire = PipeEnd::session(server).await;
    for method in ["tools/call", "prompts/get"] {
        let (traced, guard) = crate::traced::Traced::start();
        wire.answer_to(method, json!({ "name": "list" })).await;
        drop(guard);
        let line = traced.line("the arguments are not valid").unwrap();
        for part in ["limit", "span=mcp.request", method, "list"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}

// proves: CANC-014
#[tokio::test]
async fn cancelling_at_any_moment_leaks_nothing() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Turns {
        turns: u32,
    }
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let server =
        Server::builder("s", "1").tool(Tool::new("turns", move |Args(args): Args<Turns>| {
            let counted = Arc::clone(&counted);
            async move {
                let _running = count_running(&counted);
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
async fn an_answer_over_the_limit_fails_its_call_at_once() {
    let (mut wire, transport) = PipeEnd::server();
    let options = mcp_transport_stdio::StdioOptions::for_client().with_line_limit(2_000);
    let connecting = tokio::spawn(
        client()
            .negotiation(Negotiation::SessionBased)
            .connect(transport.options(options)),
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
    assert_eq!(
        error,
        "the response was not read: a message is longer than 2000 bytes, the limit of \
         StdioOptions::with_line_limit"
    );
    // A request that is too long gets a response, because its head contains the id.
    let params = json!({ "message": "x".repeat(5_000) });
    wire.expect_error("elicitation/create", params, -32700)
        .await;
    wire.silent().await;
}

#[tokio::test(start_paused = true)]
async fn a_response_above_a_limit_ends_its_call_at_once() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let call = calling(&client, "echo");
    let id = wire.expect("tools/call").await["id"].clone();
    let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
    let start = tokio::time::Instant::now();
    wire.raw(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{deep}}}}}"#
    ))
    .await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("nested levels"), "{error}");
    assert_eq!(start.elapsed(), Duration::ZERO);
    wire.silent().await;
}
