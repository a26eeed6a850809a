//! T10, T12 to T15: bodies that are expensive to parse or ambiguous.

use mcp_tests::http::Peer;

use super::{Gate, server};
use crate::prelude::*;

async fn open(gate: &Gate) -> Peer {
    let endpoint = Endpoint::new(server(gate)).unwrap();
    Peer::open_as(&endpoint, "2025-11-25", json!({})).await
}

/// Returns the one error for this body.
async fn error(peer: &Peer, body: impl Into<Bytes>) -> Value {
    let reply = peer.send(Method::POST, body).await;
    assert_eq!(reply.status, 400);
    reply.json().await["error"].clone()
}

// Megabytes of nesting, as body and as arguments, are rejected on a stack of 256 KiB.
#[test]
fn t10_deep_nesting_is_refused_on_a_small_stack() {
    let nested = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let gate = Gate::new();
            let peer = open(&gate).await;
            for piece in ["[", "{\"a\":"] {
                let deep = piece.repeat((4 << 20) / piece.len());
                assert_eq!(error(&peer, deep.clone()).await["code"], -32600);
                let arguments = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
                     {{\"name\":\"echo\",\"arguments\":{{\"message\":{}",
                    &deep[..3 << 20]
                );
                assert_eq!(error(&peer, arguments).await["code"], -32600);
            }
            assert_eq!(gate.calls(), 0);
        });
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread.spawn(nested).unwrap().join().unwrap();
}

// Ids are strings or integers and are returned exactly; everything else is rejected before a
// handler runs.
#[tokio::test]
async fn t12_an_id_is_echoed_exactly_or_refused() {
    let gate = Gate::new();
    let peer = open(&gate).await;
    let call = |id: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":\
             {{\"name\":\"echo\",\"arguments\":{{\"message\":\"x\"}}}}}}"
        )
    };
    let longest = format!("\"{}\"", "i".repeat(1_024));
    for id in [
        "0",
        "1",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "\"\"",
        "\"7\"",
        "\" \"",
        "\"null\"",
        "\"\u{e9}\u{1f600}\"",
        "\"a\\\"b\\\\c\"",
        &longest,
    ] {
        let reply = peer.send(Method::POST, call(id)).await;
        assert_eq!(reply.status, 200, "{id}");
        let text = reply.text().await;
        assert!(text.contains(&format!("\"id\":{id},")), "{id}: {text}");
    }
    let calls = gate.calls();
    assert_eq!(calls, 13);
    let too_long = format!("\"{}\"", "i".repeat(1_025));
    for (id, code) in [
        ("1.0", -32600),
        ("1.5", -32600),
        ("1e2", -32600),
        ("1e400", -32600),
        ("-0", -32600),
        ("-0.0", -32600),
        ("9223372036854775808", -32600),
        ("-9223372036854775809", -32600),
        ("123456789012345678901234567890", -32600),
        ("null", -32600),
        ("true", -32600),
        ("false", -32600),
        ("[]", -32600),
        ("[1]", -32600),
        ("{}", -32600),
        ("{\"id\":1}", -32600),
        (&too_long, -32600),
        ("01", -32700),
        ("+1", -32700),
        ("0x1", -32700),
        ("NaN", -32700),
        ("'1'", -32700),
        ("1,\"id\":1", -32600),
        ("1,\"id\":2", -32600),
    ] {
        let error = error(&peer, call(id)).await;
        assert_eq!(error["code"], code, "{id}: {error}");
    }
    assert_eq!(gate.calls(), calls);
}

// A key that another parser might accept is not accepted, and a repeated key is an error: in no
// reading do these bodies run the handler.
#[tokio::test]
async fn t13_member_names_are_compared_exactly() {
    let gate = Gate::new();
    let peer = open(&gate).await;
    let call = r#"{"name":"echo","arguments":{"message":"x"}}"#;
    let other = r#"{"name":"wait","arguments":{"message":"x"}}"#;
    let bodies = [
        // Other case and padding: unknown members, so the method is missing.
        r#"{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"metho\u0064\u0000":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"methoſ":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"method ":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1," method":"tools/call","params":CALL}"#,
        r#"{"JSONRPC":"2.0","id":1,"method":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"tools/call","params":CALL}"#,
        r#"{"id":1,"method":"tools/call","params":CALL}"#,
        // Repeated.
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":CALL,"params":OTHER}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":OTHER,"params":CALL}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":CALL}"#,
        // Repeated, once with an escape.
        r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"ping","method":"tools/call","params":CALL}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","\u0070arams":OTHER,"params":CALL}"#,
        // Two messages, or trailing data.
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":CALL}{}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":CALL} x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":CALL,"result":{}}"#,
        // Params that are not an object.
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo",{"message":"x"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"echo"}"#,
    ];
    for body in bodies {
        let body = body.replace("CALL", call).replace("OTHER", other);
        let reply = peer.send(Method::POST, body.clone()).await;
        let status = reply.status;
        let answer = reply.json().await;
        assert!(
            answer["error"]["code"].is_i64(),
            "{status} {body}: {answer}"
        );
    }
    // Keys inside a message follow the same rules.
    let twice = [
        r#"{"name":"echo","name":"wait","arguments":{"message":"x"}}"#,
        r#"{"name":"wait","arguments":{"message":"x"},"name":"echo"}"#,
        r#"{"Name":"echo","arguments":{"message":"x"}}"#,
        r#"{"name":"echo","Arguments":{"message":"x"}}"#,
        r#"{"name":"echo","arguments":{"Message":"x"}}"#,
        r#"{"name":"echo","arguments":{"message":"x","message":"y"}}"#,
    ];
    for params in twice {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let answer = peer.send(Method::POST, body).await.json().await;
        let fails = answer["error"]["code"].is_i64() || answer["result"]["isError"] == true;
        assert!(fails, "{params}: {answer}");
    }
    assert_eq!(gate.calls(), 0);
}

// A million tiny requests in one body are one error and none of them runs, also in a revision with
// batches.
#[tokio::test]
async fn t14_a_million_requests_in_one_body_are_one_error() {
    let gate = Gate::new();
    let endpoint = Endpoint::new(server(&gate)).unwrap();
    let mut bodies = vec![format!("[{}0]", "0,".repeat(1_000_000))];
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}},"#;
    let call = call.repeat((4 << 20) / call.len());
    bodies.push(format!("[{}]", call.trim_end_matches(',')));
    for revision in ["2025-11-25", "2025-03-26"] {
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        for body in &bodies {
            let start = std::time::Instant::now();
            assert_eq!(error(&peer, body.clone()).await["code"], -32600);
            let took = start.elapsed();
            // Work for each request would take longer, even without another program on the machine.
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
    }
    assert_eq!(gate.calls(), 0);
}

// Invalid UTF-8 costs only its request: the next call of the session gets its response.
#[tokio::test]
async fn t15_invalid_text_fails_only_its_request() {
    let gate = Gate::new();
    let peer = open(&gate).await;
    let call = tool_text("MARK");
    let marked = |with: &[u8]| {
        let (before, after) = call.split_once("MARK").unwrap();
        [before.as_bytes(), with, after.as_bytes()].concat()
    };
    let frames = [
        marked(b"\xff\xfe"),
        marked(b"\xc0\xaf"),
        marked(b"\xed\xa0\x80"),
        marked(b"\xf4\x90\x80\x80"),
        marked(b"\xe2\x82"),
        marked(b"\n"),
        marked(b"\x00"),
        [b"\xff\xfe".as_slice(), call.as_bytes()].concat(),
        [b"\xef\xbb\xbf".as_slice(), call.as_bytes()].concat(),
        call.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        b"\0".repeat(1_000),
        Vec::new(),
    ];
    for (at, frame) in frames.into_iter().enumerate() {
        let error = error(&peer, frame.clone()).await;
        assert_eq!(error["code"], -32700, "{}: {error}", frame.escape_ascii());
        assert_eq!(gate.calls(), at);
        let reply = peer.tool(1, "echo", json!({"message": "well"})).await;
        assert_eq!(reply.status, 200);
    }
    // A lone surrogate cannot be written as text: it is rejected where it becomes a string.
    let calls = gate.calls();
    let answer = peer
        .send(Method::POST, marked(b"\\ud800"))
        .await
        .json()
        .await;
    let fails = answer["error"]["code"].is_i64() || answer["result"]["isError"] == true;
    assert!(fails, "{answer}");
    assert_eq!(gate.calls(), calls);
}

fn tool_text(message: &str) -> String {
    mcp_tests::tcp::tool(1, "echo", message)
}
