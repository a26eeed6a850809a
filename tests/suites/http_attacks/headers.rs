//! T25: headers with invalid contents.

use mcp_tests::tcp::RunningServer;

use super::{Witness, served};

/// Sends a request with this header value and returns the response.
async fn raw(served: &RunningServer, name: &str, value: &[u8]) -> Vec<u8> {
    let (_, session) = served.open().await;
    let request = match name {
        "last-event-id" => session.get(),
        _ => session.tool(1, "echo", "x"),
    };
    let mut conn = served.connect().await;
    conn.send(
        request
            .with(name, value)
            .with("connection", "close")
            .bytes(),
    )
    .await;
    conn.closed().await
}

// Each of the 256 byte values in each header of the protocol: rejected, and never echoed unescaped.
#[tokio::test]
async fn t25_no_byte_of_a_header_is_echoed_unescaped() {
    let witness = Witness::new();
    let served = served(&witness).await;
    for name in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
        for byte in 0..=u8::MAX {
            let value = [b"canary".as_slice(), &[byte], b"x-injected: 1"].concat();
            let said = raw(&served, name, &value).await;
            let text = String::from_utf8(said).expect("an answer in UTF-8");
            let shown = byte.escape_ascii();
            assert!(text.starts_with("HTTP/1.1 4"), "{name} {shown}: {text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(!head.contains("canary"), "{name} {shown}: {text}");
            assert!(!head.contains("x-injected"), "{name} {shown}: {text}");
            assert!(head.lines().skip(1).all(|line| line.contains(": ")));
            // Echoed text is escaped and on one line.
            assert!(!body.contains(char::is_control), "{name} {shown}: {text}");
        }
    }
    assert_eq!(witness.calls(), 0);
    let (mut conn, session) = served.open().await;
    assert_eq!(
        conn.ask(&session.tool(1, "echo", "well")).await.said(),
        "well"
    );
}

// A repeated header of the protocol is rejected.
#[tokio::test]
async fn t25_a_header_that_is_there_twice_is_refused() {
    let witness = Witness::new();
    let served = served(&witness).await;
    let (mut conn, session) = served.open().await;
    let (_, other) = served.open().await;
    let call = session.tool(1, "echo", "x");
    let stream = session.get().and("last-event-id", "1-1-0");
    for twice in [
        call.clone().and("mcp-session-id", session.id()),
        call.clone().and("mcp-session-id", other.id()),
        call.clone().and("Mcp-Session-Id", other.id()),
        call.clone().and("mcp-protocol-version", "2025-11-25"),
        call.clone().and("mcp-protocol-version", "2025-06-18"),
        stream.clone().and("last-event-id", "1-1-0"),
        stream,
    ] {
        assert_eq!(conn.ask(&twice).await.status, 400);
    }
    let both = call.with(
        "mcp-session-id",
        format!("{}, {}", session.id(), other.id()),
    );
    assert_eq!(conn.ask(&both).await.status, 404);
    assert_eq!(witness.calls(), 0);
}

// A head with more than a hundred headers, or with long values, is rejected.
#[tokio::test]
async fn t25_a_head_has_only_so_many_headers() {
    let served = served(&Witness::new()).await;
    let (mut conn, session) = served.open().await;
    let mut call = session.tool(1, "echo", "x");
    for n in 0..200 {
        call = call.and(&format!("x-{n}"), "y");
    }
    assert_eq!(conn.ask(&call).await.status, 431);
}
