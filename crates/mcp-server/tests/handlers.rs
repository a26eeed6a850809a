//! Parameters and errors of handlers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{
    Args, Change, Ctx, Elicitation, ErrorCode, ErrorObject, HandlerError, Revision, Server, Tool,
    prompt, resource,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: u8,
    /// Decoders accept more than the schema of a nested type, so that the schema is checked too.
    #[expect(dead_code, reason = "it is only decoded")]
    nested: Option<Nested>,
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    #[expect(dead_code, reason = "it is only decoded")]
    at: u8,
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
    assert_eq!(call("option", json!({ "number": 3, "nested": [1] })), "0");
    assert_eq!(call("result", json!({ "number": 3 })), "3");
    assert!(call("result", json!({ "number": 300 })).starts_with("no number: invalid arguments"));
    let tools = block_on(client.list_tools()).unwrap();
    assert_eq!(tools[0].input_schema["required"], json!(["number"]));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is only decoded")]
struct Order {
    #[schemars(range(max = 9))]
    count: u8,
    tags: Vec<String>,
    kind: bool,
}

#[test]
fn one_error_names_all_violations_of_arguments() {
    let server = Server::builder("s", "1").tool(Tool::new("order", |_: Args<Order>| "ok"));
    let client = TestClient::new(server);
    let arguments = json!({"count": 10, "tags": ["a", 1], "kind": "no"});
    let error = block_on(client.call_tool("order", arguments)).unwrap();
    let text = error.joined_text();
    for part in [
        "/count: expected a number of at most 9",
        "/tags/1: expected a string",
        "/kind: expected true or false",
    ] {
        assert!(text.contains(part), "{text}");
    }
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
fn a_handler_can_return_every_error_that_can_be_boxed() {
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
fn a_handler_can_change_the_server_that_serves_it() {
    let add = Tool::new("add", |server: Server| {
        server.tools().add(Tool::new("added", || "added"))
    });
    let touch = Tool::new("touch", |cx: Ctx| {
        cx.resource_updated("a://b");
        cx.changed(Change::Tools);
    });
    let revision = Revision::LATEST_WITH_SESSIONS;
    let client = TestClient::at(revision, Server::builder("s", "1").tools([add, touch]));
    block_on(client.call_tool("add", json!({}))).unwrap();
    let said = block_on(client.call_tool("added", json!({}))).unwrap();
    assert_eq!(said.joined_text(), "added");
    block_on(client.call_tool("touch", json!({}))).unwrap();
    let changes: Vec<String> = client
        .notifications()
        .into_iter()
        .map(|(method, _)| method)
        .collect();
    let changed = |list: &str| format!("notifications/{list}/list_changed");
    assert_eq!(changes, [changed("tools"), changed("tools")]);
}

#[test]
fn a_session_value_is_kept_until_the_session_ends() {
    #[derive(Default)]
    struct Calls(AtomicU64);
    let count = Tool::new("count", |cx: Ctx| {
        let calls = cx.session_value(Calls::default);
        calls.0.fetch_add(1, Ordering::Relaxed) + 1
    });
    let server = Server::builder("s", "1").tool(count).build().unwrap();
    for revision in Revision::ALL {
        let client = TestClient::at(revision, server.clone());
        let counts = [(); 3].map(|()| {
            let result = block_on(client.call_tool("count", json!({}))).unwrap();
            result.joined_text()
        });
        let expected = match revision.is_stateless() {
            true => ["1", "1", "1"],
            false => ["1", "2", "3"],
        };
        assert_eq!(counts, expected, "{revision}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

#[test]
fn a_blocking_handler_asks_the_user() {
    let ask = |cx: &Ctx, what: &str| -> Result<bool, HandlerError> {
        let answer = cx.elicit_blocking::<Confirm>(what)?;
        Ok(matches!(
            answer,
            Elicitation::Accepted(Confirm { sure: true })
        ))
    };
    let tool = Tool::new("wipe", move |cx: Ctx| {
        let (first, second) = (ask(&cx, "Really?")?, ask(&cx, "Sure?")?);
        Ok::<_, HandlerError>(format!("{first} {second}"))
    });
    let server = Server::builder("s", "1")
        .tool(tool.blocking())
        .build()
        .unwrap();
    for revision in Revision::ALL {
        let client = TestClient::at(revision, server.clone());
        let client = client.answer_forms(|message, _| json!({ "sure": message == "Sure?" }));
        let result = block_on(client.call_tool("wipe", json!({}))).unwrap();
        if revision.rules().elicitation {
            assert_eq!(result.joined_text(), "false true", "{revision}");
        } else {
            assert_eq!(result.is_error, Some(true), "{revision}");
        }
    }
}

/// A version as text, without support for JSON.
#[derive(Debug)]
struct Version(u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

impl FromStr for Version {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (major, minor) = text.split_once('.').ok_or("a version has a dot")?;
        let number = |part: &str| part.parse().map_err(|_| "a part is not a number");
        Ok(Self(number(major)?, number(minor)?))
    }
}

#[resource("note://{id}/{version}{?page}")]
fn note(id: i64, #[arg(parse)] version: Version, page: Option<u32>) -> String {
    format!("{} {version} {page:?}", id + 1)
}

#[prompt]
fn plan(days: u8, #[arg(parse)] version: Option<Version>) -> String {
    format!("{days} {version:?}")
}

#[test]
fn variables_and_prompt_arguments_are_read_from_text() {
    let server = Server::builder("s", "1")
        .resource(note::resource())
        .prompt(plan::prompt());
    let client = TestClient::new(server);
    let read = |uri: &str| block_on(client.read_resource(uri));
    let text = serde_json::to_value(read("note://41/1.5?page=2").unwrap()).unwrap();
    assert_eq!(text["contents"][0]["text"], "42 1 5 Some(2)");
    let text = serde_json::to_value(read("note://41/1.5").unwrap()).unwrap();
    assert_eq!(text["contents"][0]["text"], "42 1 5 None");
    for (uri, problem) in [
        ("note://x/1.5", "/id: expected an integer, got \"x\""),
        ("note://1/15", "\"15\": a version has a dot"),
    ] {
        let error = read(uri).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    for (version, read) in [("2.0", "3 Some(Version(2, 0))"), ("", "3 None")] {
        let said = block_on(client.get_prompt("plan", json!({ "days": "3", "version": version })));
        let said = serde_json::to_value(said.unwrap()).unwrap();
        assert_eq!(said["messages"][0]["content"]["text"], read);
    }
    let error = block_on(client.get_prompt("plan", json!({ "days": "300" }))).unwrap_err();
    let problem = "/days: expected a number of at most 255, got 300";
    assert!(error.to_string().contains(problem), "{error}");
    let prompts = block_on(client.list_prompts()).unwrap();
    let arguments = prompts[0].arguments.as_ref().unwrap();
    assert_eq!(
        (arguments[0].required, arguments[1].required),
        (Some(true), Some(false))
    );
}

/// Models read the error: it has no names of Rust types, and names all invalid arguments.
#[test]
fn the_error_of_a_tool_without_constraints_names_all_invalid_arguments() {
    #[derive(serde::Deserialize, JsonSchema)]
    struct Numbers {
        a: i64,
        b: u32,
        c: bool,
    }
    let tool = Tool::new("sum", |Args(Numbers { a, b, c }): Args<Numbers>| {
        format!("{a} {b} {c}")
    });
    let client = TestClient::new(Server::builder("s", "1").tool(tool).build().unwrap());
    let result = block_on(client.call_tool("sum", json!({ "a": "x", "b": 2.0 }))).unwrap();
    let text = result.joined_text();
    for part in ["/a", "an integer", "\"c\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("i64") && !text.contains("/b"), "{text}");
}
