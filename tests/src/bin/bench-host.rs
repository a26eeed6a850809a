//! A tool call in one thread, by a client or by a host with many servers; `cargo xtask bench --gate` counts its instructions.

use mcp_client::Client;
use mcp_host::{Host, StderrLog};
use mcp_server::{Args, Server, Tool};
use mcp_tests::bench::Fault;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const USAGE: &str = "usage: bench-host client|host --tools COUNT --calls COUNT";
/// Number of servers of the host.
const SERVERS: usize = 50;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

/// A server with this number of tools beside the one that is called.
fn server(tools: usize) -> Result<Server, Fault> {
    let others = (0..tools).map(|number| Tool::new(format!("other_{number}"), || ""));
    let echo = Tool::new("echo", |Args(echo): Args<Echo>| echo.message);
    let builder = Server::builder("bench", "1").page_size(1_000).tools(others);
    Ok(builder.tool(echo).build()?)
}

async fn run(mode: &str, tools: usize, calls: usize) -> Result<(), Fault> {
    let builder = Client::builder("bench", "1");
    let arguments = || json!({ "message": "x".repeat(64) });
    if mode == "client" {
        let transport = mcp_transport_stdio::in_memory(server(tools)?);
        let client = builder.connect(transport).await?;
        client.list_tools().await?;
        for _ in 0..calls {
            client.call_tool("echo", arguments()).await?;
        }
        return Ok(());
    }
    let mut builder = Host::builder(builder);
    for number in 0..SERVERS {
        let name = format!("s{number}");
        let server = server(tools / SERVERS)?;
        let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(server.clone()));
        builder = builder.connector(name, connector);
    }
    let host = builder.start();
    host.settled().await;
    for _ in 0..calls {
        host.call_tool("s49__echo", arguments()).await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|word| &**word).collect();
    match *words {
        [
            mode @ ("client" | "host"),
            "--tools",
            tools,
            "--calls",
            calls,
        ] => run(mode, tools.parse()?, calls.parse()?).await,
        _ => Err(USAGE.into()),
    }
}
