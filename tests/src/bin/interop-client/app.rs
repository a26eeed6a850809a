//! The page of the example `clock` of `mcp-apps`, with fixed times, for hosts of other projects.

use mcp_apps::{Apps, Page};
use mcp_server::types::CallToolResult;
use mcp_server::{Server, ServerBuilder, Tool};
use serde_json::json;

const HTML: &str = include_str!("../../../../crates/mcp-apps/examples/clock.html");

/// A second of the year 2001, for the model and the user.
const SHOWN: u64 = 1_000_000_000;

/// A second of the year 10,000, for the page alone: its text is longer.
const REFRESHED: u64 = 253_402_300_800;

/// Creates the server.
pub(crate) fn server() -> ServerBuilder {
    let page = Page::new("clock/view.html", "Clock", HTML)
        .tool(Tool::new("time", || clock(SHOWN)))
        .app_tool(Tool::new("refresh", || clock(REFRESHED)));
    Server::builder("clock", "1.0.0").with(Apps::new().page(page))
}

fn clock(seconds: u64) -> CallToolResult {
    let text = format!("{seconds} seconds since 1970");
    CallToolResult::new(vec![text.into()]).with_structured_content(json!({ "seconds": seconds }))
}
