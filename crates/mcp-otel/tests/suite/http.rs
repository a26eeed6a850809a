//! Over HTTP: the network, the session, and the context of the transport.

use std::net::SocketAddr;

use mcp_client::serde_json::json;
use mcp_transport_http::{Endpoint, HttpTransport, serve_with};
use opentelemetry::trace::{SpanKind, TraceId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{INITIALIZE, REVISIONS, Records, client, server, texts};

#[tokio::test]
async fn the_trace_context_of_http_headers_becomes_a_link() {
    for revision in REVISIONS {
        let records = Records::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = Endpoint::new(server(&records).layer(records.telemetry())).unwrap();
        let serving = tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let transport = HttpTransport::new(format!("http://{address}/mcp"))
            .unwrap()
            .header("traceparent", parent)
            .unwrap();
        let builder = client().revision(revision).layer(records.telemetry());
        let client = builder.connect(transport).await.unwrap();
        client.call_tool("later", json!({})).await.unwrap();
        let sent = records.span(&SpanKind::Client, "tools/call later");
        let served = records.span(&SpanKind::Server, "tools/call later");
        assert_eq!(
            served.parent_span_id,
            sent.span_context.span_id(),
            "{revision}"
        );
        let [link] = &served.links[..] else {
            panic!("{:?}", served.links);
        };
        let trace = TraceId::from_hex("0af7651916cd43dd8448eb211c80319c").unwrap();
        assert_eq!(link.span_context.trace_id(), trace, "{revision}");

        let (sent, served) = (texts(&sent.attributes), texts(&served.attributes));
        for attributes in [&sent, &served] {
            assert_eq!(attributes["network.transport"], "tcp");
            assert_eq!(attributes["network.protocol.name"], "http");
        }
        let ids = [&sent, &served].map(|attributes| attributes.get("jsonrpc.request.id"));
        assert!(ids[0].is_some() && ids[0] == ids[1], "{revision}: {ids:?}");
        assert_eq!(sent["server.address"], "127.0.0.1");
        assert_eq!(sent["server.port"], address.port().to_string());
        assert_eq!(served["client.address"], "127.0.0.1");
        assert_eq!(served["network.protocol.version"], "1.1");
        let has_session = served.contains_key("mcp.session.id");
        assert_eq!(has_session, !revision.is_stateless(), "{revision}");

        // A client without telemetry: the context of HTTP is the parent.
        records.take_spans();
        let transport = HttpTransport::new(format!("http://{address}/mcp"))
            .unwrap()
            .header("traceparent", parent)
            .unwrap();
        let plain = crate::support::client().revision(revision);
        let plain = plain.connect(transport).await.unwrap();
        plain.call_tool("now", json!({})).await.unwrap();
        let served = records.span(&SpanKind::Server, "tools/call now");
        assert_eq!(served.span_context.trace_id(), trace, "{revision}");
        assert!(served.links.is_empty());
        plain.close().await.unwrap();
        client.close().await.unwrap();
        let sessions = if revision.is_stateless() { 0 } else { 2 };
        let metric = "mcp.server.session.duration";
        records
            .wait(|records| records.count(metric, &[]) == sessions)
            .await;
        serving.abort();
    }
}

/// Sends a message to the server and returns the response.
async fn post(address: SocketAddr, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n\
         {headers}connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn a_server_counts_messages_that_it_discards() {
    let records = Records::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new(server(&records).layer(records.telemetry())).unwrap();
    let serving = tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let refused = post(address, "", "{x}").await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    let opened = post(address, "", INITIALIZE).await;
    let mut headers = opened.lines();
    let id = headers.find(|line| line.starts_with("mcp-session-id: "));
    let session = format!("{}\r\n", id.unwrap());
    let batch = r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#;
    let refused = post(address, &session, batch).await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    let late = r#"{"jsonrpc":"2.0","id":77,"result":{}}"#;
    let accepted = post(address, &session, late).await;
    assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
    let frames = "mcp.server.discarded.frames";
    for kind in ["syntax", "batch"] {
        assert_eq!(records.count(frames, &[("error.type", kind)]), 1, "{kind}");
    }
    assert_eq!(records.count("mcp.server.discarded.responses", &[]), 1);
    serving.abort();
}
