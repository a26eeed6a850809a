//! Tools, prompts and resources that are methods of one value.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{CompletionRequest, Ctx, Server, prompts, resources, tools};
use serde_json::json;

#[derive(Clone, Default)]
struct Notes {
    texts: Arc<Mutex<Vec<String>>>,
}

fn numbers(_: CompletionRequest) -> Vec<String> {
    vec!["0".to_owned(), "1".to_owned()]
}

#[tools]
impl Notes {
    /// Adds a note.
    #[tool(idempotent)]
    fn add(&self, text: String) -> usize {
        let mut texts = self.texts.lock().unwrap();
        texts.push(text);
        texts.len()
    }
}

#[prompts]
impl Notes {
    /// Asks for a summary of a note.
    #[prompt(title = "Summary")]
    fn summary(&self, #[arg(complete = numbers)] number: usize) -> Result<String, &'static str> {
        let text = self.text(number).ok_or("no such note")?;
        Ok(format!("Summarize: {text}"))
    }

    fn text(&self, number: usize) -> Option<String> {
        self.texts.lock().unwrap().get(number).cloned()
    }
}

#[resources]
impl Notes {
    /// One note.
    #[resource("notes://{number}", mime = "text/markdown")]
    async fn note(&self, _cx: Ctx, number: usize) -> Option<String> {
        self.text(number)
    }

    /// All notes.
    #[resource("notes://all")]
    fn all(&self) -> String {
        self.texts.lock().unwrap().join("\n")
    }
}

#[test]
fn tools_prompts_and_resources_of_one_type_share_a_value() {
    let notes = Notes::default();
    let server = Server::builder("notes", "1")
        .tools(notes.clone().tools())
        .prompts(notes.clone().prompts())
        .resources(notes.clone().resources());
    let client = TestClient::new(server);

    let added = block_on(client.call_tool("add", json!({ "text": "first" })));
    assert_eq!(added.unwrap().joined_text(), "1");
    block_on(client.call_tool("add", json!({ "text": "second" }))).unwrap();

    let prompt = block_on(client.get_prompt("summary", json!({ "number": "1" }))).unwrap();
    let prompt = serde_json::to_value(&prompt).unwrap();
    assert_eq!(
        prompt["messages"][0]["content"]["text"],
        "Summarize: second"
    );
    let listed = block_on(client.list_prompts()).unwrap();
    assert_eq!(listed[0].title.as_deref(), Some("Summary"));
    assert_eq!(
        listed[0].description.as_deref(),
        Some("Asks for a summary of a note.")
    );

    for (uri, text) in [("notes://0", "first"), ("notes://all", "first\nsecond")] {
        let read = block_on(client.read_resource(uri)).unwrap();
        let read = serde_json::to_value(&read).unwrap();
        assert_eq!(read["contents"][0]["text"], text);
    }
    block_on(client.read_resource("notes://2")).unwrap_err();
    assert_eq!(notes.texts.lock().unwrap().len(), 2);
}
