//! The tools of `bench-server`, written with tower-mcp: `--stdio` or `--http ADDRESS`, with `--events`, `--nagle` and
//! `--tools N`.
//!
//! Over HTTP it opens sessions for 2025-11-25 and answers with plain JSON, its default; with `--events` it answers with
//! event streams, which notifications need.

use std::io::Write as _;

use axum::serve::ListenerExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::extract::{Context, Json};
use tower_mcp::transport::http::HttpTransport;
use tower_mcp::{BoxError, CallToolResult, McpRouter, StdioTransport, ToolBuilder};

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

/// Creates the tools, and this many more.
fn router(more: usize) -> McpRouter {
    let echo = ToolBuilder::new("echo")
        .handler(|echo: Echo| async move { Ok(CallToolResult::text(echo.message)) })
        .build();
    let add = ToolBuilder::new("add")
        .handler(|add: Add| async move { Ok(CallToolResult::text((add.a + add.b).to_string())) })
        .build();
    let big = ToolBuilder::new("big")
        .handler(|big: Big| async move {
            Ok(CallToolResult::text("x".repeat(big.bytes.min(16 << 20))))
        })
        .build();
    let steps = ToolBuilder::new("steps")
        .extractor_handler((), |cx: Context, Json(steps): Json<Steps>| async move {
            for step in 1..=steps.count.min(1_000) {
                cx.report_progress(step as f64, None, None).await;
            }
            Ok(CallToolResult::text("done"))
        })
        .build();
    let mut router = McpRouter::new().server_info("bench", "1.0.0");
    for tool in [echo, add, big, steps] {
        router = router.tool(tool);
    }
    for n in 0..more {
        let dummy = ToolBuilder::new(format!("dummy_{n:04}"))
            .description("Makes the list of tools a longer one")
            .handler(|echo: Echo| async move { Ok(CallToolResult::text(echo.message)) })
            .build();
        router = router.tool(dummy);
    }
    router
}

const USAGE: &str =
    "usage: bench-tower-mcp-server --stdio [--tools N] | --http ADDRESS [--events] [--nagle] [--tools N]";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (mut http, mut events, mut nagle, mut tools) = (None, false, false, 0);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--stdio" => {}
            "--events" => events = true,
            "--nagle" => nagle = true,
            "--http" => http = Some(args.next().ok_or(USAGE)?),
            "--tools" => tools = args.next().ok_or(USAGE)?.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let router = router(tools);
    let Some(address) = http else {
        StdioTransport::new(router).run().await?;
        return Ok(());
    };
    let router = HttpTransport::new(router)
        .sse_responses(events)
        .into_router_at("/mcp");
    let listener = tokio::net::TcpListener::bind(address).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    if nagle {
        axum::serve(listener, router).await?;
    } else {
        let listener = listener.tap_io(|stream| {
            // A client may close its connection at any time.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await?;
    }
    Ok(())
}
