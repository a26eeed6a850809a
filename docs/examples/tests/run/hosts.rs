//! The examples of clients, hosts and gateways.

use mcp_sdk::client::Negotiation;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::issuer::Issuer;
use crate::program::{BOTH, Program, call, client, connect, file, get, path, text, within};

#[tokio::test]
async fn oauth_client_signs_in_once() {
    let issuer = Issuer::start().await;
    let mut server = Program::start("http_jwt", &[issuer.url(), "127.0.0.1:0"]);
    let url = server.url().await;
    let tokens = file("tokens.json");
    let start = || Program::start("oauth_client", &[&url, tokens.to_str().unwrap()]);

    let mut program = start();
    let page = program.stdout.until("please open ").await;
    // The browser: the page of the authorization server leads back to the program.
    let response = get(page.trim_start_matches("please open ")).await;
    let back = response
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    get(back.unwrap_or_else(|| panic!("{response}"))).await;
    let expected = [
        "signed in to notes 1.0.0, revision 2026-07-28",
        "whoami: Returns the name of the caller.",
        "delete_note: Deletes a note.",
    ];
    assert_eq!(program.stdout.rest().await, expected);
    assert!(program.ended().await.success());

    let mut again = start();
    assert_eq!(again.stdout.rest().await, expected);
    assert!(again.ended().await.success());
    std::fs::remove_file(tokens).unwrap();
}

#[tokio::test]
async fn multi_server_host_finds_a_tool_and_asks_before_it_calls_it() {
    let config = file("mcp.json");
    let server = |name| json!({ "command": path(name) });
    let servers = json!({ "calc": server("hello_stdio"), "lab": server("content_types") });
    std::fs::write(&config, json!({ "mcpServers": servers }).to_string()).unwrap();
    // Two servers, then the call.
    for (input, expected) in [("y\ny\ny\n", "calc__add: 5"), ("y\ny\nn\n", "denied")] {
        let args = [
            config.to_str().unwrap(),
            "add numbers",
            r#"{"a": 2, "b": 3}"#,
        ];
        let mut host = Program::start("multi_server_host", &args);
        within(host.stdin.write_all(input.as_bytes()))
            .await
            .unwrap();
        let lines = host.stdout.rest().await;
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(
            has("7 tools, offered to the model: search_tools, call_tool"),
            "{lines:#?}"
        );
        assert!(has("start the server") && has(expected), "{lines:#?}");
        assert!(has("1 message for the model"), "{lines:#?}");
        assert!(host.ended().await.success());
    }
    std::fs::remove_file(config).unwrap();
}

#[tokio::test]
async fn gateway_serves_several_servers_to_clients_of_every_revision() {
    let programs = ["hello_stdio", "content_types"].map(path);
    let [hello, contents] = programs.each_ref().map(|path| path.to_str().unwrap());
    let mut gateway = Program::start("gateway", &["127.0.0.1:0", hello, contents]);
    let url = gateway.url().await;
    for negotiation in BOTH {
        let client = connect(client(negotiation), &url).await;
        assert_eq!(
            text(&client, "hello_stdio__add", json!({ "a": 2, "b": 3 })).await,
            "5"
        );
        let quotient = json!({ "dividend": 6, "divisor": 3 });
        assert_eq!(
            text(&client, "content_types__quotient", quotient).await,
            "2"
        );
        let tools = within(client.list_tools()).await.unwrap();
        assert!(!tools.iter().any(|tool| tool.name.contains("check")));
    }
    let client = connect(client(Negotiation::Auto), &url).await;
    let chart = call(&client, "content_types__chart", json!({ "values": [1] })).await;
    assert_eq!(chart["content"][0]["type"], "image");
    #[cfg(unix)]
    {
        gateway.terminate();
        assert!(gateway.ended().await.success());
    }
}
