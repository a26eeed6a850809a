//! Metrics of a server, sent to an OpenTelemetry collector by OTLP over HTTP.
//!
//! ```sh
//! docker run -p 4318:4318 otel/opentelemetry-collector
//! cargo run --example otel_metrics -- 127.0.0.1:8000
//! mcp call http://127.0.0.1:8000/mcp add a=2 b=3
//! ```
//!
//! Every minute and at the end, the collector receives `mcp.server.operation.duration`: how many calls of each tool, and how long they
//! took. `OTEL_EXPORTER_OTLP_ENDPOINT` names another collector, and `OTEL_METRIC_EXPORT_INTERVAL` another interval in milliseconds.

use std::pin::Pin;
use std::time::Duration;

use mcp_otel::Telemetry;
use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use mcp_sdk::server::{Server, tool};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

/// Adds two numbers.
#[tool]
fn add(
    /** left */
    a: i64,
    /** right */
    b: i64,
) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let client = TokioClient {
        client: HyperClient::with_default_connector(Duration::from_secs(10), None),
        runtime: Handle::current(),
    };
    let exporter = MetricExporter::builder()
        .with_http()
        .with_http_client(client)
        .build()?;
    let meters = SdkMeterProvider::builder()
        .with_resource(Resource::builder().with_service_name("calculator").build())
        .with_periodic_exporter(exporter)
        .build();

    let server = Server::builder("calculator", "1.0.0")
        .tool(add::tool())
        .layer(Telemetry::new().with_meter_provider(&meters));
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    serve_with(listener, Endpoint::new(server)?, shutdown_signal()).await?;

    // Sends the rest. It waits for the thread of the exporter, which needs the runtime meanwhile.
    tokio::task::spawn_blocking(move || meters.shutdown()).await??;
    Ok(())
}

/// Sends on the runtime, because the exporter has a thread of its own. With the default features of `opentelemetry-otlp`, which
/// add the HTTP client `reqwest`, `with_http_client` and this type are not needed.
#[derive(Clone, Debug)]
struct TokioClient {
    client: HyperClient,
    runtime: Handle,
}

impl HttpClient for TokioClient {
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
