//! A server with an app: a clock that a host shows beside the result of the tool.
//!
//! Run it with a host that supports MCP Apps: `cargo run -p mcp-apps --example clock` serves on stdin and stdout.

use mcp_apps::{Apps, Page, is_supported};
use mcp_server::types::CallToolResult;
use mcp_server::{Ctx, Server, Tool};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

/// The document is complete: a page without a declared origin cannot load anything.
const HTML: &str = include_str!("clock.html");

/// Returns the time for the page, and as text for the model and for hosts without apps.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a handler owns its parameters"
)]
fn time(cx: Ctx) -> CallToolResult {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    let text = match is_supported(&cx) {
        true => format!("The clock shows {seconds} seconds since 1970."),
        false => format!("{seconds} seconds have passed since 1970."),
    };
    CallToolResult::new(vec![text.into()]).with_structured_content(json!({ "seconds": seconds }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = Page::new("clock/view.html", "Clock", HTML)
        .prefers_border(true)
        .tool(
            Tool::new("time", time)
                .description("Returns the time")
                .read_only(true),
        )
        .app_tool(Tool::new("refresh", time).read_only(true));
    let server = Server::builder("clock", "1.0.0").with(Apps::new().page(page));
    mcp_transport_stdio::serve(server).await?;
    Ok(())
}
