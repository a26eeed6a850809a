//! Thirty servers, five of them fine.

use std::time::Duration;

use mcp_client::{Transport, TransportError};
use mcp_host::{Config, Host, ListCache, ServerConfig, ServerState, StderrLog};
use mcp_transport_stdio::duplex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{Folder, Killable, client, server};

/// Largest sum of the catalogues and stderr logs of all thirty servers.
const MEMORY_BUDGET: usize = 4 << 20;

fn script(text: &str) -> ServerConfig {
    ServerConfig::stdio("/bin/sh", ["-c", text])
}

fn thirty(cache: &ListCache) -> Host {
    let mut config = Config::new();
    for number in 0..10 {
        config = config.with_server(format!("a-silent{number}"), script("sleep 1000"));
    }
    for number in 0..5 {
        let flood = script("while :; do echo noise noise noise >&2; done");
        config = config
            .with_server(format!("b-crash{number}"), script("exit 3"))
            .with_server(format!("c-flood{number}"), flood);
    }
    let mut host = Host::builder(client())
        .servers(config)
        .list_cache(cache.clone());
    for number in 0..5 {
        let fine = Killable::default().connector(|_| Some(server(["echo".to_owned()])));
        host = host
            .connector(format!("d-large{number}"), large)
            .connector(format!("e-fine{number}"), fine);
    }
    host.start()
}

/// Connects to a server with 100,000 tools, in pages of 1,000.
fn large(_: &StderrLog) -> Result<impl Transport + use<>, TransportError> {
    let (transport, end) = duplex(64 << 10);
    tokio::spawn(async move {
        let (input, mut output) = end.into_streams();
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).unwrap();
            let page = request["params"]["cursor"]
                .as_str()
                .map_or(0, |page| page.parse().unwrap());
            let result = match request["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "large", "version": "1" }
                }),
                Some("tools/list") if page < 100 => json!({
                    "tools": tools(page), "nextCursor": (page + 1).to_string()
                }),
                Some("tools/list") => json!({ "tools": [] }),
                _ => Value::Null,
            };
            let id = &request["id"];
            let response = match result {
                _ if id.is_null() => continue,
                Value::Null => {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "unknown" } })
                }
                result => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            };
            let response = format!("{response}\n");
            if output.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    Ok(transport)
}

fn tools(page: usize) -> Vec<Value> {
    let tool = |number| {
        json!({
            "name": format!("tool{page}-{number}"), "inputSchema": { "type": "object" },
            "description": "a tool of a server that has too many tools for any model to choose from"
        })
    };
    (0..1_000).map(tool).collect()
}

async fn fine_servers(host: &Host) {
    for number in 0..5 {
        let server = host.server(&format!("e-fine{number}")).unwrap();
        server.wait_for(|state| *state == ServerState::Ready).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responsive_servers_do_not_wait_for_hanging_servers() {
    let folder = Folder::new("thirty");
    let cache = ListCache::dir(&folder.0);
    let host = thirty(&cache);
    fine_servers(&host).await;
    assert!(
        host.tools()
            .iter()
            .filter(|tool| tool.name.ends_with("__echo"))
            .count()
            == 5
    );
    let silent = host.server("a-silent0").unwrap();
    assert_eq!(silent.state(), ServerState::Starting);
    let flood = host.server("c-flood0").unwrap();
    while flood.stderr().len() < 100 {
        tokio::task::yield_now().await;
    }
    while folder.lists() < 5 {
        // sleep: the event is a file that is written in the background
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let logs = host
        .servers()
        .into_iter()
        .flat_map(|server| server.stderr());
    let logs: usize = logs.map(|line| line.len()).sum();
    let tools = host
        .tools()
        .into_iter()
        .map(|tool| serde_json::to_vec(&*tool.tool).unwrap().len());
    assert!(logs + tools.sum::<usize>() < MEMORY_BUDGET);
    drop(host);

    // Nothing is awaited: no server can have been started yet.
    let host = thirty(&cache);
    let tools = host.tools();
    assert!(
        tools
            .iter()
            .filter(|tool| tool.name.ends_with("__echo"))
            .count()
            == 5
    );
    assert!(tools.iter().all(|tool| tool.is_stale));
    host.close().await;
}
