//! Requests to the client: a completion of its model (sampling), its folders (roots), and how a tool works without them.
//!
//! ```sh
//! cargo build --example sampling
//! mcp call folders --root . -- target/debug/examples/sampling
//! mcp call summarize text="A long text. It goes on." -- target/debug/examples/sampling
//! ```
//!
//! `mcp` offers roots, but no model. The last line therefore prints `A long text.`: the tool has checked what the client can do. A host
//! with a model answers with a summary.

use mcp_sdk::server::types::{
    CreateMessageRequestParams, SamplingMessage, SamplingMessageContentBlock,
};
use mcp_sdk::server::{Ctx, HandlerError, Server, tool};

/// Summarizes a text in one sentence.
#[tool(read_only = true)]
async fn summarize(text: String, cx: Ctx) -> Result<String, HandlerError> {
    let has_model = cx
        .client_capabilities()
        .is_some_and(|client| client.sampling.is_some());
    if !has_model {
        let end = text.find(". ").map_or(text.len(), |end| end + 1);
        return Ok(text[..end].to_owned());
    }
    let messages = vec![SamplingMessage::user(text)];
    let params = CreateMessageRequestParams::new(messages, 200)
        .with_system_prompt("Summarize the text of the user in one sentence.")
        .with_temperature(0.0);
    // The user of the client can refuse, which is an error here.
    let completion = cx.sample(params).await?;
    let texts = completion
        .content
        .iter()
        .filter_map(SamplingMessageContentBlock::as_text);
    Ok(format!(
        "{} (by {})",
        texts.collect::<String>(),
        completion.model
    ))
}

/// Lists the folders that the client lets the server use.
#[tool(read_only = true)]
async fn folders(cx: Ctx) -> Result<String, HandlerError> {
    // In a session, the roots are requested once, and again after the client has notified a change.
    let roots = cx.roots().await?;
    let uris = roots.into_iter().map(|root| root.uri);
    Ok(uris.collect::<Vec<_>>().join("\n"))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server = Server::builder("editor", "1.0.0")
        .tool(summarize::tool())
        .tool(folders::tool());
    Ok(mcp_sdk::stdio::serve(server).await?)
}
