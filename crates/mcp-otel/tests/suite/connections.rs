//! Sessions, and what is discarded.

use mcp_client::Revision;
use mcp_transport_stdio::{Pipe, serve_io};
use opentelemetry::trace::SpanKind;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{INITIALIZE, REVISIONS, Records, client, connect, server, texts};

#[tokio::test]
async fn a_session_is_measured_from_initialize_to_its_end() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        let opening = match revision.is_stateless() {
            true => "server/discover",
            false => "initialize",
        };
        for kind in [SpanKind::Client, SpanKind::Server] {
            let span = records.span(&kind, opening);
            let version = texts(&span.attributes).remove("mcp.protocol.version");
            if !revision.is_stateless() {
                assert_eq!(version.as_deref(), Some(revision.as_str()));
            }
        }
        for metric in ["mcp.client.session.duration", "mcp.server.session.duration"] {
            assert_eq!(records.points(metric), [], "{metric}");
        }
        client.close().await.unwrap();
        let sessions = u64::from(!revision.is_stateless());
        let version = [("mcp.protocol.version", revision.as_str())];
        for metric in ["mcp.client.session.duration", "mcp.server.session.duration"] {
            records
                .wait(|records| records.count(metric, &version) == sessions)
                .await;
            let points = records.points(metric);
            assert!(
                points
                    .iter()
                    .all(|(point, _)| !point.contains_key("error.type"))
            );
        }
    }
}

#[tokio::test]
async fn a_server_counts_messages_that_it_discards() {
    let records = Records::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let server = server(&records).layer(records.telemetry());
    let serving = tokio::spawn(serve_io(server, read, write));
    let (read, mut write) = tokio::io::split(ours);
    for line in [
        INITIALIZE,
        "not JSON",
        r#"{"jsonrpc":"2.0","id":2}"#,
        r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#,
    ] {
        write
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }
    let mut lines = BufReader::new(read).lines();
    while !lines
        .next_line()
        .await
        .unwrap()
        .unwrap()
        .contains("\"id\":4")
    {}
    let frames = "mcp.server.discarded.frames";
    for kind in ["syntax", "invalid", "batch"] {
        assert_eq!(records.count(frames, &[("error.type", kind)]), 1, "{kind}");
    }
    assert_eq!(records.count("mcp.server.discarded.responses", &[]), 2);
    drop((write, lines));
    serving.await.unwrap().unwrap();
    assert_eq!(records.count("mcp.server.session.duration", &[]), 1);
}

#[tokio::test]
async fn a_client_counts_messages_that_it_discards() {
    let records = Records::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(theirs);
        let mut lines = BufReader::new(read).lines();
        lines.next_line().await.unwrap().unwrap();
        let long = "x".repeat(10_000);
        for line in [
            "a line that some library printed",
            &long,
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        ] {
            write
                .write_all(format!("{line}\n").as_bytes())
                .await
                .unwrap();
        }
        while lines.next_line().await.unwrap().is_some() {}
    });
    let (read, write) = tokio::io::split(ours);
    let options = mcp_transport_stdio::StdioOptions::for_client().with_line_limit(4_096);
    let transport = Pipe::new(read, write).options(options);
    let builder = client()
        .revision(Revision::V2025_11_25)
        .layer(records.telemetry());
    let client = builder.connect(transport).await.unwrap();
    let frames = "mcp.client.discarded.frames";
    for kind in ["syntax", "too_long"] {
        assert_eq!(records.count(frames, &[("error.type", kind)]), 1, "{kind}");
    }
    assert_eq!(records.count("mcp.client.discarded.responses", &[]), 1);
    client.close().await.unwrap();
    assert_eq!(records.count("mcp.client.session.duration", &[]), 1);
    server.await.unwrap();
}
