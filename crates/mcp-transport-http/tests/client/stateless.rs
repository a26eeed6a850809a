//! Requests of the stateless revision, at the level of the transport.

use std::time::Duration;

use mcp_protocol::{CallError, Extras, SentId, StatelessRequest};
use mcp_transport_http::HttpTransport;
use mcp_types::method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::*;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

type Calling = JoinHandle<Result<mcp_protocol::Answer, CallError>>;

fn call(pair: &Pair, method: &'static str, name: Option<&str>, mut extras: Extras) -> Calling {
    let more = name.map(|name| format!(r#","name":"{name}""#));
    let more = more.unwrap_or_default();
    let name = name.map(str::to_owned);
    extras.stateless = Some(StatelessRequest::new("2026-07-28", name));
    let params = format!("{{{META}{more}}}").into_bytes();
    spawn(pair.link.request_with(method.into(), Some(params), extras))
}

fn tool(pair: &Pair) -> Calling {
    call(pair, method::TOOLS_CALL, Some("a tool"), Extras::default())
}

// proves: M-HTTP-010, M-HTTP-032, M-HTTP-041
#[tokio::test(start_paused = true)]
async fn stateless_requests_and_sessions_have_different_headers() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    pair.server.expect_get().await.status(405);
    let calling = tool(&pair);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-name"), Some("a tool"));
    seen.answer(&json!({}));
    calling.await.unwrap().unwrap().unwrap();
    // The session is used in parallel.
    let headers = pair.headers_of(method::TOOLS_LIST).await;
    assert_eq!(headers["mcp-session-id"], SESSION);
    assert!(!headers.contains_key("mcp-method"));
}

#[tokio::test(start_paused = true)]
async fn header_parameters_are_sent_with_the_request() {
    let mut pair = Pair::new(quiet()).await;
    let id = SentId::new();
    assert_eq!(id.get(), None);
    let mut extras = Extras::of_headers(vec![("Mcp-Param-A".to_owned(), "b".to_owned())]);
    extras.id = Some(id.clone());
    let calling = call(&pair, method::TOOLS_CALL, Some("t"), extras);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    assert_eq!(seen.header("mcp-param-a"), Some("b"));
    assert_eq!(json!(id.get()), seen.id());
    // A redirect keeps the headers.
    let location = [("location", "/elsewhere")];
    seen.respond(307, &location, "");
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    assert_eq!(seen.head.uri.path(), "/elsewhere");
    assert_eq!(seen.header("mcp-param-a"), Some("b"));
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    seen.answer(&json!({}));
    calling.await.unwrap().unwrap().unwrap();

    let bad = Extras::of_headers(vec![("Mcp-Param-A".to_owned(), "b\nc".to_owned())]);
    let calling = call(&pair, method::TOOLS_CALL, None, bad);
    let error = failure(calling).await;
    assert!(error.contains("Mcp-Param-A"), "{error}");
    pair.server.receives_nothing_for(LONG_WAIT / 2).await;
}

#[test]
fn standard_headers_cannot_be_overridden() {
    for name in ["mcp-method", "Mcp-Name", "mcp-param-region"] {
        let error = HttpTransport::new(URL)
            .unwrap()
            .header(name, "x")
            .unwrap_err();
        assert!(error.to_string().contains("protocol"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_requests_to_a_busy_server_are_repeated() {
    let mut pair = Pair::new(quiet()).await;
    let busy = [("retry-after", "2")];
    let listing = call(&pair, method::TOOLS_LIST, None, Extras::default());
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    let first = seen.id();
    seen.respond(503, &busy, "");
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    assert_ne!(seen.id(), first);
    seen.respond(503, &busy, "");
    assert!(failure(listing).await.contains("503"));

    let calling = tool(&pair);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    seen.respond(503, &busy, "");
    assert!(failure(calling).await.contains("503"));
    let calling = tool(&pair);
    pair.server.expect(method::TOOLS_CALL).await.refuse();
    assert!(calling.await.unwrap().is_err());
    pair.server
        .receives_nothing_for(Duration::from_secs(60))
        .await;
}

// proves: M-HTTP-012, M-HTTP-026, M-HTTP-063
#[tokio::test(start_paused = true)]
async fn the_stateless_revision_sends_no_responses_resumes_or_cancellations() {
    let mut pair = Pair::new(quiet()).await;
    let calling = tool(&pair);
    let stream = pair.server.expect(method::TOOLS_CALL).await.stream();
    stream
        .event("1", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    drop(stream);
    let error = failure(calling).await;
    assert!(error.contains("may have run"), "{error}");
    let calling = tool(&pair);
    let stream = pair.server.expect(method::TOOLS_CALL).await.stream();
    stream
        .event("", &json!({"jsonrpc": "2.0", "id": 2, "method": 3}))
        .await;
    settle().await;
    calling.abort();
    stream.abandoned().await;
    let closing = pair.connection.close();
    closing.await.unwrap();
    pair.server.receives_nothing_for(LONG_WAIT / 2).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_fails_the_request_of_its_post() {
    let mut pair = Pair::new(quiet()).await;
    for status in [200, 400] {
        let calling = tool(&pair);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let error = json!({"code": -32600, "message": "no"});
        let body = json!({"jsonrpc": "2.0", "id": Value::Null, "error": error});
        seen.json_body(status, &body);
        let refused = calling.await.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.code.0, -32600);
    }
}
