//! Two official extensions: a skill, which is a set of instructions for a model, and an app, which is a page that a host shows.
//!
//! ```sh
//! cargo build --example skills_and_apps
//! mcp call forecast -- target/debug/examples/skills_and_apps
//! ```
//!
//! The second line prints `Mon 22, Tue 19, Wed 24`, because `mcp` shows no apps. A host with apps shows the page `forecast/view.html`
//! beside the result, and offers the skill `packing` to its model.

use mcp_apps::{Apps, Page, is_supported};
use mcp_sdk::server::{CallToolResult, Ctx, Server, Tool};
use mcp_skills::{Skill, Skills};
use serde_json::json;

/// A complete page without a library is in `crates/mcp-apps/examples/clock.html`.
const PAGE: &str =
    "<!doctype html><title>Forecast</title><ol id=days></ol><script>/* .. */</script>";

const SKILL: &str = "---\nname: packing\ndescription: Packs a suitcase for the weather\n---\n\
                     Call `forecast`, then go through checklist.md.\n";

/// Returns the data for the page, and the text for the model and for users whose host shows no apps.
async fn forecast(cx: Ctx) -> CallToolResult {
    let text = if is_supported(&cx) {
        "The page shows the forecast."
    } else {
        "Mon 22, Tue 19, Wed 24"
    };
    CallToolResult::text(text).with_structured_content(json!({ "days": [22, 19, 24] }))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let page = Page::new("forecast/view.html", "Forecast", PAGE)
        .tool(Tool::new("forecast", forecast).description("Shows the forecast"))
        // Only the page calls this tool. The model does not see it.
        .app_tool(Tool::new("refresh", forecast));
    // `Skills::from_folder` reads all skills of a folder.
    let packing = Skill::from_files(
        "packing",
        [
            ("SKILL.md", SKILL),
            ("checklist.md", "- an umbrella above 1 mm\n"),
        ],
    )?;
    let server = Server::builder("weather", "1.0.0")
        .with(Apps::new().page(page))
        .with(Skills::new().skill(packing));
    Ok(mcp_sdk::stdio::serve(server).await?)
}
