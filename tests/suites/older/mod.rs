//! Older revisions: what is removed, replaced and rejected, in both directions. Conversations that
//! need no Rust code are in `tests/fixtures/wire/`.

mod client;
mod http;
mod server;

use mcp_server::{Json, ServerBuilder};
use mcp_types::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, Icon, Meta, PromptArgument,
    PromptMessage, ResourceContents, ResourceLink, Role, TextContent, TextResourceContents,
};

use crate::prelude::*;

/// The session-based revisions.
pub(crate) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[derive(Serialize, JsonSchema)]
struct Out {
    n: u32,
}

fn meta() -> Meta {
    serde_json::from_value(json!({ "com.example/x": 1 })).unwrap()
}

fn icon() -> Icon {
    Icon::new("https://example.com/i.png")
}

fn notes() -> Annotations {
    let notes = json!({ "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z" });
    serde_json::from_value(notes).unwrap()
}

fn contents() -> ResourceContents {
    let mut contents = TextResourceContents::new("x://m", "m");
    contents.meta = Some(meta());
    ResourceContents::Text(contents)
}

/// Content blocks that do not exist on every revision, or that have such members.
fn blocks() -> Vec<ContentBlock> {
    let mut text = TextContent::new("x");
    text.meta = Some(meta());
    text.annotations = Some(notes());
    vec![
        ContentBlock::Text(text),
        ContentBlock::Audio(AudioContent::new("AAAA", "audio/wav")),
        ContentBlock::ResourceLink(ResourceLink::new("x://y", "link").with_icons(vec![icon()])),
        ContentBlock::Resource(EmbeddedResource::new(contents())),
    ]
}

/// Creates a server that uses every optional member.
pub(crate) fn decorated() -> ServerBuilder {
    Server::builder("s", "1")
        .title("S")
        .description("d")
        .website("https://example.com")
        .icon(icon())
        .tool(
            Tool::new("structured", || Json(Out { n: 7 }))
                .title("T")
                .icon(icon())
                .meta(meta())
                .read_only(true),
        )
        .tool(Tool::new("blocks", blocks))
        .tool(Tool::new("progress", |cx: Ctx| {
            cx.progress_with(1.0, 2.0, "half");
            "x"
        }))
        .prompt(
            Prompt::new("p", |Args(_): Args<Arg>| "x")
                .title("P")
                .icon(icon())
                .meta(meta())
                .arguments(vec![PromptArgument::new("a").with_title("A")])
                .complete_from("a", ["x"]),
        )
        .prompt(Prompt::new("q", || {
            let blocks = blocks().into_iter();
            let messages = blocks.map(|block| PromptMessage::new(Role::User, block));
            messages.collect::<Vec<_>>()
        }))
        .resource(
            Resource::text("x://r", "r", "t")
                .title("R")
                .icon(icon())
                .meta(meta())
                .annotations(notes()),
        )
        .resource(Resource::new("x://m", "m", contents))
        .resource(
            Resource::new("x://t/{v}", "t", || "t")
                .title("T")
                .icon(icon())
                .meta(meta()),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Arg {
    #[expect(dead_code, reason = "only listed")]
    a: Option<String>,
}

/// Asserts that a member is present exactly on the revisions since `first`.
fn check(revision: &str, value: &Value, member: &str, first: &str) {
    let has_member = value.get(member).is_some();
    assert_eq!(
        has_member,
        revision >= first,
        "{revision} {member}: {value}"
    );
}

/// Creates a server that elicits by form and by URL.
fn asking() -> ServerBuilder {
    Server::builder("s", "1")
        .tool(Tool::new("form", async |cx: Ctx| {
            let name = cx.elicit::<Name>("Enter your name").await?.accepted();
            Ok::<_, mcp_protocol::AskError>(name.map_or_else(|| "-".to_owned(), |it| it.name))
        }))
        .tool(Tool::new("url", async |cx: Ctx| {
            cx.elicit_url("Go", "https://example.com/")
                .await
                .map(|asked| asked.accepted().is_some())
        }))
}
