//! A visit with the default settings: what a program lists, one call, and the end.

use mcp_client::Client;
use mcp_transport_http::HttpTransport;
use mcp_transport_stdio::ChildProcess;
use serde_json::Value;

use crate::report::{Fault, Outcome, ensure, row, says, worked};

/// The call of one tool, and a text of its result.
pub(crate) struct DefaultCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) expected: &'a str,
}

impl DefaultCall<'_> {
    /// Connects to `--http URL` or to a program, and reports every feature.
    pub(crate) async fn run(&self, server: &[&str]) -> Result<(), Fault> {
        let builder = Client::builder("interop-client", env!("CARGO_PKG_VERSION"));
        let client = match server {
            ["--http", url] => builder.connect(HttpTransport::new(url)?).await?,
            [program, args @ ..] => {
                let child = ChildProcess::new(program).env_inherit().args(args);
                builder.connect(child).await?
            }
            [] => return Err("a server is needed".into()),
        };
        row("auto", async { worked(client.revision().as_str()) }).await;
        row("listed", listed(&client)).await;
        row("called", self.called(&client)).await;
        row("ended", async {
            client.close().await?;
            worked("the connection is closed")
        })
        .await;
        Ok(())
    }

    async fn called(&self, client: &Client) -> Outcome {
        let arguments: Value = serde_json::from_str(self.arguments)?;
        let result = client.call_tool(self.tool, arguments).await?;
        let text = serde_json::to_string(&result)?;
        says("the result", &text, self.expected)?;
        worked(text.chars().take(60).collect::<String>())
    }
}

/// Lists everything that is declared.
async fn listed(client: &Client) -> Outcome {
    let tools = client.list_tools().await?;
    ensure(!tools.is_empty(), || "there are no tools".to_owned())?;
    if client.capabilities().resources.is_some() {
        client.list_resources().await?;
        client.list_resource_templates().await?;
    }
    if client.capabilities().prompts.is_some() {
        client.list_prompts().await?;
    }
    worked(format!("{} tools", tools.len()))
}
