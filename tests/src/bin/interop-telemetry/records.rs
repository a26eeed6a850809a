//! The telemetry that reached the sink.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io::Read as _;
use std::pin::Pin;

use flate2::read::GzDecoder;
use http_body::Body as _;
use hyper::body::Incoming;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use crate::report::{Fault, ensure};

/// Maximum bytes of one request to the sink.
const MAX_BODY: usize = 16 << 20;

/// Attributes as text.
pub(crate) type Attributes = BTreeMap<String, String>;

/// Spans and metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) spans: Vec<Span>,
    pub(crate) points: Vec<Point>,
}

/// A span, with what the checks need of it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) service: String,
    pub(crate) name: String,
    pub(crate) kind: i32,
    pub(crate) trace: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) parent: Vec<u8>,
    pub(crate) attributes: Attributes,
    /// The code of the status; 0 is unset.
    pub(crate) status: i32,
}

/// A data point of a histogram.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) service: String,
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) attributes: Attributes,
    pub(crate) count: u64,
    pub(crate) bounds: Vec<f64>,
}

impl Records {
    pub(crate) fn add(&mut self, more: Self) {
        self.spans.extend(more.spans);
        self.points.extend(more.points);
    }
}

/// Reads the body of a request to the OTLP endpoint at `path`. Rotel compresses it, even if that is disabled.
pub(crate) async fn read(path: &str, is_gzip: bool, mut body: Incoming) -> Result<Records, Fault> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
            within_limit(path, &bytes)?;
        }
    }
    if is_gzip {
        let mut plain = Vec::new();
        let limit = MAX_BODY as u64 + 1;
        GzDecoder::new(&*bytes)
            .take(limit)
            .read_to_end(&mut plain)?;
        within_limit(path, &plain)?;
        bytes = plain;
    }
    let mut records = Records::default();
    match path {
        "/v1/traces" => {
            for group in ExportTraceServiceRequest::decode(&*bytes)?.resource_spans {
                let service = service(group.resource);
                for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                    records.spans.push(Span {
                        service: service.clone(),
                        name: span.name,
                        kind: span.kind,
                        trace: span.trace_id,
                        id: span.span_id,
                        parent: span.parent_span_id,
                        attributes: texts(span.attributes),
                        status: span.status.map_or(0, |status| status.code),
                    });
                }
            }
        }
        "/v1/metrics" => {
            for group in ExportMetricsServiceRequest::decode(&*bytes)?.resource_metrics {
                let service = service(group.resource);
                let scopes = group.scope_metrics.into_iter();
                let metrics = scopes.flat_map(|scope| scope.metrics);
                records
                    .points
                    .extend(metrics.flat_map(|metric| points(metric, &service)));
            }
        }
        path => return Err(format!("the collector sent something to {path}").into()),
    }
    Ok(records)
}

fn within_limit(path: &str, bytes: &[u8]) -> Result<(), Fault> {
    ensure(bytes.len() <= MAX_BODY, || {
        format!("{path} received more than {MAX_BODY} bytes")
    })
}

/// The points of a histogram.
fn points(metric: Metric, service: &str) -> Vec<Point> {
    let Some(Data::Histogram(histogram)) = metric.data else {
        return Vec::new();
    };
    let points = histogram.data_points.into_iter().map(|point| Point {
        service: service.to_owned(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        attributes: texts(point.attributes),
        count: point.count,
        bounds: point.explicit_bounds,
    });
    points.collect()
}

fn service(resource: Option<Resource>) -> String {
    let attributes = texts(resource.unwrap_or_default().attributes);
    attributes.get("service.name").cloned().unwrap_or_default()
}

fn texts(attributes: Vec<KeyValue>) -> Attributes {
    let text = |attribute: KeyValue| {
        let value = match attribute.value.and_then(|value| value.value)? {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            Value::BoolValue(flag) => flag.to_string(),
            other => format!("{other:?}"),
        };
        Some((attribute.key, value))
    };
    attributes.into_iter().filter_map(text).collect()
}
