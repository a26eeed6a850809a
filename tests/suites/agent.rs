//! The example `agent` in a pseudo-terminal, with a model that follows a script.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::prelude::*;

/// The time limit of a step, also on a busy machine.
const STEP: Duration = Duration::from_secs(45);
/// The time limit of the conversation.
const DEADLINE: Duration = Duration::from_secs(110);
const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";

/// A model API on loopback: requests, and the events of the responses that the test chooses.
struct ScriptedModel {
    url: String,
    requests: mpsc::Receiver<Value>,
    responses: mpsc::Sender<Vec<Value>>,
}

type Script = (
    mpsc::Sender<Value>,
    Arc<tokio::sync::Mutex<mpsc::Receiver<Vec<Value>>>>,
);

async fn respond(
    State((requests, responses)): State<Script>,
    body: String,
) -> impl IntoResponse + use<> {
    let request = serde_json::from_str(&body).unwrap();
    requests.send(request).await.unwrap();
    let events = responses.lock().await.recv().await.unwrap();
    let events = events
        .iter()
        .map(|event| format!("event: x\ndata: {event}\n\n"));
    let body = events.chain(["data: [DONE]\n\n".to_owned()]);
    (
        [("content-type", "text/event-stream")],
        body.collect::<String>(),
    )
}

impl ScriptedModel {
    async fn start() -> Self {
        let (sender, requests) = mpsc::channel(8);
        let (responses, receiver) = mpsc::channel(8);
        let script: Script = (sender, Arc::new(tokio::sync::Mutex::new(receiver)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/chat/completions", post(respond))
            .route("/v1/responses", post(respond))
            .with_state(script);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            requests,
            responses,
        }
    }

    async fn send(&self, deltas: impl IntoIterator<Item = Value>) {
        let event = |delta| json!({ "choices": [{ "index": 0, "delta": delta }] });
        let events = deltas.into_iter().map(event).collect();
        self.responses.send(events).await.unwrap();
    }

    /// Calls a tool; the arguments arrive in two parts.
    async fn call(&self, tool: &str, arguments: Value) {
        let arguments = arguments.to_string();
        let (first, rest) = arguments.split_at(1);
        let name = format!("everything__{tool}");
        let function = json!({ "name": name, "arguments": first });
        let begin = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
        let end = json!({ "index": 0, "function": { "arguments": rest } });
        self.send([begin, end].map(|call| json!({ "tool_calls": [call] })))
            .await;
    }

    async fn say(&self, text: &str) {
        let (first, rest) = text.split_at(1);
        self.send([first, rest].map(|text| json!({ "content": text })))
            .await;
    }

    async fn request(&mut self) -> Value {
        let request = timeout(STEP, self.requests.recv()).await;
        let request = request.expect("the agent sent no request").unwrap();
        assert!(!request["tools"].as_array().unwrap().is_empty());
        request
    }

    /// Returns the messages of the next request.
    async fn asked(&mut self) -> Vec<Value> {
        let request = self.request().await;
        request["messages"].as_array().unwrap().clone()
    }
}

/// The program, in a terminal of its own.
struct Agent {
    process: Child,
    terminal: File,
    printed: mpsc::Receiver<String>,
    seen: String,
}

impl Agent {
    fn start(folder: &Path, url: &str, options: &[&str]) -> Self {
        let test = std::env::current_exe().unwrap();
        let agent = test.parent().unwrap().parent().unwrap();
        let agent = agent.join("examples/agent");
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let end = File::options().read(true).write(true).open(name).unwrap();
        // `setsid` makes it the terminal of the session, which turns Ctrl-C into a signal.
        let process = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(agent)
            .args(["--model", "scripted", "--url", url, "--config", "mcp.json"])
            .args(options)
            .current_dir(folder)
            .stdin(end.try_clone().unwrap())
            .stdout(end.try_clone().unwrap())
            .stderr(end)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let terminal = File::from(terminal as OwnedFd);
        let (sender, printed) = mpsc::channel(1_024);
        let mut output = terminal.try_clone().unwrap();
        // Ends with an error when no program has the terminal any more.
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length) = output.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                if length == 0 || sender.blocking_send(text).is_err() {
                    break;
                }
            }
        });
        Self {
            process,
            terminal,
            printed,
            seen: String::new(),
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.terminal.write_all(keys).unwrap();
    }

    fn type_line(&mut self, line: &str) {
        self.press(format!("{line}\n").as_bytes());
    }

    /// Reads what the terminal shows, up to this text.
    async fn until(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let printed = timeout(STEP, self.printed.recv()).await;
            let Ok(Some(printed)) = printed else {
                panic!("the agent did not print {text:?}: {:?}", self.seen);
            };
            self.seen += &printed;
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }

    /// Types a line when the program waits for one.
    async fn ask(&mut self, line: &str) {
        self.until("you> ").await;
        self.type_line(line);
    }

    /// Answers a request for consent that names this.
    async fn consent(&mut self, shown: &str, answer: &str) {
        self.until(shown).await;
        self.until("[N]o: ").await;
        self.type_line(answer);
    }

    async fn end(mut self) {
        self.until("you> ").await;
        self.press(CTRL_D);
        let status = timeout(STEP, self.process.wait()).await.unwrap();
        assert!(status.unwrap().success());
    }
}

/// Returns a folder with a configuration of two servers, one of which does not exist.
fn folder(name: &str) -> PathBuf {
    let name = format!("agent-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let server = json!({ "command": env!("CARGO_BIN_EXE_everything-server"), "args": ["--stdio"] });
    let config = json!({ "mcpServers": { "everything": server, "broken": { "command": "no-such-program" } } });
    std::fs::write(folder.join("mcp.json"), config.to_string()).unwrap();
    folder
}

async fn conversation() {
    let folder = folder("chat");
    let mut model = ScriptedModel::start().await;
    let mut agent = Agent::start(&folder, &model.url, &[]);

    // Consent to start a server, by its command line. A program that does not exist is not asked about.
    agent.consent("start the server ", "y").await;

    // A call with consent, and its result in the next request.
    agent.ask("What is 2 + 3?").await;
    let messages = model.asked().await;
    assert_eq!(messages.last().unwrap()["content"], "What is 2 + 3?");
    model.call("add", json!({ "a": 2, "b": 3 })).await;
    agent.consent("\"a\"", "y").await;
    let messages = model.asked().await;
    let result = messages.last().unwrap();
    assert_eq!(
        (&result["role"], &result["content"]),
        (&json!("tool"), &json!("5"))
    );
    model.say("It is 5.").await;
    agent.until("It is 5.\r\n").await;

    // A call that the user refuses.
    agent.ask("Again").await;
    model.asked().await;
    model.call("echo", json!({ "message": "x" })).await;
    agent.consent("echo", "n").await;
    let messages = model.asked().await;
    let refused = messages.last().unwrap()["content"].to_string();
    assert!(refused.contains("denied"), "{refused}");
    model.say("Then not.").await;
    agent.until("Then not.\r\n").await;

    // A form, and a bar that is drawn again.
    agent.ask("Greet me").await;
    model.asked().await;
    model
        .call("test_input_required_result_elicitation", json!({}))
        .await;
    agent.consent("test_input_required", "s").await;
    agent.until("name, empty for none: ").await;
    agent.type_line("Ada");
    agent.until("send it? ").await;
    agent.type_line("");
    let messages = model.asked().await;
    assert_eq!(messages.last().unwrap()["content"], "Hello, Ada!");
    model.call("test_tool_with_progress", json!({})).await;
    agent.consent("test_tool_with_progress", "y").await;
    let bar = "\r\u{1b}[K[test_tool_with_progress: ##########---------- 50 %";
    agent.until(bar).await;
    model.asked().await;
    model.say("Done.").await;
    agent.until("Done.\r\n").await;

    // Ctrl-C ends an answer; the program goes on.
    agent.ask("Wait").await;
    model.asked().await;
    model.call("wait_for_cancel", json!({})).await;
    agent.consent("wait_for_cancel", "y").await;
    // The progress of the call: the line "y" was read, and the server runs.
    agent.until("wait_for_cancel: ").await;
    agent.press(CTRL_C);
    agent.until("interrupted").await;
    agent.ask("Hello").await;
    let messages = model.asked().await;
    assert!(messages.iter().all(|message| message["content"] != "Wait"));
    model.say("Hello.").await;
    agent.until("Hello.\r\n").await;

    // The end of the input ends the program, and its servers.
    agent.end().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The text of all messages.
fn texts(messages: &Value) -> String {
    let messages = messages.as_array().unwrap().iter();
    let texts = messages.map(|message| match message["content"].as_array() {
        Some(parts) => parts
            .iter()
            .map(|part| part["text"].as_str().unwrap_or("(media)"))
            .collect(),
        None => message["content"].as_str().unwrap_or_default().to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

async fn attachments_and_search() {
    let folder = folder("search");
    let mut model = ScriptedModel::start().await;
    let options = ["--api", "responses", "--tool-tokens", "1"];
    let mut agent = Agent::start(&folder, &model.url, &options);
    agent.consent("start the server ", "y").await;

    // What can be written.
    agent.ask("/").await;
    agent.until("/mcp__everything__test_simple_prompt").await;
    agent.until("@everything:test://static-text").await;

    // A prompt and a resource, in front of what the model answers.
    agent.ask("/mcp__everything__test_simple_prompt").await;
    agent
        .until("attached mcp__everything__test_simple_prompt: ")
        .await;
    let request = model.request().await;
    assert_eq!(request["input"].as_array().unwrap().len(), 1, "{request}");
    let complete = |output: Value| {
        vec![
            json!({ "type": "response.output_text.delta", "delta": "I am" }),
            json!({ "type": "response.output_text.delta", "delta": " here." }),
            json!({ "type": "response.completed", "response": { "output": output } }),
        ]
    };
    let said = json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I am here." }] }]);
    model.responses.send(complete(said.clone())).await.unwrap();
    agent.until("I am here.\r\n").await;
    agent.ask("Read @everything:test://static-text!").await;
    agent
        .until("attached everything:test://static-text: ")
        .await;
    let request = model.request().await;
    let shown = texts(&request["input"]);
    assert!(
        shown.contains(": the resource \"test://static-text\" of the server \"everything\"]"),
        "{shown}"
    );
    assert!(
        shown.ends_with("Read @everything:test://static-text!"),
        "{shown}"
    );

    // The API leaves the search to the host, and then calls the tool that was found.
    let [read_result, search] = &request["tools"].as_array().unwrap()[..] else {
        panic!("{}", request["tools"]);
    };
    assert_eq!(read_result["name"], "read_result");
    assert_eq!(search["execution"], "client");
    let search = json!({ "type": "tool_search_call", "call_id": "1", "execution": "client", "arguments": { "query": "add numbers" } });
    model
        .responses
        .send(complete(json!([search])))
        .await
        .unwrap();
    let request = model.request().await;
    let found = request["input"].as_array().unwrap().last().unwrap();
    assert_eq!(found["type"], "tool_search_output", "{found}");
    let is_add = |tool: &Value| tool["name"] == "everything__add";
    assert!(
        found["tools"].as_array().unwrap().iter().any(is_add),
        "{found}"
    );
    let call = json!({ "type": "function_call", "call_id": "2", "name": "everything__add", "arguments": "{\"a\":2,\"b\":3}" });
    model.responses.send(complete(json!([call]))).await.unwrap();
    agent.consent("add", "y").await;
    let request = model.request().await;
    let result = request["input"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&result["type"], &result["output"]),
        (&json!("function_call_output"), &json!("5"))
    );
    model.responses.send(complete(said)).await.unwrap();
    agent.end().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn the_agent_asks_for_consent_calls_tools_shows_forms_and_can_be_interrupted() {
    timeout(DEADLINE, conversation()).await.unwrap();
}

#[tokio::test]
async fn the_agent_attaches_prompts_and_resources_and_searches_tools_for_the_model() {
    timeout(DEADLINE, attachments_and_search()).await.unwrap();
}
