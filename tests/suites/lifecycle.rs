//! The handshake, its order, ping, and the end of a session.

use mcp_client::{KeepAlive, Timeouts};
use mcp_server::ServerBuilder;
use mcp_tests::wire::initialize_params;

use crate::peer::counting_roots;
use crate::prelude::*;

fn plain() -> ServerBuilder {
    Server::builder("plain", "1.2.3").tool(Tool::new("hello", || "hello"))
}

fn client() -> ClientBuilder {
    Client::builder("host", "0.1").negotiation(Negotiation::SessionBased)
}

// A server that also supports the stateless revision reports the missing request metadata instead.
// proves: LIFE-001, PING-003
#[tokio::test]
async fn nothing_but_ping_is_served_before_initialize() {
    let mut wire = PipeEnd::to(plain().revisions(Revision::WITH_SESSIONS));
    for (method, params) in [
        ("tools/list", Value::Null),
        ("tools/call", json!({ "name": "hello" })),
    ] {
        let error = wire.expect_error(method, params, -32600).await;
        says(&error, "initialize");
    }
    assert_eq!(wire.call("ping", Value::Null).await, json!({}));
    wire.handshake("2025-11-25", json!({})).await;
    assert!(wire.call("tools/list", Value::Null).await["tools"].is_array());
}

// proves: LIFE-003, LIFE-038, TOOL-005, SCHEMA-020
#[tokio::test]
async fn initialize_returns_the_identity_of_the_server() {
    let server = plain().instructions("Be kind.").title("Plain");
    let mut wire = PipeEnd::to(server);
    let result = wire.handshake("2025-11-25", json!({})).await;
    assert_eq!(result["serverInfo"]["name"], "plain");
    assert_eq!(result["serverInfo"]["version"], "1.2.3");
    assert_eq!(result["serverInfo"]["title"], "Plain");
    assert_eq!(result["instructions"], "Be kind.");
    let expected = json!({ "tools": { "listChanged": true }, "logging": {} });
    assert_eq!(result["capabilities"], expected);
}

// proves: LIFE-009, LIFE-010, LIFE-011, LIFE-015
#[tokio::test]
async fn a_known_revision_is_accepted_and_an_unknown_one_gets_the_newest() {
    let old = plain().revisions([Revision::V2024_11_05]);
    for (server, offered, agreed) in [
        (plain(), "2024-11-05", "2024-11-05"),
        (plain(), "2025-11-25", "2025-11-25"),
        (plain(), "1.0.0", "2025-11-25"),
        (plain(), "", "2025-11-25"),
        (old, "2025-11-25", "2024-11-05"),
    ] {
        let result = PipeEnd::to(server).handshake(offered, json!({})).await;
        assert_eq!(result["protocolVersion"], agreed, "{offered:?}");
    }
}

// proves: LIFE-002, LIFE-004, LIFE-007, LIFE-008, LIFE-005, ROOT-001, SAMP-005, ELIC-008
#[tokio::test]
async fn the_client_opens_with_initialize_and_then_initialized() {
    let (mut wire, transport) = PipeEnd::server();
    let builder = client()
        .roots([])
        .on_sample(async |ask| Err(ask.rejected_by_user()))
        .on_elicit(async |form| form.decline());
    let connecting = tokio::spawn(builder.connect(transport));
    let request = wire.expect("initialize").await;
    let params = &request["params"];
    assert_eq!(params["protocolVersion"], "2025-11-25");
    let expected = json!({ "name": "host", "version": "0.1" });
    assert_eq!(params["clientInfo"], expected);
    assert_eq!(
        params["capabilities"],
        json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {} } })
    );
    wire.silent().await;
    wire.answer(
        &request,
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": { "name": "s", "version": "0" },
            "unknown": [1]
        }),
    )
    .await;
    let initialized = wire.recv().await;
    let expected = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(initialized, expected);
    connecting.await.unwrap().unwrap();
}

// proves: LIFE-012, LIFE-013, LIFE-034, LIFE-037
#[tokio::test]
async fn a_revision_that_one_side_does_not_know_ends_the_connection() {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(client().connect(transport));
    let request = wire.recv().await;
    wire.refuse(&request, -32602, "Unsupported protocol version")
        .await;
    assert_eq!(refused(connecting.await.unwrap()).code.0, -32602);
    wire.ended().await;

    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(client().connect(transport));
    wire.welcome("1999-01-01", json!({})).await;
    let error = connecting.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Connect { cause, .. } if matches!(**cause, Error::Revision { .. })),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("2025-11-25") && text.contains("1999-01-01"),
        "{text}"
    );
    wire.ended().await;
}

/// A client keeps the description of a server, and a gateway keeps one for each connection, so its memory is limited.
#[tokio::test]
async fn a_server_whose_description_needs_too_much_memory_is_refused() {
    for (objects, is_refused) in [(1_000, false), (2_000, true)] {
        let (mut wire, transport) = PipeEnd::server();
        let connecting = tokio::spawn(client().connect(transport));
        let small: Vec<_> = (0..objects).map(|_| json!({ "a": 1 })).collect();
        wire.welcome("2025-11-25", json!({ "experimental": { "a": small } }))
            .await;
        match connecting.await.unwrap() {
            Ok(_) => assert!(!is_refused),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    is_refused && text.contains("the limit is 1048576"),
                    "{text}"
                );
            }
        }
    }
}

// proves: LIFE-036, CANC-005
#[tokio::test(start_paused = true)]
async fn a_silent_server_makes_connect_fail_without_a_cancellation() {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(client().connect(transport));
    wire.expect("initialize").await;
    let error = connecting.await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    wire.ended().await;
}

// proves: LIFE-006, ROOT-020
#[tokio::test]
async fn the_server_sends_no_requests_before_initialized() {
    let server = counting_roots().strictness(Strictness::Strict);
    let server = server.build().unwrap();
    let changing = server.clone();
    let mut wire = PipeEnd::to(server);
    let params = initialize_params("2025-11-25", json!({ "roots": {} }));
    wire.call("initialize", params).await;
    changing
        .tools()
        .add([Tool::new("more", || "more")])
        .unwrap();
    let result = wire.tool("ask", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
    wire.silent().await;
    wire.notify("notifications/initialized", Value::Null).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    wire.expect("roots/list").await;
}

// proves: LIFE-017
#[tokio::test]
async fn experimental_capabilities_reach_the_peer_unchanged() {
    let value = json!({ "deep": { "er": [1, null] } });
    let value = value.as_object().unwrap().clone();
    let server = plain().experimental("com.example/x", value.clone());
    let builder = client().experimental("com.example/y", value.clone());
    let client = connect(builder, server).await.unwrap();
    let declared = client.capabilities().experimental.clone().unwrap();
    assert_eq!(declared["com.example/x"], value);
}

// proves: LIFE-035
#[tokio::test]
async fn a_missing_capability_is_a_typed_error_and_sends_nothing() {
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", json!({})).await;
    assert_fails!(
        client.require::<mcp_types::CallToolRequest>(),
        Error::Unsupported { .. }
    );
    assert!(client.list_tools().await.is_err());
    assert!(client.subscribe("file:///x").await.is_err());
    assert!(client.set_log_level(LoggingLevel::Info).await.is_err());
    wire.silent().await;
}

// proves: LIFE-021, LIFE-026
#[tokio::test]
async fn closing_the_stream_ends_the_session() {
    let wire = PipeEnd::session(plain()).await;
    wire.close().await.unwrap();
}

// proves: LIFE-025, STDIO-011
#[tokio::test]
async fn a_server_that_disconnects_fails_every_pending_call() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let calls: Vec<_> = (0..5)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool(format!("t{n}"), json!({})).await })
        })
        .collect();
    for _ in &calls {
        wire.expect("tools/call").await;
    }
    drop(wire);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(error.is_closed(), "{error}");
    }
    assert!(client.ping().await.unwrap_err().is_closed());
}

// proves: PING-001, PING-002, PING-004
#[tokio::test]
async fn both_sides_answer_ping() {
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", json!({})).await;
    for params in [Value::Null, json!({}), json!({ "_meta": {} })] {
        assert_eq!(wire.call("ping", params).await, json!({}));
    }
    let pinging = tokio::spawn(async move { client.ping().await });
    wire.respond("ping", json!({})).await;
    pinging.await.unwrap().unwrap();
    let mut wire = PipeEnd::session(plain()).await;
    for params in [Value::Null, json!({}), json!({ "_meta": { "a": 1 } })] {
        assert_eq!(wire.call("ping", params).await, json!({}));
    }
}

// proves: PING-005, PING-006, PING-008, PING-009, PING-012
#[tokio::test(start_paused = true)]
async fn pings_are_sent_at_the_interval_and_missing_responses_end_the_connection() {
    let keep_alive = KeepAlive::new(Duration::from_secs(20), 2);
    let builder = client().keep_alive(keep_alive);
    let (mut wire, client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    let start = tokio::time::Instant::now();
    for n in 1..=3 {
        let ping = wire.next("ping").await;
        assert_eq!(start.elapsed().as_secs(), 20 * n);
        wire.answer(&ping, json!({})).await;
    }
    wire.next("ping").await;
    wire.next("notifications/cancelled").await;
    wire.next("ping").await;
    client.closed().await;
}

// proves: PING-011
#[tokio::test(start_paused = true)]
async fn pings_are_off_by_default() {
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", json!({})).await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    wire.silent().await;
    drop(client);
}

// proves: LIFE-028, LIFE-029, LIFE-030, LIFE-031, TOOL-049, M-CANC-006, M-CANC-007, M-CANC-008, M-TOOL-045, M-ERR-009
#[tokio::test(start_paused = true)]
async fn a_timed_out_call_is_cancelled_and_its_late_response_is_dropped() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let start = tokio::time::Instant::now();
    for seconds in [5, 90] {
        let timeout = Duration::from_secs(seconds);
        let call = client
            .call_tool("slow", json!({}))
            .timeouts(Timeouts::new(timeout, Duration::from_secs(600)));
        let began = start.elapsed();
        let call = tokio::spawn(async move { call.await });
        let request = wire.recv_patiently().await;
        let error = call.await.unwrap().unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert_eq!((start.elapsed() - began).as_secs(), seconds);
        let cancelled = wire.next("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        wire.answer(&request, json!({ "content": [] })).await;
    }
    wire.silent().await;
    assert!(format!("{client:?}").contains("progress_tokens: 0"));
}

// proves: BASE-017, STDIO-002, M-AUTH-003
// Cargo sets `CARGO_MANIFEST_DIR` for tests, which is used here like a variable with a secret.
#[cfg(unix)]
#[tokio::test]
async fn a_child_inherits_only_the_variables_that_programs_need() {
    let script = r#"read line
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"0"},"instructions":"'"${PATH:+path}-${CARGO_MANIFEST_DIR:+secret}"'"}}'
        cat >/dev/null"#;
    let child = mcp_transport_stdio::ChildProcess::new("sh").args(["-c", script]);
    let basic = client().connect(child.clone()).await.unwrap();
    assert_eq!(basic.instructions(), Some("path-"));
    let all = client().connect(child.env_inherit()).await.unwrap();
    assert_eq!(all.instructions(), Some("path-secret"));
    basic.close().await.unwrap();
    all.close().await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_takes_its_credentials_from_the_environment() {
    // The first line is `initialize`, without an authorization before it.
    let script = r#"read line
        case "$line" in *'"method":"initialize"'*) ;; *) exit 9 ;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"0"},"instructions":"'"$API_TOKEN"'"}}'
        cat >/dev/null"#;
    let child = mcp_transport_stdio::ChildProcess::new("sh").args(["-c", script]);
    let child = child.env("API_TOKEN", "s3cret");
    let client = client().connect(child).await.unwrap();
    assert_eq!(client.instructions(), Some("s3cret"));
    client.close().await.unwrap();
}
