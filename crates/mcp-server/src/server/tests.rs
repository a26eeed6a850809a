//! Registration, copies and list cursors of a server.

use mcp_protocol::{Principal, Revision, Service as _};
use serde_json::json;

use crate::testing::{TestClient, block_on};
use crate::{Resource, Server, Tool};

fn tool(name: &str) -> Tool {
    Tool::new(name, || "done")
}

fn resource(uri: &str) -> Resource {
    Resource::text(uri, "text", "text")
}

#[test]
fn resources_are_added_all_together_or_not_at_all() {
    let template = || Resource::new("a://{x}", "family", || "text");
    let server = Server::new("s", "1").resource(template());
    let added = server.add_resources([resource("a://fixed/b"), template()]);
    assert!(added.unwrap_err().to_string().contains("a://{x}"));
    server.add_resources([resource("a://fixed/b")]).unwrap();
}

#[test]
fn builder_methods_of_a_served_server_change_a_copy() {
    let server = Server::new("s", "1").title("first").tool(tool("a"));
    let early = server.clone();
    let _client = TestClient::new(server.clone());
    let copy = server.clone().title("second").tool(tool("b"));
    assert_eq!(server.facts().info.title.as_deref(), Some("first"));
    assert_eq!(copy.facts().info.title.as_deref(), Some("second"));
    assert!(
        early.add_tools([tool("b")]).is_ok(),
        "not on the served server"
    );
    assert!(copy.add_tools([tool("a")]).is_err(), "copied");
}

#[test]
fn handles_taken_before_serving_share_what_is_built_later() {
    let server = Server::new("s", "1");
    let handle = server.clone();
    let server = server.tool(tool("a"));
    assert!(handle.add_tools([tool("a")]).is_err());
    drop(server);
}

#[test]
fn a_failed_registration_is_reported_once() {
    let server = Server::new("s", "1").tool(tool("a")).tool(tool("a"));
    let problem = server.ready().unwrap_err();
    assert!(problem.contains("\"a\" is already registered"), "{problem}");
    assert_eq!(server.ready(), Ok(()));
}

#[test]
fn a_list_cursor_is_invalid_for_another_principal() {
    for revision in [Revision::LATEST_WITH_SESSIONS, Revision::LATEST] {
        let server = Server::new("s", "1")
            .page_size(1)
            .tools([tool("a"), tool("b")]);
        let client =
            |name: &str| TestClient::at(revision, server.clone()).on_behalf(Principal::new(name));
        let (ada, alan) = (client("ada"), client("alan"));
        let page = block_on(ada.request("tools/list", json!({}))).unwrap();
        let next = json!({ "cursor": page["nextCursor"] });
        let page = block_on(ada.request("tools/list", next.clone())).unwrap();
        assert_eq!(page["tools"][0]["name"], "b", "{revision}");
        let refused = block_on(alan.request("tools/list", next)).unwrap_err();
        assert_eq!(refused.code.0, -32602, "{revision}");
    }
}
