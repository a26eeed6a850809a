//! The example `agent`, with a model that follows a script.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::Stdio;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::prelude::*;

/// The time limit of a step, also on a busy machine.
const STEP: Duration = Duration::from_secs(45);
/// The time limit of the conversation.
const DEADLINE: Duration = Duration::from_secs(110);

/// A model API on loopback: requests, and the responses that the test chooses.
struct ScriptedModel {
    url: String,
    requests: mpsc::Receiver<Value>,
    responses: mpsc::Sender<Value>,
}

type Script = (
    mpsc::Sender<Value>,
    Arc<tokio::sync::Mutex<mpsc::Receiver<Value>>>,
);

async fn complete(State((requests, responses)): State<Script>, body: String) -> String {
    let request = serde_json::from_str(&body).unwrap();
    requests.send(request).await.unwrap();
    let message = responses.lock().await.recv().await.unwrap();
    json!({ "choices": [{ "message": message }] }).to_string()
}

impl ScriptedModel {
    async fn start() -> Self {
        let (sender, requests) = mpsc::channel(8);
        let (responses, receiver) = mpsc::channel(8);
        let script: Script = (sender, Arc::new(tokio::sync::Mutex::new(receiver)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .with_state(script);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            requests,
            responses,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) {
        let function =
            json!({ "name": format!("everything__{tool}"), "arguments": arguments.to_string() });
        let tool_call = json!({ "id": "call_1", "type": "function", "function": function });
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [tool_call] });
        self.responses.send(message).await.unwrap();
    }

    async fn say(&self, text: &str) {
        let message = json!({ "role": "assistant", "content": text });
        self.responses.send(message).await.unwrap();
    }

    /// Returns the messages of the next request.
    async fn asked(&mut self) -> Vec<Value> {
        let request = timeout(STEP, self.requests.recv()).await;
        let request = request.expect("the agent sent no request").unwrap();
        assert!(!request["tools"].as_array().unwrap().is_empty());
        request["messages"].as_array().unwrap().clone()
    }
}

struct Agent {
    process: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: BufReader<ChildStderr>,
    seen: String,
}

impl Agent {
    fn start(folder: &PathBuf, url: &str) -> Self {
        let test = std::env::current_exe().unwrap();
        let agent = test
            .parent()
            .unwrap()
            .parent()
            .unwrap()
            .join("examples/agent");
        let mut process = Command::new(agent)
            .args(["--model", "scripted", "--url", url, "--config", "mcp.json"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            stdin: process.stdin.take().unwrap(),
            stdout: process.stdout.take().unwrap(),
            stderr: BufReader::new(process.stderr.take().unwrap()),
            process,
            seen: String::new(),
        }
    }

    async fn type_line(&mut self, line: &str) {
        self.stdin
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Reads stdout up to this text.
    async fn until(&mut self, text: &str) {
        let mut buffer = [0; 4_096];
        while !self.seen.contains(text) {
            let read = timeout(STEP, self.stdout.read(&mut buffer)).await;
            let length = match read {
                Ok(length) => length.unwrap(),
                Err(_) => panic!("the agent did not print {text:?}: {:?}", self.seen),
            };
            assert_ne!(length, 0, "the agent ended before {text:?}: {}", self.seen);
            self.seen += std::str::from_utf8(&buffer[..length]).unwrap();
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }

    /// Reads stderr up to a line with this text.
    async fn noted(&mut self, text: &str) {
        let (mut line, mut seen) = (String::new(), String::new());
        while !line.contains(text) {
            line.clear();
            let Ok(length) = timeout(STEP, self.stderr.read_line(&mut line)).await else {
                panic!("the agent did not note {text:?}: {seen:?}");
            };
            assert_ne!(length.unwrap(), 0, "the agent ended before {text:?}");
            seen += &line;
        }
    }

    fn interrupt(&self) {
        let id = rustix::process::Pid::from_raw(self.process.id().unwrap().try_into().unwrap());
        rustix::process::kill_process(id.unwrap(), rustix::process::Signal::INT).unwrap();
    }
}

async fn conversation() {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = json!({ "command": env!("CARGO_BIN_EXE_everything-server"), "args": ["--stdio"] });
    let config = json!({ "mcpServers": { "everything": server, "broken": { "command": "no-such-program" } } });
    std::fs::write(folder.join("mcp.json"), config.to_string()).unwrap();
    let mut model = ScriptedModel::start().await;
    let mut agent = Agent::start(&folder, &model.url);

    // Consent to start a server, by its command line. A program that does not exist is not asked about.
    agent.until("start the server ").await;
    agent.until("[N]o? ").await;
    agent.type_line("y").await;
    agent.until("you> ").await;

    // A call with consent, and its result in the next request.
    agent.type_line("What is 2 + 3?").await;
    assert_eq!(
        model.asked().await.last().unwrap()["content"],
        "What is 2 + 3?"
    );
    model.call("add", json!({ "a": 2, "b": 3 })).await;
    agent.until("\"a\"").await;
    agent.until("[N]o? ").await;
    agent.type_line("y").await;
    let messages = model.asked().await;
    let result = messages.last().unwrap();
    assert_eq!(
        (&result["role"], &result["content"]),
        (&json!("tool"), &json!("5"))
    );
    model.say("It is 5.").await;
    agent.until("It is 5.\n").await;
    agent.until("you> ").await;

    // A call that the user refuses.
    agent.type_line("Again").await;
    model.asked().await;
    model.call("echo", json!({ "message": "x" })).await;
    agent.until("[N]o? ").await;
    agent.type_line("n").await;
    let messages = model.asked().await;
    let refused = messages.last().unwrap()["content"].to_string();
    assert!(refused.contains("denied"), "{refused}");
    model.say("Then not.").await;
    agent.until("Then not.\n").await;
    agent.until("you> ").await;

    // A form, and progress.
    agent.type_line("Greet me").await;
    model.asked().await;
    model
        .call("test_input_required_result_elicitation", json!({}))
        .await;
    agent.until("[N]o? ").await;
    agent.type_line("s").await;
    agent.until("name, empty for none: ").await;
    agent.type_line("Ada").await;
    agent.until("send it? ").await;
    agent.type_line("").await;
    let messages = model.asked().await;
    assert_eq!(messages.last().unwrap()["content"], "Hello, Ada!");
    model.call("test_tool_with_progress", json!({})).await;
    agent.until("[N]o? ").await;
    agent.type_line("y").await;
    agent.noted("test_tool_with_progress: ").await;
    model.asked().await;
    model.say("Done.").await;
    agent.until("Done.\n").await;
    agent.until("you> ").await;

    // Ctrl-C ends an answer; the program goes on.
    agent.type_line("Wait").await;
    model.asked().await;
    model.call("wait_for_cancel", json!({})).await;
    agent.until("[N]o? ").await;
    agent.type_line("y").await;
    // The progress of the call: the line "y" was read, and the server runs.
    agent.noted("wait_for_cancel: ").await;
    agent.interrupt();
    agent.noted("interrupted").await;
    agent.until("you> ").await;
    agent.type_line("Hello").await;
    let messages = model.asked().await;
    assert!(messages.iter().all(|message| message["content"] != "Wait"));
    model.say("Hello.").await;
    agent.until("Hello.\n").await;

    // The end of stdin ends the program, and its servers.
    agent.until("you> ").await;
    let Agent {
        mut process, stdin, ..
    } = agent;
    drop(stdin);
    assert!(process.wait().await.unwrap().success());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn the_agent_asks_for_consent_calls_tools_shows_forms_and_can_be_interrupted() {
    timeout(DEADLINE, conversation()).await.unwrap();
}
