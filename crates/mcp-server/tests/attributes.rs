//! `#[tool]`, `#[tools]` and `#[prompt]` in places and with types that authors expect to work.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use mcp_server::testing::{TestClient, block_on};
use mcp_server::types::Meta;
use mcp_server::{Ctx, Server, prompt, resource, tool, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

struct Service;

#[tools]
impl Service {
    /// Is there on every system.
    #[tool]
    fn here(&self) -> &'static str {
        "here"
    }

    #[cfg(any())]
    #[tool]
    fn elsewhere(&self) -> NoSuchType {
        no_such_function()
    }
}

#[tools(name = more_tools)]
impl Service {
    #[tool(name = "tools")]
    fn all(&self) -> &'static str {
        "all"
    }
}

fn call(client: &TestClient, name: &str, arguments: Value) -> String {
    block_on(client.call_tool(name, arguments))
        .unwrap()
        .joined_text()
}

#[test]
fn tool_methods_can_have_a_cfg_attribute_and_be_in_several_blocks() {
    let server = Server::builder("s", "1")
        .tools(Service.tools())
        .tools(Service.more_tools());
    let client = TestClient::new(server);
    let listed = block_on(client.list_tools()).unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["here", "tools"]);
    assert_eq!(call(&client, "here", json!({})), "here");
    assert_eq!(call(&client, "tools", json!({})), "all");
}

#[derive(Debug, Deserialize, JsonSchema)]
enum State {
    On,
    Off,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct S {
    at: u8,
}

#[tool]
fn set(#[arg] state: State, s: S) -> String {
    format!("{state:?} {}", s.at)
}

macro_rules! number_tool {
    ($name:ident, $number:ty, $context:ty, $doc:expr) => {
        #[doc = $doc]
        #[tool]
        fn $name(number: $number, cx: $context) -> String {
            let _ = cx;
            format!("{number:?}")
        }
    };
}

number_tool!(number, Option<u32>, Ctx, "From a macro.");

#[test]
fn the_attributes_arg_and_extract_decide_what_is_an_argument() {
    let client = TestClient::new(Server::builder("s", "1").tools([set::tool(), number::tool()]));
    let arguments = json!({"state": "On", "s": {"at": 1}});
    assert_eq!(call(&client, "set", arguments), "On 1");
    assert_eq!(call(&client, "number", json!({"number": 5.0})), "Some(5)");
    let _ = State::Off;
}

type Count = u32;

#[prompt]
fn repeat(text: String, count: Count, #[arg(default = 2)] also: u8) -> String {
    format!("{text}{count}{also}")
}

#[test]
fn a_prompt_reads_a_number_whose_type_is_an_alias() {
    let client = TestClient::new(Server::builder("s", "1").prompt(repeat::prompt()));
    let listed = block_on(client.list_prompts()).unwrap();
    let names = listed[0].arguments.iter().flatten();
    let names: Vec<&str> = names.map(|argument| &*argument.name).collect();
    assert_eq!(names, ["text", "count", "also"]);
    let result = block_on(client.get_prompt("repeat", json!({"text": "t", "count": "7"})));
    assert!(json!(result.unwrap()).to_string().contains("t72"));
}

/** Block one.
 * Block two.
 *
 *  - indented
 */
#[tool]
fn starred(
    /** Text one.
     * Text two.
     */
    text: String,
) -> String {
    text
}

/// First.
#[doc = concat!("Second", " and third.")]
#[tool]
fn included() -> Arc<str> {
    "arc".into()
}

#[test]
fn descriptions_are_read_from_every_form_of_doc_comment() {
    let client = TestClient::new(Server::builder("s", "1").tools([
        starred::tool(),
        included::tool(),
        number::tool(),
    ]));
    let listed = block_on(client.list_tools()).unwrap();
    let of = |at: usize| listed[at].description.as_deref().unwrap();
    assert_eq!(of(0), "Block one.\nBlock two.\n\n - indented");
    assert_eq!(of(1), "First.\nSecond and third.");
    assert_eq!(of(2), "From a macro.");
    let text = &listed[0].input_schema["properties"]["text"];
    assert_eq!(text["description"], "Text one.\nText two.");
}

#[tool]
fn cow() -> Cow<'static, str> {
    "cow".into()
}

#[tool]
fn boxed() -> Box<str> {
    "box".into()
}

#[tool]
fn future() -> Pin<Box<dyn Future<Output = String> + Send>> {
    Box::pin(async { "future".to_owned() })
}

#[test]
fn functions_can_return_owned_texts_and_boxed_futures() {
    let tools = [cow::tool(), boxed::tool(), included::tool(), future::tool()];
    let client = TestClient::new(Server::builder("s", "1").tools(tools));
    for (name, text) in [
        ("cow", "cow"),
        ("boxed", "box"),
        ("included", "arc"),
        ("future", "future"),
    ] {
        assert_eq!(call(&client, name, json!({})), text);
    }
}

fn team(name: &str) -> Meta {
    Meta::new().with("com.example/team", name)
}

#[tool(meta = team("a"))]
fn owned_tool() {}

#[prompt(meta = team("b"))]
fn owned_prompt() -> &'static str {
    "hello"
}

#[resource("x://{id}", meta = team("c"))]
fn owned_resource(id: String) -> String {
    id
}

#[test]
fn the_meta_option_of_the_attributes_sets_the_meta_of_definitions() {
    let server = Server::builder("s", "1")
        .tool(owned_tool::tool())
        .prompt(owned_prompt::prompt())
        .resource(owned_resource::resource());
    let client = TestClient::new(server);
    let listed = [
        json!(block_on(client.list_tools()).unwrap()),
        json!(block_on(client.list_prompts()).unwrap()),
        json!(block_on(client.list_resource_templates()).unwrap()),
    ];
    let teams = listed.map(|list| list[0]["_meta"]["com.example/team"].clone());
    assert_eq!(json!(teams), json!(["a", "b", "c"]));
}
