//! Memory limits against hostile servers.

use mcp_types::method;
use serde_json::json;

use crate::support::*;

const LIMIT: usize = 100_000;
const SETTING: &str = "100000 bytes, the limit of ClientOptions::with_max_message_bytes";

async fn pair() -> Pair {
    Pair::open(quiet().with_max_message_bytes(LIMIT)).await
}

/// A response with exactly this many bytes.
fn answer(id: &serde_json::Value, bytes: usize) -> String {
    let empty = json!({"jsonrpc": "2.0", "id": id, "result": {"x": ""}}).to_string();
    let filler = "x".repeat(bytes - empty.len());
    json!({"jsonrpc": "2.0", "id": id, "result": {"x": filler}}).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_response_of_the_maximum_size_is_accepted_in_both_media_types() {
    for over in [0, 1] {
        let mut pair = pair().await;
        for json in [true, false] {
            let call = pair.call(method::TOOLS_CALL);
            let seen = pair.server.expect(method::TOOLS_CALL).await;
            let text = answer(&seen.id(), LIMIT + over);
            if json {
                seen.respond(200, &[("content-type", "application/json")], text);
            } else {
                let stream = seen.stream();
                stream.raw(format!("data: {text}\n\n")).await;
            }
            if over == 0 {
                result(call).await;
            } else {
                let error = failure(call).await;
                assert!(error.contains(SETTING), "{error}");
            }
        }
        pair.headers_of(method::PING).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_with_an_excessive_content_length_is_not_read() {
    let mut pair = pair().await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let length = (LIMIT + 1).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("content-length", &length),
    ];
    let stream = seen.stream_with(&headers);
    let error = failure(call).await;
    assert!(error.contains(SETTING), "{error}");
    stream.abandoned().await;
}

/// Writes until the client stops reading. Returns how much was accepted.
async fn flood(stream: Stream, piece: &[u8]) -> usize {
    let mut taken = 0;
    while stream.try_raw(piece.to_vec()).await {
        taken += piece.len();
        assert!(taken < 1 << 30, "the client reads without a limit");
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn excessive_responses_end_the_call_but_not_the_connection() {
    let json_type = [("content-type", "application/json")];
    let event_type = [("content-type", "text/event-stream")];
    // The content of the channel was not read.
    let queued = 65 * 10_000;
    for (headers, start) in [
        (json_type, "{\"jsonrpc\":\"2.0\",\"result\":\""),
        (event_type, "data: \""),
        (event_type, "id: "),
    ] {
        let mut pair = pair().await;
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let stream = seen.stream_with(&headers);
        stream.raw(start).await;
        let taken = flood(stream, &[b'x'; 10_000]).await;
        assert!(taken <= LIMIT + queued, "{taken}");
        let error = failure(call).await;
        assert!(
            error.contains("the limit of ClientOptions::with_"),
            "{error}"
        );
        pair.headers_of(method::PING).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_rejection_is_limited() {
    let mut pair = pair().await;
    for _ in 0..2 {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        // Of any size.
        seen.respond(500, &[], "x".repeat(10_000_000));
        let error = failure(call).await;
        assert!(error.len() < 1_000, "{error}");
    }
    pair.headers_of(method::PING).await;
}

#[tokio::test(start_paused = true)]
async fn endless_comments_use_no_memory() {
    let mut pair = pair().await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let id = seen.id();
    let stream = seen.stream();
    stream.raw(":").await;
    for _ in 0..1_000 {
        stream.raw(vec![b'x'; 10_000]).await;
    }
    stream.raw("\n\n").await;
    stream.answer("", &id, &json!({})).await;
    result(call).await;
}

#[tokio::test(start_paused = true)]
async fn an_oversized_event_is_not_requested_repeatedly() {
    let options = quiet_but_listening().with_max_message_bytes(1_000);
    let mut pair = Pair::open(options).await;
    let stream = pair.server.expect_get().await.stream();
    stream.raw("id: 1\ndata: {}\n\nid: 2\ndata: ").await;
    stream.raw(vec![b'x'; 2_000]).await;
    stream.abandoned().await;
    let again = pair.server.expect_get().await;
    assert_eq!(again.header("last-event-id"), None);
    let stream = again.stream();
    stream
        .event("3", &json!({"jsonrpc": "2.0", "method": "notifications/n"}))
        .await;
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Notification("notifications/n".into(), None)
    );
}

#[tokio::test(start_paused = true)]
async fn json_that_is_too_deep_is_malformed() {
    let mut pair = pair().await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let deep = "[".repeat(10_000);
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{deep}",
        seen.id()
    );
    seen.respond(200, &[("content-type", "application/json")], body);
    let error = failure(call).await;
    assert!(error.contains("malformed response"), "{error}");
}
