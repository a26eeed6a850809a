//! A host with many servers, in which the model searches for tools instead of reading the definitions of all of them.
//!
//! ```sh
//! cargo build --example hello_stdio --example content_types
//! cargo run --example multi_server_host -- mcp.json "add numbers" '{"a": 2, "b": 3}'
//! ```
//!
//! with `mcp.json`:
//!
//! ```json
//! { "mcpServers": {
//!     "calc": { "command": "target/debug/examples/hello_stdio" },
//!     "lab": { "command": "target/debug/examples/content_types" } } }
//! ```
//!
//! The program asks before it starts each server and before the call, and prints `calc__add: 5`. Here the words of the second
//! argument take the place of a model; `tests/examples/agent` is a chat with one.

#![allow(clippy::print_stdout, reason = "the program talks to its user")]

use mcp_sdk::client::Client;
use mcp_sdk::host::{
    Config, ConfigFormat, ConsentRequest, Decision, Host, ModelApi, ToolBudget, ToolUse,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};
use tokio::sync::{Mutex, OnceCell};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, query, arguments] = &args[..] else {
        return Err("use: multi_server_host FILE WORDS ARGUMENTS".into());
    };
    let arguments: Value = serde_json::from_str(arguments)?;

    let config = Config::read(file, ConfigFormat::of_path(file))?;
    let host = Host::builder(Client::builder("multi-server-host", "1.0.0"))
        .servers(config)
        .consent(ask)
        .start();
    host.settled().await;
    for server in host.servers() {
        println!("{}: {}", server.name(), server.state());
    }

    // The tools for the request to the model. All definitions would exceed this budget, so there are two tools instead.
    let offered = ModelApi::Anthropic.tools_within_budget(&host.tools(), &ToolBudget::new(100));
    let names = offered.tools.as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|tool| tool["name"].as_str()).collect();
    println!(
        "{} tools, offered to the model: {}",
        host.tools().len(),
        names.join(", ")
    );

    // The model searches; `ModelApi::tool_uses` reads its calls from a response.
    let search = ToolUse::new("1", "search_tools", json!({ "query": query, "limit": 1 }));
    let found = host.call(&search).await?;
    // One line of JSON for each tool that was found.
    let found: Value = serde_json::from_str(found.joined_text().lines().next().unwrap_or_default())
        .unwrap_or_default();
    let Some(name) = found["name"].as_str() else {
        return Err(format!("no tool has the words {query:?}").into());
    };

    // The model calls the tool that it has found. The user is asked about this tool, not about `call_tool`.
    let call = ToolUse::new(
        "2",
        "call_tool",
        json!({ "name": name, "arguments": arguments }),
    );
    let result = host.call(&call).await;
    match &result {
        Ok(result) => println!("{name}: {}", result.joined_text()),
        Err(error) => println!("{name}: {error}"),
    }
    // The messages for the next request to the model.
    let messages = ModelApi::Anthropic.results(&[(call, result)]);
    println!("{} message for the model", messages.len());
    host.close().await;
    Ok(())
}

/// Asks the user on the terminal, one request after the other.
async fn ask(request: ConsentRequest) -> Decision {
    static TERMINAL: OnceCell<Mutex<Lines<BufReader<Stdin>>>> = OnceCell::const_new();
    let lines = TERMINAL.get_or_init(async || Mutex::new(BufReader::new(stdin()).lines()));
    let mut lines = lines.await.lock().await;
    println!("{request}\n[y]es or [N]o?");
    match lines.next_line().await {
        Ok(Some(line)) if line == "y" => Decision::AllowOnce,
        _ => Decision::Deny,
    }
}
