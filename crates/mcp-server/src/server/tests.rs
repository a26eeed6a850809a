//! Tests of registration, clones and list cursors of a server.

use std::collections::BTreeMap;

use mcp_protocol::{Principal, Revision};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::testing::{TestClient, block_on};
use crate::{Ask, Resource, Server, Tool};

fn tool(name: &str) -> Tool {
    Tool::new(name, || "done")
}

fn resource(uri: &str) -> Resource {
    Resource::text(uri, "text", "text")
}

#[test]
fn items_are_added_all_together_or_not_at_all() {
    let template = || Resource::new("a://{x}", "family", || "text");
    let server = Server::builder("s", "1")
        .tool(tool("a"))
        .resource(template());
    let server = server.build().unwrap();
    let added = server
        .resources()
        .add([resource("a://fixed/b"), template()]);
    assert!(added.unwrap_err().to_string().contains("a://{x}"));
    server.resources().add(resource("a://fixed/b")).unwrap();
    assert!(server.tools().add([tool("b"), tool("a")]).is_err());
    server.tools().add(tool("b")).unwrap();
}

#[test]
fn clones_of_a_server_share_its_lists() {
    let server = Server::builder("s", "1").build().unwrap();
    let other = server.clone();
    server.tools().add(tool("a")).unwrap();
    assert!(other.tools().add(tool("a")).is_err());
    assert!(other.tools().remove("a"));
    assert!(!server.tools().remove("a"));
}

#[test]
fn every_problem_is_reported_when_the_server_is_built() {
    let server = Server::builder("s", "1")
        .tools([tool("a"), tool("a b"), tool("a")])
        .resource(resource("no uri"))
        .extension("plain", serde_json::Map::new());
    let error = server.build().unwrap_err();
    assert_eq!(error.problems().len(), 4, "{error}");
    for part in [
        "\"a\" is already registered",
        "\"a b\"",
        "no uri",
        "\"plain\"",
    ] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Form<T> {
    value: T,
}

#[test]
fn a_form_that_cannot_be_shown_is_reported_when_the_server_is_built() {
    let map = |Ask(form): Ask<Form<BTreeMap<String, u8>>>| form.value.len().to_string();
    let nested = |Ask(form): Ask<Form<Form<u8>>>| form.value.value.to_string();
    let tools = [Tool::new("map", map), Tool::new("nested", nested)];
    let error = Server::builder("s", "1").tools(tools).build().unwrap_err();
    assert_eq!(error.problems().len(), 2, "{error}");
    for tool in ["map", "nested"] {
        let problem = format!("tool {tool:?}: field \"value\" cannot be shown in a form");
        assert!(error.to_string().contains(&problem), "{error}");
    }
}

#[test]
fn a_list_cursor_is_invalid_for_another_principal() {
    for revision in [Revision::LATEST_WITH_SESSIONS, Revision::LATEST] {
        let server = Server::builder("s", "1")
            .page_size(1)
            .tools([tool("a"), tool("b")])
            .build()
            .unwrap();
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
