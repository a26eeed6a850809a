//! pmcp. Its stdio transport has the streams of its own process, so a child of this program is the client, between the
//! streams of our server.

use std::process::Stdio;

use pmcp::shared::Transport;
use pmcp::shared::streamable_http::{
    StreamableHttpTransport, StreamableHttpTransportConfigBuilder,
};
use pmcp::{Client, ClientCapabilities, StdioTransport};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::report::Fault;
use crate::{Observations, Target, calls};

pub(crate) async fn visit(target: Target<'_>) -> Result<Observations, Fault> {
    match target {
        Target::Program(program) => {
            let mut server = Command::new(program);
            server
                .arg("--stdio")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut server = server.kill_on_drop(true).spawn()?;
            let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
                return Err("the server has no pipes".into());
            };
            let mut client = Command::new(std::env::current_exe()?);
            client
                .arg("pmcp-child")
                .kill_on_drop(true)
                .stderr(Stdio::piped());
            let (input, output): (Stdio, Stdio) = (input.try_into()?, output.try_into()?);
            let child = client.stdin(output).stdout(input).spawn()?;
            // The command holds the streams of the server open.
            drop(client);
            let client = child.wait_with_output().await?;
            server.wait().await?;
            let text = String::from_utf8(client.stderr)?;
            let seen = text.lines().last().map(serde_json::from_str::<Value>);
            let Some(Ok(seen)) = seen else {
                return Err(text.into());
            };
            let list = |member: &str| {
                let items = seen[member].as_array().into_iter().flatten();
                items
                    .filter_map(|item| item.as_str().map(str::to_owned))
                    .collect()
            };
            Ok(Observations {
                names: list("names"),
                results: list("results"),
            })
        }
        Target::Url(url) => {
            let config = StreamableHttpTransportConfigBuilder::new(url.parse()?).build();
            converse(StreamableHttpTransport::new(config)).await
        }
    }
}

/// The client in a process of its own; the last line of stderr is what it has seen.
pub(crate) async fn child() -> Result<(), Fault> {
    let Observations { names, results } = converse(StdioTransport::new()).await?;
    eprintln!("{}", json!({ "names": names, "results": results }));
    Ok(())
}

async fn converse<T: Transport + 'static>(transport: T) -> Result<Observations, Fault> {
    let mut client = Client::new(transport);
    client.initialize(ClientCapabilities::minimal()).await?;
    let tools = client.list_tools(None).await?.tools;
    let mut results = Vec::new();
    for (name, arguments) in calls() {
        let result = client.call_tool(name.to_owned(), arguments).await?;
        results.push(serde_json::to_string(&result)?);
    }
    let names = tools.into_iter().map(|tool| tool.name).collect();
    Ok(Observations { names, results })
}
