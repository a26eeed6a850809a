//! A session-based server for the tests of `mcp serve`, with a tool that gets a name from the user by elicitation, and a tool with a
//! large result.

use mcp_server::{Ctx, Elicitation, HandlerError, Revision, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct NameForm {
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp_transport_stdio::Error> {
    let server = Server::builder("ask", "1.0.0")
        .revisions([Revision::LATEST_WITH_SESSIONS])
        .tool(Tool::new("ask", async |cx: Ctx| {
            match cx.elicit::<NameForm>("Name?").await? {
                Elicitation::Accepted(form) => Ok(form.name),
                _ => Err(HandlerError::new("declined")),
            }
        }))
        .tool(Tool::new("large", || "x".repeat(2_500_000)));
    mcp_transport_stdio::serve(server).await
}
