//! Servers that consist of other servers, and items with a state of their own.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mcp_server::testing::{TestClient, block_on};
use mcp_server::types::JsonObject;
use mcp_server::types::Resource as Listed;
use mcp_server::{
    Args, CompletionRequest, Cursor, ErrorObject, Prompt, Resource, ResourcePage, Revision, Server,
    ServerBuilder, State, Tool,
};
use serde_json::json;

/// A server with one item of each kind, which says the name that is its state.
fn named(name: &str) -> ServerBuilder<String> {
    Server::builder(name, "1")
        .state(name.to_owned())
        .tool(Tool::new("who", |State(name): State<String>| name))
        .prompt(
            Prompt::new(
                "greet",
                |State(name): State<String>, Args(args): Args<JsonObject>| {
                    format!("{name} greets {}", args["whom"])
                },
            )
            .arguments(vec![mcp_server::types::PromptArgument::new("whom")])
            .complete(
                "whom",
                async |request: CompletionRequest, State(name): State<String>| {
                    vec![format!("{}{name}", request.value)]
                },
            ),
        )
        .resource(Resource::new(
            "data://name",
            "name",
            |State(name): State<String>| name,
        ))
        .resource(Resource::new(
            "data://{part}/x",
            "part",
            |Args(args): Args<JsonObject>| args["part"].as_str().unwrap_or_default().to_owned(),
        ))
}

fn text_of(client: &TestClient, uri: &str) -> String {
    let result = block_on(client.read_resource(uri)).unwrap();
    serde_json::to_value(&result.contents[0]).unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_mounted_server_keeps_its_state_and_gets_a_prefix() {
    for revision in Revision::ALL {
        let server = Server::builder("outer", "1")
            .state(7_u8)
            .tool(Tool::new("number", |State(number): State<u8>| {
                u64::from(number)
            }))
            .mount("ada", named("Ada"))
            .mount("alan", named("Alan"));
        let client = TestClient::at(revision, server);
        let tools = block_on(client.list_tools()).unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["number", "ada_who", "alan_who"], "{revision}");
        let call = |name: &str| {
            block_on(client.call_tool(name, json!({})))
                .unwrap()
                .joined_text()
        };
        assert_eq!(
            [call("number"), call("ada_who"), call("alan_who")],
            ["7", "Ada", "Alan"]
        );
        assert_eq!(text_of(&client, "data://ada/name"), "Ada");
        assert_eq!(text_of(&client, "data://alan/it/x"), "it");
        let prompts = block_on(client.list_prompts()).unwrap();
        assert_eq!(prompts[1].name, "alan_greet");
        let reference = json!({ "type": "ref/prompt", "name": "ada_greet" });
        let values = block_on(client.complete(reference, "whom", "to ")).unwrap();
        assert_eq!(values, ["to Ada"], "{revision}");
    }
}

#[test]
fn results_of_mounted_tools_have_the_identity_of_the_outer_server() {
    let client = TestClient::new(Server::builder("outer", "1").mount("in", named("Inner")));
    let params = json!({ "name": "in_who", "arguments": {} });
    let result = block_on(client.request("tools/call", params)).unwrap();
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "outer");
}

#[test]
fn name_clashes_and_invalid_prefixes_are_reported_when_the_server_is_built() {
    let error = named("a").merge(named("b")).build().unwrap_err();
    assert_eq!(error.problems().len(), 4, "{error}");
    assert!(
        error
            .to_string()
            .contains("tool \"who\" is already registered"),
        "{error}"
    );

    let urn = Server::builder("s", "1").resource(Resource::text("urn:isbn:1", "book", ".."));
    let error = Server::builder("s", "1")
        .mount("books", urn)
        .build()
        .unwrap_err();
    assert!(
        error.to_string().contains("\"urn:isbn:1\" under \"books\""),
        "{error}"
    );

    let error = Server::builder("s", "1")
        .mount("a b", named("x"))
        .build()
        .unwrap_err();
    assert_eq!(error.problems().len(), 3, "{error}");
}

#[test]
fn guards_of_a_mounted_server_get_names_without_prefix_and_apply_only_to_its_items() {
    let inner = named("Inner").guard(|request| match request.target {
        Some("who" | "data://name" | "data://a/x") => {
            Err(ErrorObject::invalid_request("refused by the guard"))
        }
        _ => Ok(()),
    });
    let outer = Server::builder("outer", "1")
        .tool(Tool::new("who", || "outer"))
        .mount("in", inner);
    let client = TestClient::new(outer);
    assert!(block_on(client.call_tool("who", json!({}))).is_ok());
    let refused = block_on(client.call_tool("in_who", json!({}))).unwrap_err();
    assert_eq!(refused.message, "refused by the guard");
    for uri in ["data://in/name", "data://in/a/x"] {
        assert!(block_on(client.read_resource(uri)).is_err(), "{uri}");
    }
    assert_eq!(text_of(&client, "data://in/b/x"), "b");
}

#[test]
fn handlers_keep_the_state_that_was_set_before_them() {
    let server = Server::builder("states", "1")
        .state(1_u8)
        .tool(Tool::new("number", |State(n): State<u8>| n))
        .state("two")
        .tool(Tool::new("text", |State(text): State<&'static str>| text));
    let client = TestClient::new(server);
    for (name, value) in [("number", "1"), ("text", "two")] {
        let result = block_on(client.call_tool(name, json!({}))).unwrap();
        assert_eq!(result.joined_text(), value);
    }
}

#[test]
fn an_item_that_is_bound_to_its_state_can_be_added_to_any_server() {
    let tool = Tool::new("who", |State(name): State<String>| name);
    let server = Server::builder("s", "1")
        .tool(tool.with_state("me".to_owned()).named("whoami"))
        .prompt(Prompt::new("p", |State(n): State<u8>| n.to_string()).with_state(1_u8))
        .resource(
            Resource::new("a://b", "b", |State(n): State<u8>| n.to_string()).with_state(2_u8),
        );
    let client = TestClient::new(server);
    let said = block_on(client.call_tool("whoami", json!({}))).unwrap();
    assert_eq!(said.joined_text(), "me");
    assert_eq!(text_of(&client, "a://b"), "2");
    assert!(block_on(client.get_prompt("p", json!({}))).is_ok());
}

async fn rows(Cursor(after): Cursor) -> ResourcePage {
    let start = after.map_or(0, |id| id.parse().unwrap());
    let rows = (start + 1..=start + 2).map(|id| Listed::new(format!("row://{id}"), "row"));
    ResourcePage::new(rows.collect(), (start < 2).then(|| (start + 2).to_string()))
}

#[test]
fn resources_of_a_data_source_are_listed_after_the_registered_resources() {
    for revision in Revision::ALL {
        let rows = Server::builder("rows", "1").list_resources(rows);
        let server = named("Ada").mount("db", rows);
        let client = TestClient::at(revision, server);
        let listed = block_on(client.list_resources()).unwrap();
        let uris: Vec<&str> = listed.iter().map(|it| &*it.uri).collect();
        let expected = [
            "data://name",
            "row://db/1",
            "row://db/2",
            "row://db/3",
            "row://db/4",
        ];
        assert_eq!(uris, expected, "{revision}");
        let forged = block_on(client.request("resources/list", json!({ "cursor": "Mg.00" })));
        assert_eq!(forged.unwrap_err().code.0, -32602);
    }
    let error = Server::builder("s", "1")
        .list_resources(rows)
        .list_resources(rows)
        .build();
    assert!(error.unwrap_err().to_string().contains("two data sources"));
}
