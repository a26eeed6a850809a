//! What the collector has passed on, compared with the conventions for MCP.

use mcp_client::Revision;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::conversation::{CLIENT, REFUSED, REVISIONS, SERVER};
use crate::records::{Point, Records, Span};
use crate::report::{Fault, Outcome, ensure, same, worked};

const TOOL: &str = "gen_ai.tool.name";

/// The sides of a request: service, kind of span, and the metric of its duration.
const SIDES: [(&str, SpanKind, &str); 2] = [
    (CLIENT, SpanKind::Client, "mcp.client.operation.duration"),
    (SERVER, SpanKind::Server, "mcp.server.operation.duration"),
];

/// Returns whether the last telemetry of both services has arrived.
pub(crate) fn is_complete(records: &Records) -> bool {
    let metrics = ["mcp.client.session.duration", "mcp.server.session.duration"];
    let asked = REVISIONS.iter().all(|revision| {
        SIDES
            .iter()
            .all(|(service, kind, _)| call(records, *revision, service, *kind, "ask").is_ok())
    });
    asked
        && metrics
            .iter()
            .all(|metric| records.points.iter().any(|point| point.metric == *metric))
}

/// The call of the handler, of the server and of the client are one trace.
pub(crate) fn spans(records: &Records) -> Outcome {
    for revision in REVISIONS {
        let [sent, served] = both(records, revision, "work")?;
        let work = records
            .spans
            .iter()
            .find(|span| span.name == "query" && span.parent == served.id);
        let work = work.ok_or("the span of the handler is not a child of that of the server")?;
        same("the name", &*sent.name, "tools/call work")?;
        same("the name at the server", &*served.name, "tools/call work")?;
        same("the parent at the server", &served.parent, &sent.id)?;
        ensure(sent.parent.is_empty(), || {
            format!("the client's span has a parent: {sent:?}")
        })?;
        for span in [served, work] {
            same("the trace", &span.trace, &sent.trace)?;
        }
    }
    worked(format!("{} spans", records.spans.len()))
}

/// Spans have the attributes of the conventions, and no error.
pub(crate) fn attributes(records: &Records) -> Outcome {
    for revision in REVISIONS {
        for span in both(records, revision, "work")? {
            let has = |key: &str, expected: Option<&str>| {
                let value = span.attributes.get(key).map(String::as_str);
                same(&format!("{key} of {}", span.service), value, expected)
            };
            has("mcp.method.name", Some("tools/call"))?;
            has("gen_ai.operation.name", Some("execute_tool"))?;
            has("network.transport", Some("tcp"))?;
            has("network.protocol.name", Some("http"))?;
            has("error.type", None)?;
            let address = if span.service == CLIENT {
                "server.address"
            } else {
                "client.address"
            };
            has(address, Some("127.0.0.1"))?;
            same("the status", span.status, StatusCode::Unset as i32)?;
            let id = span.attributes.get("jsonrpc.request.id");
            ensure(id.is_some(), || {
                format!("a span has no request id: {span:?}")
            })?;
            let has_session = span.attributes.contains_key("mcp.session.id");
            if span.service == SERVER {
                same("mcp.session.id", has_session, !revision.is_stateless())?;
            }
        }
    }
    worked("on both sides, at both revisions")
}

/// Failed calls have a status and a type.
pub(crate) fn errors(records: &Records) -> Outcome {
    let code = REFUSED.to_string();
    for revision in REVISIONS {
        for (tool, kind) in [("break", "tool_error"), ("refuse", &*code)] {
            for span in both(records, revision, tool)? {
                let error = span.attributes.get("error.type").map(String::as_str);
                same(&format!("error.type of {tool}"), error, Some(kind))?;
                same("the status", span.status, StatusCode::Error as i32)?;
            }
        }
    }
    worked("tool_error and a code")
}

/// A request of the server is a span of kind `CLIENT` in the trace of the call, and one of kind `SERVER` at the client. An
/// input request of the stateless revision has no `_meta` for the trace.
pub(crate) fn server_requests(records: &Records) -> Outcome {
    for revision in REVISIONS {
        let served = || calls(records, revision, SERVER, SpanKind::Server, "ask");
        for (service, kind) in [(SERVER, SpanKind::Client), (CLIENT, SpanKind::Server)] {
            let is_it = |span: &&Span| {
                let is_kind = span.service == service && span.kind == kind as i32;
                let is_untraced = service == CLIENT && revision.is_stateless();
                let is_called = || is_untraced || served().any(|call| call.trace == span.trace);
                is_kind && span.name == "elicitation/create" && is_called()
            };
            let found = records.spans.iter().any(|span| is_it(&span));
            ensure(found, || {
                format!("{service} has no elicitation in the trace of {revision}")
            })?;
        }
    }
    worked("elicitation/create")
}

/// Durations are histograms in seconds, with the buckets of the conventions.
pub(crate) fn metrics(records: &Records) -> Outcome {
    for (service, _, metric) in SIDES {
        for revision in REVISIONS {
            let is_it = |point: &&Point| {
                let has = |key, value| {
                    point
                        .attributes
                        .get(key)
                        .is_some_and(|known| known == value)
                };
                let is_call = has(TOOL, "work") && has("mcp.protocol.version", revision.as_str());
                point.service == service && point.metric == metric && is_call
            };
            let point = records.points.iter().find(is_it);
            let point = point.ok_or_else(|| format!("{metric} of {revision} did not arrive"))?;
            same("the unit", &*point.unit, "s")?;
            same("the count", point.count, 1)?;
            same("the number of bounds", point.bounds.len(), 14)?;
        }
        let session = metric.replace("operation", "session");
        let mut sessions = records.points.iter();
        let found = sessions.any(|point| point.metric == session && point.service == service);
        ensure(found, || format!("{session} did not arrive"))?;
    }
    worked(format!("{} data points", records.points.len()))
}

/// The spans of the only call of a tool, at the client and at the server.
fn both<'a>(records: &'a Records, revision: Revision, tool: &str) -> Result<[&'a Span; 2], Fault> {
    let [client, server] =
        SIDES.map(|(service, kind, _)| call(records, revision, service, kind, tool));
    Ok([client?, server?])
}

/// The last span of the calls of a tool on one side.
fn call<'a>(
    records: &'a Records,
    revision: Revision,
    service: &str,
    kind: SpanKind,
    tool: &str,
) -> Result<&'a Span, Fault> {
    let last = calls(records, revision, service, kind, tool).next_back();
    last.ok_or_else(|| format!("{service} has no span of {tool} at {revision}").into())
}

/// The spans of the calls of a tool on one side: a call with a round trip has two.
fn calls<'a>(
    records: &'a Records,
    revision: Revision,
    service: &str,
    kind: SpanKind,
    tool: &str,
) -> impl DoubleEndedIterator<Item = &'a Span> {
    records.spans.iter().filter(move |span| {
        let has = |key, value| span.attributes.get(key).is_some_and(|known| known == value);
        let is_side = span.service == service && span.kind == kind as i32;
        is_side && has(TOOL, tool) && has("mcp.protocol.version", revision.as_str())
    })
}
