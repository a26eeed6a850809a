//! Parameters and errors of handlers.

use std::error::Error;
use std::fmt;

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{Args, Change, Ctx, ErrorCode, ErrorObject, HandlerError, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: u8,
}

#[test]
fn a_handler_may_take_an_extractor_as_option_or_result() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("option", |number: Option<Args<Number>>| {
            number.map_or(0, |Args(it)| it.number)
        }))
        .tool(Tool::new(
            "result",
            |number: Result<Args<Number>, HandlerError>| match number {
                Ok(Args(it)) => it.number.to_string(),
                Err(error) => format!("no number: {error}"),
            },
        ));
    let client = TestClient::new(server);
    let call = |name: &str, arguments| {
        block_on(client.call_tool(name, arguments))
            .unwrap()
            .joined_text()
    };
    assert_eq!(call("option", json!({ "number": 3 })), "3");
    assert_eq!(call("option", json!({ "number": 300 })), "0");
    assert_eq!(call("result", json!({ "number": 3 })), "3");
    assert!(call("result", json!({ "number": 300 })).starts_with("no number: invalid arguments"));
    let tools = block_on(client.list_tools()).unwrap();
    assert_eq!(tools[0].input_schema["required"], json!(["number"]));
}

/// An error type that is no `std::error::Error`, like `anyhow::Error`.
struct Report(String);

impl From<Report> for Box<dyn Error + Send + Sync> {
    fn from(report: Report) -> Self {
        report.0.into()
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[test]
fn every_error_that_can_be_boxed_is_the_error_of_a_handler() {
    let refused = || ErrorObject::new(ErrorCode(-1_234), "refused");
    let server = Server::builder("s", "1")
        .tool(Tool::new("report", || {
            Err::<(), _>(Report("report".to_owned()))
        }))
        .tool(Tool::new("boxed", || {
            Err::<(), Box<dyn Error + Send + Sync>>("boxed".into())
        }))
        .tool(Tool::new("local", || {
            Err::<(), Box<dyn Error>>("local".into())
        }))
        .tool(Tool::new("text", || Err::<(), _>("text")))
        .tool(Tool::new("converted", || {
            let report = || Err::<(), _>(Report("converted".to_owned()));
            report().map_err(HandlerError::from_boxed)
        }))
        .tool(Tool::new("refused", move || {
            Err::<(), Box<dyn Error + Send + Sync>>(refused().into())
        }));
    let client = TestClient::new(server);
    for name in ["report", "boxed", "local", "text", "converted"] {
        let result = block_on(client.call_tool(name, json!({}))).unwrap();
        assert_eq!(
            (result.joined_text(), result.is_error),
            (name.to_owned(), Some(true))
        );
    }
    let error = block_on(client.call_tool("refused", json!({}))).unwrap_err();
    assert_eq!(error.code, ErrorCode(-1_234));
}

#[test]
fn a_handler_reaches_the_server_that_serves_it() {
    let add = Tool::new("add", |server: Server| {
        server.tools().add(Tool::new("added", || "added"))
    });
    let touch = Tool::new("touch", |cx: Ctx| {
        cx.resource_updated("a://b");
        cx.changed(Change::Tools);
    });
    let revision = mcp_server::Revision::LATEST_WITH_SESSIONS;
    let client = TestClient::at(revision, Server::builder("s", "1").tools([add, touch]));
    block_on(client.call_tool("add", json!({}))).unwrap();
    let said = block_on(client.call_tool("added", json!({}))).unwrap();
    assert_eq!(said.joined_text(), "added");
    block_on(client.call_tool("touch", json!({}))).unwrap();
    let heard: Vec<String> = client
        .heard()
        .into_iter()
        .map(|(method, _)| method)
        .collect();
    let changed = |list: &str| format!("notifications/{list}/list_changed");
    assert_eq!(heard, [changed("tools"), changed("tools")]);
}
