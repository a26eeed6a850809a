//! A host with the tools of two servers, in this thread.

use mcp_client::Client;
use mcp_host::{Host, StderrLog};
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
