//! Responses that cannot be read: none is left waiting, none is answered.

use crate::peer::{calling, client};
use crate::prelude::*;

fn strict() -> ClientBuilder {
    client().strictness(Strictness::Strict)
}

/// Calls a tool of a server that sends these lines, in which `ID` is the id of the call. Also returns
/// the client, and asserts that nothing was sent in return.
async fn called(builder: ClientBuilder, lines: &[u8]) -> (Result<CallToolResult, Error>, Client) {
    let (mut wire, client) = PipeEnd::with_tools(builder).await;
    let calling = calling(&client, "t");
    let request = wire.expect("tools/call").await;
    let id = request["id"].to_string();
    let mut line = Vec::new();
    let mut rest = lines;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"ID") {
        line.extend_from_slice(&rest[..at]);
        line.extend_from_slice(id.as_bytes());
        rest = &rest[at + 2..];
    }
    line.extend_from_slice(rest);
    wire.raw(line).await;
    let result = calling.await.unwrap();
    if result.as_ref().is_err_and(Error::is_timeout) {
        wire.expect("notifications/cancelled").await;
    }
    wire.silent().await;
    (result, client)
}

#[tokio::test(start_paused = true)]
async fn a_malformed_response_fails_its_call_with_the_cause() {
    for line in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":NaN}}"#,
        r#"{"jsonrpc":"2.0","result":{"content":[],"x":-Infinity},"id":ID}"#,
        r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"\x41"}]},"id":ID}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"a	b"},"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"cut"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}} {"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"value":{"content":[]}}"#,
    ] {
        for builder in [client(), strict()] {
            let (result, _client) = called(builder, line.as_bytes()).await;
            let error = result.unwrap_err();
            assert!(!error.is_timeout(), "{line}: {error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn text_that_is_not_unicode_is_replaced_in_a_result() {
    for (text, expected) in [
        (&b"caf\xe9"[..], "caf\u{fffd}"),
        (br"half \ud83d", "half \u{fffd}"),
        (br"\udc00 and \ud83d\ude00", "\u{fffd} and \u{1f600}"),
    ] {
        let head = br#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":""#;
        let line = [&head[..], text, br#""}]}}"#].concat();
        let (result, client) = called(client(), &line).await;
        assert_eq!(result.unwrap().joined_text(), expected);
        assert_eq!(client.tolerance().count(Deviation::InvalidText), 1);
        let (result, _client) = called(strict(), &line).await;
        result.unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_numeric_request_id_may_be_returned_as_text() {
    let line = br#"{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}"#;
    let (result, client) = called(client(), line).await;
    result.unwrap();
    assert_eq!(client.tolerance().count(Deviation::TextId), 1);
    let (result, _client) = called(strict(), line).await;
    assert!(result.unwrap_err().is_timeout());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_the_line_that_was_discarded() {
    let (result, _client) = called(client(), b"Traceback: {'id': ID}").await;
    let error = result.unwrap_err();
    assert!(error.is_timeout());
    let text = error.to_string();
    assert!(text.contains("could not be read was discarded"), "{text}");
    assert!(text.contains("Traceback"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_response_of_a_client_fails_the_server_request() {
    for line in [
        r#"{"jsonrpc":"2.0","result":{"roots":[NaN]},"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"roots":[{"uri":"\x"}]}}"#,
    ] {
        let server = crate::peer::counting_roots();
        let server = server.build().unwrap();
        let capabilities = json!({ "roots": {} });
        let mut wire = PipeEnd::open(server, "2025-11-25", capabilities).await;
        let id = wire.request("tools/call", json!({ "name": "ask" })).await;
        let asked = wire.expect("roots/list").await;
        wire.raw(line.replace("ID", &asked["id"].to_string())).await;
        let answer = wire.recv().await;
        assert_eq!(answer["id"], id, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn text_that_is_not_json_is_not_answered_although_it_has_an_id() {
    let (mut wire, _client) = PipeEnd::with_tools(client()).await;
    for line in [
        r#"{"id": 77, "level": oops"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{"a":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}{"jsonrpc":"2.0","id":78,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":77,"result":{}}]"#,
    ] {
        wire.raw(line).await;
        wire.silent().await;
    }
}
