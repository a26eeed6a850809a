//! A host with the tools of two servers, in this thread.

use mcp_client::Client;
use mcp_client::types::JsonObject;
use mcp_host::{Host, StderrLog};
use mcp_server::{Args, Prompt, Resource, Server, Tool};
use serde_json::json;

/// Returns the number of allocations of a call beside this number of other tools.
pub(crate) fn allocations_per_call(tools: usize) -> f64 {
    const CALLS: u32 = 200;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut builder = Host::builder(Client::builder("bench", "1"));
    for name in ["a", "b"] {
        let server = super::server(tools).build().unwrap();
        let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(server.clone()));
        builder = builder.connector(name, connector);
    }
    let call = async |host: &Host, calls: u32| {
        for _ in 0..calls {
            let arguments = json!({ "message": "x" });
            let result = host.call_tool("b__sync", arguments).await.unwrap();
            assert_eq!(result.joined_text(), "x");
        }
    };
    let host = runtime.block_on(async {
        let host = builder.start();
        host.settled().await;
        call(&host, CALLS).await;
        host
    });
    let counted = allocation_counter::measure(|| runtime.block_on(call(&host, CALLS)));
    runtime.block_on(host.close());
    counted.count_total as f64 / f64::from(CALLS)
}

#[test]
fn the_cost_of_a_host_call_does_not_depend_on_the_number_of_tools() {
    let (few, many) = (allocations_per_call(10), allocations_per_call(2_000));
    assert!((many - few).abs() < 2.0, "{few} and {many}");
}

/// Creates a server with a fiftieth of 2,000 tools, 500 prompts and 5,000 resources, as a server describes them.
fn fiftieth(server: usize) -> Server {
    const DESCRIPTION: &str = "Finds the records that have all of these words, newest first, and returns at most fifty of them.";
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "Words that the records have" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
            "after": { "type": "string", "description": "The cursor of an earlier result" }
        },
        "required": ["query"]
    });
    let tools = (0..40).map(|number| {
        let run = |Args(_): Args<JsonObject>| "";
        Tool::dynamic(format!("find_{number}"), schema.clone(), run).description(DESCRIPTION)
    });
    let prompts = (0..10).map(|number| {
        Prompt::new(format!("review_{number}"), || "Review it.").description(DESCRIPTION)
    });
    let resources = (0..100).map(|number| {
        let uri = format!("file:///projects/{server}/notes/2026/{number}.md");
        Resource::new(uri, format!("note {number}"), || "A note.").description(DESCRIPTION)
    });
    let mut builder = Server::builder(format!("server-{server}"), "1").tools(tools);
    for prompt in prompts {
        builder = builder.prompt(prompt);
    }
    for resource in resources {
        builder = builder.resource(resource);
    }
    builder.build().unwrap()
}

/// The memory includes the connections of the servers in this process. A build for debugging counts only allocations, because other
/// tests use the processors at the same time.
#[test]
fn the_lists_of_fifty_servers_take_less_than_thirty_mebibytes_and_five_milliseconds() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let servers: Vec<Server> = (0..50).map(fiftieth).collect();
    let mut host = None;
    let counted = allocation_counter::measure(|| {
        let mut builder = Host::builder(Client::builder("budget", "1"));
        for (number, server) in servers.iter().enumerate() {
            let server = server.clone();
            let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(server.clone()));
            builder = builder.connector(format!("server-{number}"), connector);
        }
        host = Some(runtime.block_on(async {
            let host = builder.start();
            host.settled().await;
            host
        }));
    });
    let host = host.unwrap();
    let counts = || {
        let lists = (host.tools().len(), host.prompts().len());
        (
            lists,
            host.resources().len(),
            host.resource_templates().len(),
        )
    };
    assert_eq!(counts(), ((2_000, 500), 5_000, 0));
    let time = || {
        let begin = std::time::Instant::now();
        std::hint::black_box(counts());
        begin.elapsed()
    };
    let shortest = (0..20).map(|_| time()).min().unwrap();
    let listed = allocation_counter::measure(|| {
        std::hint::black_box(counts());
    });
    println!(
        "{shortest:?} and {} allocations for all lists, {} KiB",
        listed.count_total,
        counted.bytes_current >> 10
    );
    // Two names for each of 7,500 items, the keys of 2,500 of them, and the tables.
    assert!(listed.count_total < 28_000, "{}", listed.count_total);
    if !cfg!(debug_assertions) {
        assert!(shortest.as_millis() < 5, "{shortest:?}");
    }
    assert!(
        counted.bytes_current < 30 << 20,
        "{}",
        counted.bytes_current
    );
    runtime.block_on(host.close());
}
