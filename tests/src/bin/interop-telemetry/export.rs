//! The OpenTelemetry SDK of one program, which exports to the collector.

use std::pin::Pin;
use std::time::Duration;

use mcp_otel::Telemetry;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::report::Fault;

/// The time limit of one export.
const LIMIT: Duration = Duration::from_secs(20);

/// The providers of a program.
#[derive(Clone, Debug)]
pub(crate) struct Providers {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Providers {
    /// Exports to the collector at `url` as the service `name`.
    pub(crate) fn new(url: &str, name: &'static str) -> Result<Self, Fault> {
        let client = RuntimeClient {
            client: HyperClient::with_default_connector(LIMIT, None),
            runtime: Handle::current(),
        };
        let resource = Resource::builder().with_service_name(name).build();
        let spans = SpanExporter::builder().with_http();
        let spans = spans
            .with_http_client(client.clone())
            .with_endpoint(format!("{url}/v1/traces"));
        let metrics = MetricExporter::builder().with_http();
        let metrics = metrics
            .with_http_client(client)
            .with_endpoint(format!("{url}/v1/metrics"));
        Ok(Self {
            tracers: SdkTracerProvider::builder()
                .with_resource(resource.clone())
                .with_batch_exporter(spans.build()?)
                .build(),
            meters: SdkMeterProvider::builder()
                .with_resource(resource)
                .with_periodic_exporter(metrics.build()?)
                .build(),
        })
    }

    /// The middleware of the program.
    pub(crate) fn telemetry(&self) -> Telemetry {
        Telemetry::new()
            .with_tracer_provider(&self.tracers)
            .with_meter_provider(&self.meters)
            .with_propagator(TraceContextPropagator::new())
    }

    /// A tracer for spans of the program itself.
    pub(crate) fn tracer(&self) -> SdkTracer {
        self.tracers.tracer("interop")
    }

    /// Exports everything that was recorded, and ends.
    pub(crate) async fn shut_down(self) -> Result<(), Fault> {
        // Both wait for their threads.
        let done = tokio::task::spawn_blocking(move || {
            self.tracers.shutdown()?;
            self.meters.shutdown()
        });
        Ok(done.await??)
    }
}

/// An HTTP client that sends on the runtime: the SDK exports on threads of its own.
#[derive(Clone, Debug)]
struct RuntimeClient {
    client: HyperClient,
    runtime: Handle,
}

impl HttpClient for RuntimeClient {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let client = self.client.clone();
        let sent = self
            .runtime
            .spawn(async move { client.send_bytes(request).await });
        Box::pin(async move { sent.await? })
    }
}
