//! Redirects.

use mcp_types::method;
use serde_json::json;

use crate::support::*;

fn to(seen: ReceivedRequest, status: u16, location: &str) {
    seen.respond(status, &[("location", location)], "");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_within_the_origin_keeps_the_message() {
    for status in [307, 308] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_CALL);
        let first = pair.server.expect(method::TOOLS_CALL).await;
        let body = first.body.clone();
        to(first, status, "/elsewhere/");
        let second = pair.server.next().await;
        assert_eq!(second.head.uri, "http://server.test/elsewhere/");
        assert_eq!(second.body, body);
        assert_eq!(second.header("mcp-session-id"), Some(SESSION));
        to(second, status, "http://SERVER.test:80/third?x=1");
        let third = pair.server.next().await;
        assert_eq!(third.head.uri.path_and_query().unwrap(), "/third?x=1");
        third.answer(&json!({}));
        result(call).await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_a_redirect_target_of_another_origin() {
    for location in [
        "https://server.test/mcp",
        "http://server.test:81/mcp",
        "http://evil.test/mcp?token=secret",
        "//evil.test/mcp",
    ] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_CALL);
        to(pair.server.expect(method::TOOLS_CALL).await, 307, location);
        let error = failure(call).await;
        assert!(error.contains("different origin"), "{error}");
        let named = location.trim_start_matches("//").split('?').next().unwrap();
        assert!(error.contains(named), "{error}");
        assert!(!error.contains("secret"), "{error}");
        pair.headers_of(method::PING).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_that_drops_the_message_is_an_error_that_names_the_target() {
    for status in [301, 302, 303] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_CALL);
        to(
            pair.server.expect(method::TOOLS_CALL).await,
            status,
            "/mcp/",
        );
        let error = failure(call).await;
        assert!(error.contains("http://server.test/mcp/"), "{error}");
        assert!(error.contains("connect to that URL"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_redirect_of_a_get_within_the_origin_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let mut pair = Pair::open(quiet_but_listening()).await;
        to(pair.server.expect_get().await, status, "/events");
        let seen = pair.server.expect_get().await;
        assert_eq!(seen.head.uri, "http://server.test/events");
        seen.stream();
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_loop_ends_with_an_error() {
    let mut pair = Pair::open(quiet().with_max_redirects(3)).await;
    let call = pair.call(method::TOOLS_CALL);
    for _ in 0..4 {
        to(pair.server.expect(method::TOOLS_CALL).await, 307, "?again");
    }
    let error = failure(call).await;
    assert!(error.contains("more than 3 times"), "{error}");
    assert!(
        error.contains("ClientOptions::with_max_redirects"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_an_invalid_url_is_an_error() {
    let mut pair = Pair::open(quiet()).await;
    for location in ["", "mailto:a@b", "http://", "/a b"] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        if location.is_empty() {
            seen.status(307);
            // An empty reference is the same URL.
            for _ in 0..5 {
                pair.server.expect(method::TOOLS_CALL).await.status(307);
            }
            failure(call).await;
            continue;
        }
        to(seen, 307, location);
        let error = failure(call).await;
        assert!(error.contains("not a URL"), "{error}");
    }
}
