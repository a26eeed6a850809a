//! The tools of `bench-server`, written with tower-mcp: `--stdio` or `--http ADDRESS`, with `--events`, `--nagle` and
//! `--tools N`.
//!
//! Over HTTP it opens sessions for 2025-11-25 and answers with plain JSON, its default; with `--events` it answers with
//! event streams, which notifications need.

#[path = "../../shared.rs"]
mod shared;

use schemars;
use shared::{Add, Big, Echo, Options, Steps, WorkArguments};
use tower_mcp::extract::{Context, Json};
use tower_mcp::transport::http::HttpTransport;
use tower_mcp::{BoxError, CallToolResult, McpRouter, StdioTransport, ToolBuilder};

/// Creates the tools, and this many more.
fn router(more: usize) -> McpRouter {
    let echo = ToolBuilder::new("echo")
        .handler(|echo: Echo| async move { Ok(CallToolResult::text(echo.message)) })
        .build();
    let add = ToolBuilder::new("add")
        .handler(|add: Add| async move { Ok(CallToolResult::text((add.a + add.b).to_string())) })
        .build();
    let big = ToolBuilder::new("big")
        .handler(
            |big: Big| async move { Ok(CallToolResult::text("x".repeat(big.bytes.min(16 << 20)))) },
        )
        .build();
    let steps = ToolBuilder::new("steps")
        .extractor_handler((), |cx: Context, Json(steps): Json<Steps>| async move {
            for step in 1..=steps.count.min(1_000) {
                cx.report_progress(step as f64, None, None).await;
            }
            Ok(CallToolResult::text("done"))
        })
        .build();
    let work = ToolBuilder::new("work")
        .handler(|work: WorkArguments| async move { Ok(CallToolResult::text(shared::work(work).await)) })
        .build();
    let mut router = McpRouter::new().server_info("bench", "1.0.0");
    for tool in [echo, add, big, steps, work] {
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

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let options = Options::parse("--events")?;
    let router = router(options.tools);
    let Some(address) = &options.http else {
        StdioTransport::new(router).run().await?;
        return Ok(());
    };
    let router = HttpTransport::new(router)
        .sse_responses(options.special)
        .into_router_at("/mcp");
    Ok(options.serve(address, router).await?)
}
