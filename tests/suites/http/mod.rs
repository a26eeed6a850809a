//! Streamable HTTP, server side.

mod faults;
mod legacy;
mod legacy_client;
mod modern;
mod post;
mod proxy;
mod resume;
mod sessions;
mod streams;

use mcp_tests::http::Peer;

use crate::prelude::*;

/// Controls what the tools of [`server`] do.
#[derive(Clone)]
struct Gate {
    /// `wait` takes one permit before it returns.
    go: Arc<Semaphore>,
    /// `wait` adds one permit when it starts and one when it ends.
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

/// Creates a server with tools that the gate controls: `echo` returns at once; `wait` returns after it has a permit;
/// `steps` logs at level debug, then reports progress and waits for permits in between; `quick` reports progress and does not wait.
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
    with(gate, Options::new())
}

fn with(gate: &Gate, options: Options) -> Endpoint {
    Endpoint::with_options(server(gate), options).unwrap()
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
