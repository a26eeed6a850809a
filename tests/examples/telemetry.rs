//! A server, a client and a collector in one program: what OpenTelemetry records of a few calls.
//!
//! Run it with `cargo run --example telemetry`. The collector prints each span when it ends, and the
//! metrics at the end. In a program of yours, an exporter such as `opentelemetry-otlp` takes its
//! place; nothing else changes.

#![allow(clippy::print_stdout, reason = "the records are the point")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_client::serde_json::json;
use mcp_client::{Client, Revision};
use mcp_otel::Telemetry;
use mcp_server::{Args, Server, ServerBuilder, Tool};
use opentelemetry::global;
use opentelemetry::trace::{FutureExt as _, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{SdkMeterProvider, Temporality};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use schemars::JsonSchema;
use serde::Deserialize;

/// What to look up.
#[derive(Deserialize, JsonSchema)]
struct City {
    /// The name of the city.
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tracers = SdkTracerProvider::builder()
        .with_simple_exporter(Collector::default())
        .build();
    let meters = SdkMeterProvider::builder()
        .with_periodic_exporter(Collector::default())
        .build();
    global::set_tracer_provider(tracers);
    global::set_meter_provider(meters.clone());
    global::set_text_map_propagator(TraceContextPropagator::new());

    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        println!("revision {revision}");
        converse(revision).await?;
    }
    println!("metrics");
    meters.shutdown()?;
    Ok(())
}

fn server() -> ServerBuilder {
    let weather = Tool::new("weather", async |Args(city): Args<City>| {
        // A child of the span of the call.
        let span = global::tracer("weather-service").start("query the weather station");
        async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            format!("It rains in {}.", city.name)
        }
        .with_context(Context::current_with_span(span))
        .await
    });
    Server::builder("weather", "1.0.0")
        .tool(weather)
        .tool(Tool::new("broken", || Err::<(), _>("out of order")))
        .layer(Telemetry::new())
}

async fn converse(revision: Revision) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::builder("host", "1.0.0")
        .revision(revision)
        .layer(Telemetry::new())
        .connect(mcp_transport_stdio::in_memory(server()))
        .await?;
    let span = global::tracer("host").start("answer the user");
    let calls = async {
        client
            .call_tool("weather", json!({ "name": "Delft" }))
            .await?;
        client.call_tool("broken", json!({})).await?;
        // No metric contains the name of a tool that does not exist.
        let _ = client.call_tool("horoscope", json!({})).await;
        Ok::<_, mcp_client::Error>(())
    };
    calls.with_context(Context::current_with_span(span)).await?;
    client.close().await?;
    Ok(())
}

/// Prints what it collects.
#[derive(Debug, Default)]
struct Collector {
    /// The short names of the traces, in the order in which they were seen.
    traces: Mutex<Vec<opentelemetry::TraceId>>,
}

impl SpanExporter for Collector {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        for span in spans {
            let trace = span.span_context.trace_id();
            let mut traces = self.traces.lock().unwrap_or_else(|lock| lock.into_inner());
            let known = traces.iter().position(|known| *known == trace);
            let number = known.unwrap_or_else(|| {
                traces.push(trace);
                traces.len() - 1
            });
            let (kind, name) = (format!("{:?}", span.span_kind), &span.name);
            let took = span.end_time.duration_since(span.start_time);
            let took = took.unwrap_or_default().as_millis();
            println!(
                "  trace {number:<2} {kind:<8} {name:<26} {took:>3} ms  {}",
                text(&span.attributes)
            );
        }
        Ok(())
    }
}

impl PushMetricExporter for Collector {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let scopes = metrics.scope_metrics();
        scopes.flat_map(|scope| scope.metrics()).for_each(print);
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

fn print(metric: &Metric) {
    if let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() {
        for point in histogram.data_points() {
            let (name, count, sum) = (metric.name(), point.count(), point.sum());
            println!(
                "  {name:<30} {count:>2} in {sum:.3} s  {}",
                text(point.attributes())
            );
        }
    }
}

fn text<'a>(attributes: impl IntoIterator<Item = &'a KeyValue>) -> String {
    let attributes = attributes.into_iter();
    let sorted: BTreeMap<_, _> = attributes
        .map(|attribute| (attribute.key.as_str(), attribute.value.as_str()))
        .collect();
    let texts: Vec<String> = sorted
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    texts.join(" ")
}
