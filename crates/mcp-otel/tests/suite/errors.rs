//! Calls that fail, cancelled calls, and invented names.

use std::future::IntoFuture as _;

use mcp_client::serde_json::json;
use mcp_client::types::JsonObject;
use mcp_server::Tool;
use opentelemetry::trace::{SpanKind, Status};

use crate::support::{REVISIONS, Records, client, connect, server, texts};

const CLIENT: &str = "mcp.client.operation.duration";
const SERVER: &str = "mcp.server.operation.duration";

#[tokio::test]
async fn errors_have_a_type_and_a_status() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        for (tool, error, code) in [
            ("bad", "tool_error", None),
            ("refused", "7", Some("7")),
            ("panics", "-32603", Some("-32603")),
        ] {
            records.take_spans();
            let _ = client.call_tool(tool, json!({})).await;
            for (kind, metric) in [(SpanKind::Client, CLIENT), (SpanKind::Server, SERVER)] {
                // The panic passes the middleware of the server before it becomes a response.
                let (error, code) = match (tool, &kind) {
                    ("panics", SpanKind::Server) => ("panic", None),
                    _ => (error, code),
                };
                let spans = records.spans();
                let span = spans
                    .iter()
                    .find(|span| span.span_kind == kind && span.name.starts_with("tools/call"));
                let span = span.expect(tool);
                let attributes = texts(&span.attributes);
                assert_eq!(attributes["error.type"], error, "{revision} {tool}");
                assert_eq!(attributes["gen_ai.tool.name"], tool);
                let found = attributes.get("rpc.response.status_code");
                assert_eq!(found.map(String::as_str), code, "{revision} {tool}");
                let description = match tool {
                    "refused" => "refused",
                    "panics" if code.is_some() => "the handler failed",
                    _ => "",
                };
                assert_eq!(span.status, Status::error(description), "{revision} {tool}");
                let expected = [("error.type", error), ("mcp.method.name", "tools/call")];
                assert_eq!(records.count(metric, &expected), 1, "{revision} {tool}");
            }
        }
        client.close().await.unwrap();
    }
}

/// A method that no server has.
struct Invented;

impl mcp_client::types::method::Request for Invented {
    const METHOD: &'static str = "com.example/invented";
    type Params = JsonObject;
    type Result = JsonObject;
}

/// A method of the server.
struct Known;

impl mcp_client::types::method::Request for Known {
    const METHOD: &'static str = "com.example/known";
    type Params = JsonObject;
    type Result = JsonObject;
}

#[tokio::test]
async fn invented_names_are_neither_in_metrics_nor_in_span_names() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        for number in 0..20 {
            let name = format!("invented-{number}");
            client
                .call_tool(name.as_str(), json!({}))
                .await
                .unwrap_err();
            client.get_prompt(name).await.unwrap_err();
        }
        for metric in [CLIENT, SERVER] {
            let tools = [("gen_ai.tool.name", "_other"), ("error.type", "-32602")];
            assert_eq!(records.count(metric, &tools), 20, "{revision}");
            let prompts = [("gen_ai.prompt.name", "_other")];
            assert_eq!(records.count(metric, &prompts), 20, "{revision}");
            let points = records.points(metric);
            assert!(points.len() <= 4, "{points:?}");
        }
        let spans = records.take_spans();
        assert!(spans.iter().all(|span| !span.name.contains("invented")));
        let names = spans.iter().filter_map(|span| {
            let attributes = texts(&span.attributes);
            attributes.get("gen_ai.tool.name").cloned()
        });
        assert_eq!(names.filter(|name| name == "invented-19").count(), 2);

        client
            .request::<Invented>(&JsonObject::new())
            .await
            .unwrap_err();
        client.request::<Known>(&JsonObject::new()).await.unwrap();
        // On the stateless revision, such a request is rejected before the middleware.
        if !revision.is_stateless() {
            let invented = records.span(&SpanKind::Server, "_other");
            let method = &texts(&invented.attributes)["mcp.method.name"];
            assert_eq!(method, "com.example/invented");
            let other = [("mcp.method.name", "_other"), ("error.type", "-32601")];
            assert_eq!(records.count(SERVER, &other), 1);
        }
        records.span(&SpanKind::Server, "com.example/known");
        // A client knows its own methods.
        records.span(&SpanKind::Client, "com.example/invented");
        let known = [("mcp.method.name", "com.example/known")];
        assert_eq!(records.count(SERVER, &known), 1);
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_number_of_names_in_metrics_is_limited() {
    let records = Records::new();
    let mut server = server(&records).layer(records.telemetry().with_max_names(3));
    for number in 0..6 {
        server = server.tool(Tool::new(format!("tool-{number}"), || "done"));
    }
    let client = connect(REVISIONS[1], server, client()).await;
    for number in 0..6 {
        let name = format!("tool-{number}");
        client.call_tool(name, json!({})).await.unwrap();
    }
    assert_eq!(records.count(SERVER, &[("gen_ai.tool.name", "tool-2")]), 1);
    assert_eq!(records.count(SERVER, &[("gen_ai.tool.name", "_other")]), 3);
    records.span(&SpanKind::Server, "tools/call tool-2");
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_cancelled_call_ends_its_spans() {
    for revision in REVISIONS {
        let records = Records::new();
        let (started, mut starts) = tokio::sync::mpsc::channel(1);
        let server = server(&records)
            .tool(Tool::new("hang", move || {
                started.try_send(()).unwrap();
                std::future::pending::<()>()
            }))
            .layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        let call = tokio::spawn(client.call_tool("hang", json!({})).into_future());
        starts.recv().await.unwrap();
        call.abort();
        call.await.unwrap_err();
        let cancelled = [("error.type", "cancelled"), ("gen_ai.tool.name", "_other")];
        records
            .wait(|records| records.count(SERVER, &cancelled) == 1)
            .await;
        assert_eq!(records.count(CLIENT, &cancelled), 1, "{revision}");
        for kind in [SpanKind::Client, SpanKind::Server] {
            let span = records.span(&kind, "tools/call");
            assert_eq!(texts(&span.attributes)["error.type"], "cancelled");
        }
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn calls_on_a_lost_connection_are_recorded_as_failed() {
    let records = Records::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let server = server(&records).tool(Tool::new("hang", std::future::pending::<()>));
    let serving = tokio::spawn(mcp_transport_stdio::serve_io(server, read, write));
    let (read, write) = tokio::io::split(ours);
    let builder = client().layer(records.telemetry());
    let client = builder
        .connect(mcp_transport_stdio::Pipe::new(read, write))
        .await
        .unwrap();
    let call = tokio::spawn(client.call_tool("hang", json!({})).into_future());
    tokio::task::yield_now().await;
    serving.abort();
    call.await.unwrap().unwrap_err();
    let closed = [("error.type", "connection_closed")];
    assert_eq!(records.count(CLIENT, &closed), 1);
}
