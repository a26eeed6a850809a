//! Streamable HTTP, the server's side.

mod faults;
mod legacy;
mod legacy_client;
mod modern;
mod post;
mod proxy;
mod resume;
mod sessions;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use mcp_server::{Args, Ctx, Server, Tool};
use mcp_transport_http::{Endpoint, Options};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

/// What the tests let the tools of [`server`] do.
#[derive(Clone)]
struct Gate {
    /// `wait` takes one permit before it answers.
    go: Arc<Semaphore>,
    /// `wait` gives one when it starts, and one when it ends.
    started: Arc<Semaphore>,
    ended: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self {
            go: closed(),
            started: closed(),
            ended: closed(),
        }
    }
}

async fn pass(semaphore: &Semaphore) {
    semaphore.acquire().await.unwrap().forget();
}

/// `echo` answers at once; `wait` once it may; `steps` reports progress, pausing where it may go
/// on; `quick` reports progress and answers without waiting.
fn server(gate: &Gate) -> Server {
    let gate = gate.clone();
    let wait = gate.clone();
    Server::new("http", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new("wait", move |Args(echo): Args<Echo>| {
            let gate = wait.clone();
            async move {
                gate.started.add_permits(1);
                pass(&gate.go).await;
                gate.ended.add_permits(1);
                echo.message
            }
        }))
        .tool(Tool::new(
            "steps",
            move |Args(echo): Args<Echo>, cx: Ctx| {
                let gate = gate.clone();
                async move {
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
    with(gate, Options::new())
}

fn with(gate: &Gate, options: Options) -> Endpoint {
    Endpoint::with_options(server(gate), options).unwrap()
}

/// More than the patience of an endpoint, and less than everything else.
const LONG: Duration = Duration::from_secs(2);
