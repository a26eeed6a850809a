//! A client calls a server over HTTP, with a session and without one.

use mcp_client::{Client, Revision};
use mcp_server::{Ctx, ErrorCode, ErrorObject, HandlerError, Server, Tool};
use mcp_tests::tcp::RunningServer;
use mcp_transport_http::{HttpTransport, ServerOptions};
use opentelemetry::trace::Tracer as _;
use serde_json::json;

use crate::export::Providers;
use crate::report::{Fault, same};

/// The names of the two services.
pub(crate) const CLIENT: &str = "interop-client";
pub(crate) const SERVER: &str = "interop-server";

/// The revisions of the two clients.
pub(crate) const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// The code of the error of the tool `refuse`.
pub(crate) const REFUSED: i64 = 7;

/// Makes all calls, and exports to the collector at `collector` what both sides record.
pub(crate) async fn hold(collector: &str) -> Result<(), Fault> {
    let [host, service] = [
        Providers::new(collector, CLIENT)?,
        Providers::new(collector, SERVER)?,
    ];
    let tracer = service.tracer();
    let server = Server::builder("interop", "1.0.0")
        .tool(Tool::new("work", move || {
            drop(tracer.start("query"));
            "done"
        }))
        .tool(Tool::new("break", || Err::<(), _>("broken")))
        .tool(Tool::new("refuse", || {
            Err::<(), _>(ErrorObject::new(ErrorCode(REFUSED), "refused"))
        }))
        .tool(Tool::new("ask", async |cx: Ctx| {
            cx.elicit_url("Sign", "https://example.com").await?;
            Ok::<_, HandlerError>("signed")
        }))
        .layer(service.telemetry());
    let server = RunningServer::start(server, ServerOptions::default()).await;
    for revision in REVISIONS {
        let client = Client::builder("interop", "1.0.0")
            .revision(revision)
            .on_elicit_url(async |form| form.accept())
            .layer(host.telemetry())
            .connect(HttpTransport::new(format!(
                "http://{}/mcp",
                server.address
            ))?)
            .await?;
        same("the revision", client.revision(), revision)?;
        client.call_tool("work", json!({})).await?;
        client.call_tool("break", json!({})).await?;
        // The error is what the span shows.
        let _ = client.call_tool("refuse", json!({})).await;
        client.call_tool("ask", json!({})).await?;
        client.close().await?;
    }
    server.stop().await;
    host.shut_down().await?;
    service.shut_down().await
}
