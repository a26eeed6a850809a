//! Secrets are not printed.

use std::time::Duration;

use mcp_transport_http::HttpTransport;
use mcp_types::method;
use serde_json::json;

use crate::log::log;
use crate::support::*;

const SECRETS: [&str; 6] = [
    // The other tests use the same session id and log.
    SESSION,
    "canary-session",
    "canary-token",
    "canary-header",
    "canary-query",
    "canary-next",
];

fn check(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

// proves: HTTP-054
#[tokio::test(start_paused = true)]
async fn secrets_are_in_no_log_no_error_and_no_url() {
    let (wire, server) = wire();
    let http = HttpTransport::new("http://server.test/mcp?key=canary-query").unwrap();
    let http = http
        .bearer("canary-token")
        .unwrap()
        .header("x-key", "canary-header")
        .unwrap();
    let http = http.service(wire).options(quiet_but_listening());
    check("transport", &format!("{http:?}"));
    let pair = Pair::with(http, server, ear()).await;
    let mut pair = pair.opened(Some("canary-session")).await;
    check(
        "connection",
        &format!("{:?} {:?}", pair.connection, pair.link),
    );
    let listening = pair.server.expect_get().await;
    assert_eq!(
        listening.head.uri,
        "http://server.test/mcp?key=canary-query"
    );
    assert_eq!(listening.header("referer"), None);
    // The `Debug` output of a request does not contain secrets, for example in a custom HTTP
    // client.
    check("headers", &format!("{:?}", listening.head.headers));
    // The server may repeat secrets in its responses.
    let quote = format!("what is {}?", SECRETS[1..5].join(" or "));
    listening.respond(500, &[("www-authenticate", &quote)], quote.clone());

    for status in [400, 401, 500] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        assert!(!seen.head.uri.to_string().contains("canary-session"));
        let error = json!({"code": -32000, "message": "no session canary-session"});
        seen.json_body(status, &json!({"jsonrpc": "2.0", "error": error}));
        check("error", &failure(call).await);
    }
    for lose in [ReceivedRequest::refuse, drop] {
        let call = pair.call(method::TOOLS_CALL);
        loop {
            let seen = pair.server.next().await;
            if seen.head.method == http::Method::GET {
                seen.stream();
                continue;
            }
            lose(seen);
            break;
        }
        check("error", &failure(call).await);
    }
    pair.notify("notifications/refused");
    let call = pair.call(method::PING);
    let mut forgotten = false;
    loop {
        let seen = pair.server.next().await;
        if seen.head.method == http::Method::GET {
            seen.stream();
            continue;
        }
        match seen.json()["method"].as_str().unwrap() {
            "notifications/refused" => seen.respond(400, &[], quote.clone()),
            method::PING if !forgotten => {
                forgotten = true;
                seen.status(404);
            }
            method::PING => break seen.answer(&json!({})),
            method::INITIALIZE => seen.open(Some("canary-next"), "2025-11-25"),
            _ => seen.accept(),
        }
    }
    result(call).await;
    drop(pair.connection);
    while pair.server.next().await.head.method != http::Method::DELETE {}
    tokio::time::sleep(Duration::from_secs(60)).await;
    let log = log();
    assert!(log.contains("what is [secret] or [secret]"), "{log}");
    check("log", &log);
}
