//! Calls that succeed: one trace, attributes, content, tasks.

use std::time::Duration;

use mcp_client::serde_json::json;
use mcp_client::types::JsonObject;
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{FutureExt as _, SpanId, SpanKind, Status};
use opentelemetry::{Context, KeyValue};

use crate::support::{REVISIONS, Records, client, connect, server, texts};

#[tokio::test]
async fn a_call_is_one_trace_from_the_client_to_the_handler() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        for tool in ["now", "later", "blocked"] {
            records.take_spans();
            let context = Context::current_with_baggage([KeyValue::new("user", "ada")]);
            let call = async { client.call_tool(tool, json!({})).await };
            let result = call.with_context(context).await.unwrap();
            let name = format!("tools/call {tool}");
            let sent = records.span(&SpanKind::Client, &name);
            let served = records.span(&SpanKind::Server, &name);
            let work = records.span(&SpanKind::Internal, "work of ada");
            assert_eq!(sent.parent_span_id, SpanId::INVALID, "{revision} {tool}");
            assert_eq!(
                served.parent_span_id,
                sent.span_context.span_id(),
                "{revision} {tool}"
            );
            assert!(served.parent_span_is_remote && served.links.is_empty());
            assert_eq!(
                work.parent_span_id,
                served.span_context.span_id(),
                "{revision} {tool}"
            );
            assert_eq!(work.span_context.trace_id(), sent.span_context.trace_id());
            assert_eq!(
                result.joined_text(),
                served.span_context.span_id().to_string()
            );
        }
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn spans_and_metrics_have_the_attributes_of_the_conventions() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let client = connect(revision, server, client().layer(records.telemetry())).await;
        client
            .call_tool("now", json!({ "secret": 1 }))
            .await
            .unwrap();
        for kind in [SpanKind::Client, SpanKind::Server] {
            let span = records.span(&kind, "tools/call now");
            let mut attributes = texts(&span.attributes);
            let id = attributes.remove("jsonrpc.request.id").unwrap();
            assert!(id.parse::<u32>().is_ok_and(|id| id > 0), "{id}");
            let mut expected = texts(&[
                KeyValue::new("mcp.method.name", "tools/call"),
                KeyValue::new("gen_ai.tool.name", "now"),
                KeyValue::new("gen_ai.operation.name", "execute_tool"),
                KeyValue::new("mcp.protocol.version", revision.as_str()),
                KeyValue::new("network.transport", "pipe"),
            ]);
            assert_eq!(attributes, expected, "{revision} {kind:?}");
            assert_eq!(span.status, Status::Unset);
            let metric = match kind {
                SpanKind::Client => "mcp.client.operation.duration",
                _ => "mcp.server.operation.duration",
            };
            let points = records.points(metric);
            let is_call = |(attributes, _): &&(_, u64)| attributes == &expected;
            assert_eq!(
                points.iter().find(is_call).map(|(_, count)| *count),
                Some(1),
                "{points:?}"
            );
            expected.clear();
        }

        records.take_spans();
        client.get_prompt("greet").await.unwrap();
        client.read_resource("data://x").await.unwrap();
        client.list_tools().await.unwrap();
        for kind in [SpanKind::Client, SpanKind::Server] {
            let prompt = texts(&records.span(&kind, "prompts/get greet").attributes);
            assert_eq!(prompt["gen_ai.prompt.name"], "greet");
            let resource = texts(&records.span(&kind, "resources/read").attributes);
            assert_eq!(resource["mcp.resource.uri"], "data://x");
            records.span(&kind, "tools/list");
        }
        let reads = [("mcp.method.name", "resources/read")];
        let points = records.points("mcp.server.operation.duration");
        assert!(
            points
                .iter()
                .all(|(point, _)| !point.contains_key("mcp.resource.uri"))
        );
        assert_eq!(records.count("mcp.server.operation.duration", &reads), 1);
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn arguments_and_results_are_recorded_on_request() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry().with_content());
        let builder = client().layer(records.telemetry().with_content());
        let client = connect(revision, server, builder).await;
        client.call_tool("now", json!({ "n": 1.50 })).await.unwrap();
        for kind in [SpanKind::Client, SpanKind::Server] {
            let attributes = texts(&records.span(&kind, "tools/call now").attributes);
            assert_eq!(attributes["gen_ai.tool.call.arguments"], r#"{"n":1.5}"#);
            let result = &attributes["gen_ai.tool.call.result"];
            assert!(
                result.starts_with('{') && result.contains("content"),
                "{result}"
            );
        }
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_handler_of_a_task_runs_in_the_trace_of_its_call() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let builder = client().task_calls().layer(records.telemetry());
        let client = connect(revision, server, builder).await;
        let call = client.call_tool("job", json!({}));
        call.as_task(Duration::from_secs(60)).await.unwrap();
        let served = records.span(&SpanKind::Server, "tools/call job");
        assert_eq!(served.status, Status::Unset);
        let work = records.span(&SpanKind::Internal, "work without baggage");
        assert_eq!(
            work.span_context.trace_id(),
            served.span_context.trace_id(),
            "{revision}"
        );
        let polls = records.count("mcp.server.operation.duration", &[]);
        assert!(polls > 2, "{revision}: {polls}");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_request_is_a_client_span_below_the_span_of_its_call() {
    for revision in REVISIONS {
        let records = Records::new();
        let server = server(&records).layer(records.telemetry());
        let builder = client()
            .on_elicit_url(async |form| form.accept())
            .layer(records.telemetry());
        let client = connect(revision, server, builder).await;
        let result = client.call_tool("ask", json!({})).await.unwrap();
        assert_eq!(result.joined_text(), "signed", "{revision}");
        let sent = records.span(&SpanKind::Client, "elicitation/create");
        let served = records.span(&SpanKind::Server, "elicitation/create");
        assert_eq!(
            (&sent.status, &served.status),
            (&Status::Unset, &Status::Unset)
        );
        let method = [("mcp.method.name", "elicitation/create")];
        assert_eq!(records.count("mcp.server.operation.duration", &method), 1);
        let measured = records.count("mcp.client.operation.duration", &method);
        // On the stateless revision the response comes with the next call.
        assert_eq!(measured, u64::from(!revision.is_stateless()), "{revision}");
        if !revision.is_stateless() {
            assert_eq!(served.parent_span_id, sent.span_context.span_id());
        }
        client.close().await.unwrap();
    }
}

/// A notification of the client.
struct Tick;

impl mcp_client::types::method::Notification for Tick {
    const METHOD: &'static str = "com.example/tick";
    type Params = JsonObject;
}

#[tokio::test]
async fn notifications_are_recorded_only_if_enabled() {
    for revision in REVISIONS {
        for is_recorded in [false, true] {
            let records = Records::new();
            let telemetry = || match is_recorded {
                true => records.telemetry().with_notifications(),
                false => records.telemetry(),
            };
            let server = server(&records)
                .on_notification("com.example/tick", || {})
                .layer(telemetry());
            let client = connect(revision, server, client().layer(telemetry())).await;
            client.notify::<Tick>(&JsonObject::new()).unwrap();
            client.call_tool("now", json!({})).await.unwrap();
            if is_recorded {
                let sent = records.span(&SpanKind::Client, "com.example/tick");
                // The server cannot know that the client did not invent the method.
                let served = records.span(&SpanKind::Server, "_other");
                assert_eq!(
                    served.parent_span_id,
                    sent.span_context.span_id(),
                    "{revision}"
                );
                let custom = &texts(&served.attributes)["mcp.method.name"];
                assert_eq!(custom, "com.example/tick");
            } else {
                let spans = records.take_spans();
                assert!(
                    !spans.iter().any(|span| span.name.contains("tick")),
                    "{spans:?}"
                );
            }
            client.close().await.unwrap();
        }
    }
}
