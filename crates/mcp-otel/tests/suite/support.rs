//! What was recorded, and a server to record.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_client::{Client, ClientBuilder, Revision};
use mcp_otel::Telemetry;
use mcp_server::types::JsonObject;
use mcp_server::{
    Args, Ctx, ErrorCode, ErrorObject, HandlerError, Prompt, Resource, Server, ServerBuilder,
    TaskMode, Tool,
};
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry::trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracer, SdkTracerProvider, SpanData};

pub(crate) const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// The request that opens a session.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// The attributes of a span or data point, as text.
pub(crate) type Attributes = BTreeMap<String, String>;

/// The attributes and value of each data point of a metric: a count or a sum.
pub(crate) type Points = Vec<(Attributes, u64)>;

/// The spans and metrics of a test.
pub(crate) struct Records {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Records {
    pub(crate) fn new() -> Self {
        let spans = InMemorySpanExporter::default();
        let metrics = InMemoryMetricExporter::default();
        Self {
            tracers: SdkTracerProvider::builder()
                .with_simple_exporter(spans.clone())
                .build(),
            meters: SdkMeterProvider::builder()
                .with_periodic_exporter(metrics.clone())
                .build(),
            spans,
            metrics,
        }
    }

    pub(crate) fn telemetry(&self) -> Telemetry {
        Telemetry::new()
            .with_tracer_provider(&self.tracers)
            .with_meter_provider(&self.meters)
            .with_propagator(TextMapCompositePropagator::new(vec![
                Box::new(TraceContextPropagator::new()),
                Box::new(BaggagePropagator::new()),
            ]))
    }

    pub(crate) fn tracer(&self) -> SdkTracer {
        self.tracers.tracer("test")
    }

    /// Returns the spans that have ended, and forgets them.
    pub(crate) fn take_spans(&self) -> Vec<SpanData> {
        let spans = self.spans();
        self.spans.reset();
        spans
    }

    /// Returns the spans that have ended.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.spans.get_finished_spans().unwrap()
    }

    /// Returns the only span of this kind with this name.
    pub(crate) fn span(&self, kind: &SpanKind, name: &str) -> SpanData {
        let spans = self.spans();
        let names: Vec<_> = spans
            .iter()
            .map(|span| (&span.span_kind, &span.name))
            .collect();
        let text = format!("{kind:?} {name}: {names:?}");
        let mut found = spans
            .iter()
            .filter(|span| span.span_kind == *kind && span.name == name);
        let span = found.next().cloned().expect(&text);
        assert_eq!(found.count(), 0, "{text}");
        span
    }

    pub(crate) fn points(&self, metric: &str) -> Points {
        self.metrics.reset();
        self.meters.force_flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let scopes = exported
            .iter()
            .flat_map(|resource| resource.scope_metrics());
        let mut points = Vec::new();
        for found in scopes.flat_map(|scope| scope.metrics()) {
            if found.name() != metric {
                continue;
            }
            match found.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    assert_eq!(found.unit(), "s");
                    for point in histogram.data_points() {
                        assert_eq!(point.bounds().count(), 14);
                        assert_eq!(point.bounds().last(), Some(300.0));
                        points.push((texts(point.attributes()), point.count()));
                    }
                }
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    let sums = sum.data_points();
                    points.extend(sums.map(|point| (texts(point.attributes()), point.value())));
                }
                other => panic!("{metric}: {other:?}"),
            }
        }
        points
    }

    /// Returns how often an operation with these attributes was measured.
    pub(crate) fn count(&self, metric: &str, expected: &[(&str, &str)]) -> u64 {
        let fits = |attributes: &Attributes| {
            expected
                .iter()
                .all(|(key, value)| attributes.get(*key).map(String::as_str) == Some(value))
        };
        let points = self.points(metric);
        points
            .iter()
            .filter(|(attributes, _)| fits(attributes))
            .map(|(_, count)| count)
            .sum()
    }

    /// Waits for the tasks of the transport.
    pub(crate) async fn wait(&self, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn texts<'a>(attributes: impl IntoIterator<Item = &'a KeyValue>) -> Attributes {
    let text = |attribute: &KeyValue| (attribute.key.to_string(), attribute.value.to_string());
    attributes.into_iter().map(text).collect()
}

/// Starts a span in the context of the handler; its name has the baggage.
fn work(tracer: &SdkTracer) -> String {
    let context = Context::current();
    let user = context.baggage().get("user").map(ToString::to_string);
    let name = user.map_or_else(
        || "work without baggage".to_owned(),
        |user| format!("work of {user}"),
    );
    drop(tracer.start(name));
    context.span().span_context().span_id().to_string()
}

/// A server whose handlers start spans.
pub(crate) fn server(records: &Records) -> ServerBuilder {
    let tracer = Arc::new(records.tracer());
    let tracers = || Arc::clone(&tracer);
    let (now, later, blocked, job) = (tracers(), tracers(), tracers(), tracers());
    Server::builder("s", "1")
        .tool(Tool::new("now", move |_: Args<JsonObject>| work(&now)))
        .tool(Tool::new("later", move || {
            let tracer = Arc::clone(&later);
            async move {
                tokio::task::yield_now().await;
                work(&tracer)
            }
        }))
        .tool(Tool::new("blocked", move || work(&blocked)).blocking())
        .tool(
            Tool::new("job", move || {
                let tracer = Arc::clone(&job);
                async move {
                    tokio::task::yield_now().await;
                    work(&tracer)
                }
            })
            .task(TaskMode::Optional),
        )
        .tool(Tool::new("bad", || Err::<(), _>("bad")))
        .tool(Tool::new("refused", || {
            Err::<(), _>(ErrorObject::new(ErrorCode(7), "refused"))
        }))
        .tool(Tool::new("panics", || -> String { panic!("a bug") }))
        .tool(Tool::new("ask", async |cx: Ctx| {
            cx.elicit_url("Sign", "https://example.com").await?;
            Ok::<_, HandlerError>("signed")
        }))
        .prompt(Prompt::new("greet", || "hello"))
        .resource(Resource::text("data://x", "x", "x"))
        .method("com.example/known", || ())
}

pub(crate) async fn connect(
    revision: Revision,
    server: ServerBuilder,
    builder: ClientBuilder,
) -> Client {
    let transport = mcp_transport_stdio::in_memory(server);
    let client = builder.revision(revision).connect(transport).await.unwrap();
    assert_eq!(client.revision(), revision);
    client
}

pub(crate) fn client() -> ClientBuilder {
    Client::builder("c", "1")
}
