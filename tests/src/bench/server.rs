//! The tools of the measured server. The baselines and the peers have the same tools.

use mcp_server::middleware::{Middleware, Next, Request, Response};
use mcp_server::{Args, Ctx, Server, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Limit of the bytes that `big` returns.
pub const MOST_BYTES: usize = 16 << 20;
/// Limit of the notifications that `steps` sends.
pub const MOST_STEPS: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Comes back.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    /// How long the answer is.
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// How many notifications come before the answer.
    count: usize,
}

/// Creates a server with the tools `echo`, `add`, `big` and `steps`, and this many more.
pub fn server(more: usize) -> ServerBuilder {
    let dummy = |n: usize| {
        Tool::new(format!("dummy_{n:04}"), |Args(echo): Args<Echo>| {
            echo.message
        })
        .description("Makes the list of tools a longer one")
    };
    Server::builder("bench", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new("add", |Args(add): Args<Add>| add.a + add.b))
        .tool(Tool::new("big", |Args(big): Args<Big>| {
            "x".repeat(big.bytes.min(MOST_BYTES))
        }))
        .tool(Tool::new("steps", steps))
        .tools((0..more).map(dummy))
}

/// Creates the same server with this many layers of middleware that do nothing.
pub fn layered(more: usize, layers: usize) -> ServerBuilder {
    struct Nothing;
    impl Middleware for Nothing {
        async fn request(&self, request: Request, next: Next) -> Response {
            next.run(request).await
        }
    }
    (0..layers).fold(server(more), |server, _| server.layer(Nothing))
}

async fn steps(Args(steps): Args<Steps>, cx: Ctx) -> &'static str {
    for step in 1..=steps.count.min(MOST_STEPS) {
        cx.progress(step as f64, None);
    }
    "done"
}
