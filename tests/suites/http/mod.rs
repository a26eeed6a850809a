//! Streamable HTTP, server side.

mod cors;
mod durable;
mod faults;
mod legacy;
mod legacy_client;
mod modern;
mod post;
mod proxy;
mod resume;
mod session_store;
mod sessions;
#[cfg(unix)]
mod shutdown;
mod stored;
mod streams;

use mcp_server::ServerBuilder;
use mcp_tests::http::Peer;

use crate::gate::{Gate, pass};
use crate::prelude::*;

/// Adds tools to those of the gate: `steps` logs at level debug, then reports progress and waits for permits in
/// between; `quick` reports progress and does not wait.
fn server(gate: &Gate) -> ServerBuilder {
    let steps = gate.clone();
    gate.server("http")
        .tool(Tool::new(
            "steps",
            move |Args(echo): Args<Echo>, cx: Ctx| {
                let gate = steps.clone();
                async move {
                    cx.log(LoggingLevel::Debug, "begins");
                    for step in 1..=3 {
                        cx.progress(f64::from(step), 3.0);
                        pass(&gate.go).await;
                    }
                    echo.message
                }
            },
        ))
        .tool(Tool::new("quick", |Args(echo): Args<Echo>, cx: Ctx| {
            cx.progress(1.0, 1.0);
            echo.message
        }))
        .tool(Tool::new("panics", || -> String { panic!("a secret") }))
}

fn endpoint(gate: &Gate) -> Endpoint {
    with(gate, ServerOptions::new())
}

fn with(gate: &Gate, options: ServerOptions) -> Endpoint {
    Endpoint::with_options(server(gate), options).unwrap()
}

/// Creates an endpoint for at most two blocking handlers. Its tool `block` waits until the returned sender is dropped.
fn blocking(gate: &Gate) -> (Endpoint, std::sync::mpsc::Sender<()>) {
    let (sender, blocked) = std::sync::mpsc::channel();
    let (started, blocked) = (Arc::clone(&gate.started), Arc::new(Mutex::new(blocked)));
    let block = Tool::new("block", move || {
        started.add_permits(1);
        let _ = blocked.lock().unwrap().recv();
        "done"
    });
    let server = server(gate).tool(block.blocking());
    let options =
        ServerOptions::new().with_request_limits(|limits| limits.max_blocking_handlers = 2);
    (Endpoint::with_options(server, options).unwrap(), sender)
}

/// Creates a gate, an endpoint whose tools it controls, and a client with an open session.
async fn opened() -> (Gate, Endpoint, Peer) {
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let peer = Peer::open(&endpoint).await;
    (gate, endpoint, peer)
}

/// Longer than the upgrade delay of an endpoint, and shorter than any other timeout.
const LONG: Duration = Duration::from_secs(2);
