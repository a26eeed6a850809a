//! Servers of other projects under our host, and its tools and results in the formats of model APIs.

use std::env;

use mcp_client::{Client, ClientBuilder};
use mcp_host::{
    Config, ConfigFormat, ElicitationContent, ElicitationRequest, Host, ModelApi, ServerState,
    ToolUse,
};
use serde_json::{Map, Value, json};

use crate::arguments;
use crate::report::{Fault, Outcome, ensure, row, says, worked};
use crate::visit::DefaultCall;

/// The names of the two servers, which are the same program.
const NAMES: [&str; 2] = ["peer", "twin"];
/// The variables that this process has from the shell and not for the server.
const SHELL: [&str; 3] = ["_", "PWD", "SHLVL"];

/// A program as an entry of an `mcp.json`.
pub(crate) fn entry(program: &[impl AsRef<str>]) -> Result<Value, Fault> {
    let mut words = program.iter().map(AsRef::as_ref);
    let command = words.next().ok_or("a server is needed")?;
    let is_given = |(name, _): &(String, String)| !SHELL.contains(&name.as_str());
    let env: Map<String, Value> = env::vars()
        .filter(is_given)
        .map(|(name, value)| (name, value.into()))
        .collect();
    let args: Vec<&str> = words.collect();
    Ok(json!({ "command": command, "args": args, "env": env }))
}

/// Starts a host with these entries of an `mcp.json`, and waits until each server is ready or has failed. The user fills in
/// forms.
pub(crate) async fn host<const N: usize>(
    client: ClientBuilder,
    servers: [(&str, Value); N],
) -> Result<Host, Fault> {
    let servers = servers.map(|(name, entry)| (name.to_owned(), entry));
    let servers: Map<String, Value> = servers.into_iter().collect();
    let text = json!({ "mcpServers": servers }).to_string();
    let config = Config::parse(&text, ConfigFormat::Standard)?;
    let host = Host::builder(client)
        .servers(config)
        .elicitation(async |request: ElicitationRequest| match &request.content {
            ElicitationContent::Form(form) => {
                let schema = serde_json::to_value(&form.params.requested_schema);
                request.accept(arguments::example(&schema.unwrap_or_default()))
            }
            _ => request.decline(),
        })
        .start();
    host.settled().await;
    Ok(host)
}

/// Starts a host with this program twice.
async fn twice(program: &[&str]) -> Result<Host, Fault> {
    let entry = entry(program)?;
    let builder = Client::builder("interop-host", env!("CARGO_PKG_VERSION"));
    host(builder, NAMES.map(|name| (name, entry.clone()))).await
}

impl DefaultCall<'_> {
    /// Starts the program under a host, and reports every feature.
    pub(crate) async fn run_hosted(&self, program: &[&str]) -> Result<(), Fault> {
        let host = twice(program).await?;
        row("hosted", started(&host)).await;
        row("listed", listed(&host)).await;
        row("called", self.called_by(&host)).await;
        row("restarted", self.restarted(&host)).await;
        row("ended", async {
            host.close().await;
            let state = |name| host.server(name).map(|server| server.state());
            for name in NAMES {
                let state = state(name);
                ensure(state != Some(ServerState::Ready), || {
                    format!("{name} is ready")
                })?;
            }
            worked("both servers have ended")
        })
        .await;
        Ok(())
    }

    async fn called_by(&self, host: &Host) -> Outcome {
        let arguments: Value = serde_json::from_str(self.arguments)?;
        let mut text = String::new();
        for server in NAMES {
            let tools = host.tools();
            let tool = tools
                .iter()
                .find(|tool| tool.server == server && tool.tool.name == self.tool);
            let tool = tool.ok_or_else(|| format!("{server} has no tool {}", self.tool))?;
            let result = host.call_tool(&tool.name, arguments.clone()).await?;
            text = serde_json::to_string(&result)?;
            says("the result", &text, self.expected)?;
        }
        worked(text.chars().take(60).collect::<String>())
    }

    /// Ends one server and starts it again; the other one stays.
    async fn restarted(&self, host: &Host) -> Outcome {
        let server = host.server(NAMES[0]).ok_or("no server")?;
        server.restart();
        host.settled().await;
        self.called_by(host).await
    }
}

async fn started(host: &Host) -> Outcome {
    for name in NAMES {
        let server = host.server(name).ok_or("no server")?;
        let state = server.state();
        ensure(state == ServerState::Ready, || {
            format!("{name} is {state:?}")
        })?;
    }
    worked("two processes are ready")
}

/// Both servers have the same tools, so their names differ only by the server.
async fn listed(host: &Host) -> Outcome {
    let mut names: Vec<String> = host.tools().into_iter().map(|tool| tool.name).collect();
    let count = names.len();
    ensure(count > 0 && count.is_multiple_of(2), || {
        format!("{count} tools")
    })?;
    for name in &names {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_valid = name.len() <= 64 && name.chars().all(is_allowed);
        ensure(is_valid, || format!("the name {name:?} is not valid"))?;
    }
    names.sort_unstable();
    names.dedup();
    ensure(names.len() == count, || "names are not unique".to_owned())?;
    worked(format!("{count} tools"))
}

/// Prints the tools of a program in the format of a model API, and the messages with the results of some calls.
#[expect(clippy::print_stdout, reason = "the script reads it")]
pub(crate) async fn print_format(name: &str, program: &[&str]) -> Result<(), Fault> {
    let format = match name {
        "openai-chat" => ModelApi::OpenAiChat,
        "openai-responses" => ModelApi::OpenAiResponses,
        "anthropic" => ModelApi::Anthropic,
        "gemini" => ModelApi::Gemini,
        _ => return Err(format!("unknown format {name:?}").into()),
    };
    let host = twice(program).await?;
    let tools = host.tools();
    let model_tools = format.tools(&tools);
    let mut results = Vec::new();
    for (at, (tool, input)) in [
        ("test_simple_text", json!({})),
        ("test_image_content", json!({})),
        ("test_embedded_resource", json!({})),
        ("test_multiple_content_types", json!({})),
        ("test_error_handling", json!({})),
        ("no_such_tool", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let tool_use = ToolUse::new(format!("call_{at}"), format!("peer__{tool}"), input);
        let result = host.call(&tool_use).await;
        results.push((tool_use, result));
    }
    let messages = format.results(&results);
    println!(
        "{}",
        json!({ "tools": model_tools.tools, "messages": messages })
    );
    host.close().await;
    Ok(())
}
