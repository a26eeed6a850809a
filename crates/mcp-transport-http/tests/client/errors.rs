//! Error texts.

use std::time::Duration;

use mcp_protocol::CallError;
use mcp_transport_http::HttpTransport;
use mcp_types::method;
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn the_error_of_a_rejection_has_server_status_body_and_advice() {
    for (status, advice) in [
        (400, "400 Bad Request"),
        (401, "needs a bearer token"),
        (403, "not sufficient"),
        (405, "check the URL"),
        (406, "Streamable HTTP"),
        (413, "size limit"),
        (415, "Streamable HTTP"),
        (429, "try again later"),
        (500, "may have executed"),
        (503, "try again later"),
    ] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let error = json!({"code": -32000, "message": "not\ntoday"});
        seen.json_body(status, &json!({"jsonrpc": "2.0", "error": error}));
        let Err(CallError::Failed(error)) = call.await.unwrap() else {
            panic!("{status} must be a failure");
        };
        assert_eq!(error.is_temporary(), status == 429 || status >= 500);
        let error = error.to_string();
        assert!(
            error.starts_with(&format!("{URL} refused tools/call: {status}")),
            "{error}"
        );
        assert!(error.contains(r#""not\ntoday (code -32000)""#), "{error}");
        assert!(error.contains(advice), "{error}");
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_rejection_is_clipped_to_one_line() {
    let mut pair = Pair::open(quiet()).await;
    let challenge = (
        "www-authenticate",
        "Bearer resource_metadata=\"https://a.test/\"",
    );
    for (body, shown) in [
        ("plain\u{1b}[31m text", r#"it says "plain\u{1b}[31m text""#),
        (&"long ".repeat(1_000_000), "…\""),
        ("", "requires \"Bearer resource_metadata"),
        ("<html><body>a page</body></html>", "requires"),
    ] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        seen.respond(401, &[challenge], body.to_owned());
        let error = failure(call).await;
        assert!(error.contains(shown), "{error}");
        assert!(!error.contains("html"), "{error}");
        assert!(
            error.len() < 1_000 && !error.contains(['\n', '\u{1b}']),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_for_another_request_is_ignored() {
    let mut pair = Pair::open(quiet()).await;
    for id in [json!(null), json!(99), json!("2")] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let error = json!({"code": 1, "message": "mine"});
        seen.json_body(400, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        let error = failure(call).await;
        assert!(error.contains("mine"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_status_without_a_json_rpc_response_is_an_error_that_names_the_problem() {
    let json_type = ("content-type", "application/json");
    for (status, header, body, problem) in [
        (202, json_type, "{}", "202 Accepted"),
        (204, json_type, "", "204 No Content"),
        (200, ("x-none", "1"), "{}", "no Content-Type"),
        (
            200,
            ("content-type", "text/html"),
            "<html>",
            r#"Content-Type "text/html""#,
        ),
        (200, ("content-encoding", "gzip"), "x", r#"encoding "gzip""#),
        (200, json_type, "", "malformed response"),
        (200, json_type, "[1]", "batch"),
        (
            200,
            json_type,
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            "response to another request (99)",
        ),
        (
            200,
            json_type,
            r#"{"jsonrpc":"2.0","id":"2","result":{}}"#,
            r#"response to another request ("2")"#,
        ),
        (
            200,
            json_type,
            r#"{"jsonrpc":"2.0","method":"n"}"#,
            "without a response to it",
        ),
        (
            200,
            json_type,
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#,
            r#"could not read tools/list: it says "what? (code -32700)""#,
        ),
    ] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        seen.respond(status, &[header], body);
        let error = failure(call).await;
        assert!(error.contains(problem), "{error}");
        pair.server.receives_nothing_for(HOUR).await;
        pair.headers_of(method::PING).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_ends_the_call_of_its_stream() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let stream = pair.server.expect(method::TOOLS_CALL).await.stream();
    let error = json!({"code": -32700, "message": "what?"});
    stream
        .event("", &json!({"jsonrpc": "2.0", "error": error}))
        .await;
    let error = failure(call).await;
    assert!(error.contains("could not read tools/call"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_retried_once_after_its_delay() {
    let mut pair = Pair::open(quiet()).await;
    for status in [429, 503] {
        let busy = |seen: ReceivedRequest, after: &'static str| {
            seen.respond(status, &[("retry-after", after)], "")
        };
        let call = pair.call(method::TOOLS_LIST);
        busy(pair.server.expect(method::TOOLS_LIST).await, "4");
        let began = Instant::now();
        let again = pair.server.expect(method::TOOLS_LIST).await;
        assert_eq!(began.elapsed(), Duration::from_secs(4));
        let dates = [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
        ];
        again.respond(status, &dates, "");
        let error = failure(call).await;
        assert!(error.contains("try again in 1 s"), "{error}");

        // A tool call is not retried, and neither is a call with a long delay.
        for (name, after) in [(method::TOOLS_CALL, "1"), (method::TOOLS_LIST, "6")] {
            let call = pair.call(name);
            busy(pair.server.expect(name).await, after);
            let error = failure(call).await;
            assert!(
                error.contains(&format!("try again in {after} s")),
                "{error}"
            );
        }
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_fails_only_the_current_call() {
    let mut pair = Pair::open(quiet()).await;
    for name in [method::TOOLS_CALL, method::TOOLS_LIST] {
        let call = pair.call(name);
        pair.server.expect(name).await.refuse();
        let error = failure(call).await;
        assert!(
            error.starts_with(&format!("{URL} cannot be reached: ")),
            "{error}"
        );
        assert!(!error.contains("may have run"), "{error}");
    }
    pair.headers_of(method::TOOLS_CALL).await;
}

#[tokio::test(start_paused = true)]
async fn a_404_without_a_session_is_reported_as_a_wrong_url() {
    let mut pair = Pair::new(quiet()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    pair.server.expect(method::INITIALIZE).await.status(404);
    // The client probes for a server of 2024-11-05.
    #[cfg(feature = "legacy")]
    pair.server.expect_get().await.status(404);
    let error = failure(opening).await;
    assert!(error.contains("check the URL"), "{error}");
    let mut pair = pair.opened(None).await;
    let call = pair.call(method::TOOLS_CALL);
    pair.server.expect(method::TOOLS_CALL).await.status(404);
    let error = failure(call).await;
    assert!(error.contains("check the URL"), "{error}");
}

#[test]
fn an_invalid_message_is_rejected_before_it_is_sent() {
    let http = || HttpTransport::new(URL).unwrap();
    for (name, value, advice) in [
        ("mcp-session-id", "x", "set by the protocol"),
        ("Content-Type", "x", "set by the protocol"),
        ("last-event-id", "x", "set by the protocol"),
        ("x y", "x", "not a valid header name"),
        ("x", "secret\r\ny: z", "value of header x"),
        ("x", "secret\0", "value of header x"),
        ("x", "secret\u{e9}", "value of header x"),
    ] {
        let error = http().header(name, value).unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    for token in ["", "secret\n", "secret token", "secret\u{e9}"] {
        let error = http().bearer(token).unwrap_err().to_string();
        assert!(error.contains("bearer token"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn https_without_tls_names_the_feature() {
    use mcp_protocol::Transport;

    let http = HttpTransport::new("https://server.test/mcp").unwrap();
    let error = Box::new(http)
        .start(std::sync::Arc::new(ear().0))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("feature \"tls\" of mcp-transport-http"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_client_requests_no_compression_and_ignores_unknown_content_encodings() {
    let mut pair = Pair::open(quiet()).await;
    let headers = pair.headers_of(method::PING).await;
    assert_eq!(headers["accept-encoding"], "identity");
    for coding in ["", "identity", "Identity", "utf-8"] {
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        let body = json!({"jsonrpc": "2.0", "id": seen.id(), "result": {}}).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("content-encoding", coding),
        ];
        seen.respond(200, &headers, body);
        result(call).await;
    }
}
