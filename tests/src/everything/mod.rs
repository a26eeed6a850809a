//! The fixture server of the conformance suite, on public API only.

mod media;
mod prompts;
mod resources;
mod round_trips;
mod server_requests;
mod skills;
mod tasks;
mod tools;

use mcp_protocol::{IntoService, Revision};
use mcp_server::types::JsonObject;
use mcp_server::{Args, Json, Server, ServerBuilder};
use mcp_transport_http::{Endpoint, ServerOptions};

use crate::bench::{Fault, listen};

pub use media::{PNG, WAV};

/// The server with all features.
pub fn server() -> ServerBuilder {
    plain()
        .tools(round_trips::tools())
        .prompts(round_trips::prompts())
        .tools(tasks::tools())
}

/// The same server for session-based revisions only, without the tools that were made for multi round-trip requests.
pub fn sessions() -> ServerBuilder {
    plain().revisions(Revision::WITH_SESSIONS)
}

/// Returns the server. The parameters set whether clients can subscribe to resources, and whether list changes are announced.
pub fn announcing(subscriptions: bool, list_changes: bool) -> ServerBuilder {
    let mut server = server();
    if !subscriptions {
        server = server.without_subscriptions();
    }
    match list_changes {
        true => server,
        false => server.without_list_changes(),
    }
}

fn plain() -> ServerBuilder {
    Server::builder("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .description("One of each thing a server can have")
        .instructions("A fixture: every feature of the protocol, with fixed answers.")
        .tools(tools::all())
        .tools(server_requests::all())
        .prompts(prompts::all())
        .resources(resources::all())
        .tools(tools::changing())
        .with(skills::all())
        .method("com.example/reverse", |Args(params): Args<JsonObject>| {
            let text = params.get("text").and_then(|text| text.as_str());
            let text: String = text.unwrap_or_default().chars().rev().collect();
            Json(serde_json::json!({ "text": text }))
        })
}

/// Serves a server at this address until the process is interrupted. The port may be 0: the first
/// line on stdout is the URL.
///
/// # Errors
/// The server cannot listen on the address, or its configuration is invalid.
pub async fn serve_http(
    address: &str,
    server: impl IntoService,
    options: ServerOptions,
) -> Result<(), Fault> {
    listen::own(address, Endpoint::with_options(server, options)?).await
}
