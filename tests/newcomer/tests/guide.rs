//! The program of the guide runs, and needs no other crates than the guide says.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mcp_client::serde_json::json;
use mcp_client::{Client, ContentBlock, Error};
use mcp_transport_stdio::ChildProcess;

#[test]
fn the_guide_has_the_program_and_its_dependencies() {
    let guide = include_str!("../../../docs/guide/servers.md");
    assert!(
        guide.contains(include_str!("../src/main.rs")),
        "copy src/main.rs into the guide"
    );
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
    let dependencies: Vec<&String> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .collect();
    let named = [
        "mcp-server",
        "mcp-transport-http",
        "mcp-transport-stdio",
        "tokio",
    ];
    assert_eq!(dependencies, named);
}

#[tokio::test]
async fn the_program_of_the_guide_answers() {
    let program = ChildProcess::new(env!("CARGO_BIN_EXE_newcomer"));
    let (log, mut logs) = tokio::sync::mpsc::channel(8);
    let client = Client::builder("reader", "1.0.0")
        .revision(mcp_client::Revision::LATEST_WITH_SESSIONS)
        .on_log(move |message| log.try_send(message.data).unwrap())
        .connect(program)
        .await
        .unwrap();
    let mut names: Vec<String> = client
        .list_tools()
        .await
        .unwrap()
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    names.sort();
    assert_eq!(names, ["add", "draw_chart", "read"]);
    let added = client
        .call_tool("add", json!({ "text": "milk" }))
        .await
        .unwrap();
    assert_eq!(added.joined_text(), "1");
    assert_eq!(logs.recv().await.unwrap(), "note 1 was added");
    let read = client
        .call_tool("read", json!({ "number": 1 }))
        .await
        .unwrap();
    assert_eq!(read.joined_text(), "milk");
    match client.call_tool("read", json!({ "number": 2 })).await {
        Err(Error::Rejected(error)) => assert_eq!(error.code.0, 1404),
        other => panic!("{other:?}"),
    }
    let chart = client.call_tool("draw_chart", json!({})).await.unwrap();
    let [ContentBlock::Image(image)] = &chart.content[..] else {
        panic!("{chart:?}")
    };
    assert_eq!(image.mime_type, "image/svg+xml");
    client.close().await.unwrap();
}
