//! Tool calls that continue as tasks, as a client sees them: both kinds of revisions, against
//! scripted servers.

mod handles;
mod legacy;
mod modern;
mod outages;
mod real;
mod received;
mod task_requests;

use mcp_client::{CallStart, TaskHandle};
use mcp_types::TaskStatus;
use tokio::time::timeout;

use crate::modern_client::connected;
use crate::prelude::*;

const STATELESS: &str = "2026-07-28";
const SESSION_BASED: &str = "2025-11-25";
const ID: &str = "786512e2-9e0d-44bd-8f29-789f820fe840";
const RELATED: &str = "io.modelcontextprotocol/related-task";

type Calling = JoinHandle<Result<CallToolResult, Error>>;

fn client() -> ClientBuilder {
    Client::builder("host", "0.1").task_calls()
}

fn accepting() -> ClientBuilder {
    client().on_elicit(async |form| form.accept(json!({ "name": "octocat" })))
}

/// Connects a client to a scripted stateless server.
async fn stateless(builder: ClientBuilder) -> (PipeEnd, Client) {
    let capabilities = json!({
        "tools": {}, "prompts": {},
        "extensions": { "io.modelcontextprotocol/tasks": {} },
    });
    connected(builder, capabilities).await
}

/// All task capabilities that a server of 2025-11-25 can declare.
fn all_of_tasks() -> Value {
    json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } })
}

/// Opens a session with a scripted server whose tool has this `taskSupport`.
async fn with_session(builder: ClientBuilder, tasks: Value, support: &str) -> (PipeEnd, Client) {
    let capabilities = json!({ "tools": {}, "tasks": tasks });
    let (mut wire, client) = PipeEnd::accept(builder, SESSION_BASED, capabilities).await;
    let listing = crate::peer::listing(&client);
    wire.respond("tools/list", tools(support)).await;
    listing.await.unwrap().unwrap();
    (wire, client)
}

/// A list of one tool with this `taskSupport`, or without it if it is empty.
fn tools(support: &str) -> Value {
    let mut tool = json!({ "name": "slow", "inputSchema": { "type": "object" } });
    if !support.is_empty() {
        tool["execution"] = json!({ "taskSupport": support });
    }
    json!({ "tools": [tool] })
}

fn call(client: &Client) -> Calling {
    let client = client.clone();
    tokio::spawn(async move { client.call_tool("slow", json!({ "n": 1 })).await })
}

/// A task of 2026-07-28 with further members.
fn flat(kind: &str, status: &str, more: Value) -> Value {
    let mut task = json!({
        "resultType": kind,
        "taskId": ID,
        "status": status,
        "createdAt": "2026-07-28T10:30:00Z",
        "lastUpdatedAt": "2026-07-28T10:30:00Z",
        "ttlMs": 60_000,
        "pollIntervalMs": 2_000,
    });
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

/// A running task of 2026-07-28, as the result of a call.
fn working() -> Value {
    flat("task", "working", json!({}))
}

/// A task of 2026-07-28, as the result of a poll.
fn polled(status: &str, more: Value) -> Value {
    flat("complete", status, more)
}

/// A task of 2025-11-25, as the result of a call.
fn created_task(status: &str) -> Value {
    json!({ "task": nested(status) })
}

/// A task of 2025-11-25.
fn nested(status: &str) -> Value {
    json!({
        "taskId": ID,
        "status": status,
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z",
        "ttl": 60_000,
        "pollInterval": 2_000,
    })
}

fn done() -> Value {
    json!({ "content": [{ "type": "text", "text": "done" }] })
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    json!({ "message": message, "requestedSchema": schema })
}

fn question(message: &str) -> Value {
    json!({ "method": "elicitation/create", "params": form(message) })
}

/// Returns the next request, which must be this one about the task.
async fn about(wire: &mut PipeEnd, method: &str) -> Value {
    let request = wire.next(method).await;
    assert_eq!(request["params"]["taskId"], ID, "{request}");
    assert!(request["params"]["_meta"][RELATED].is_null(), "{request}");
    request
}

/// Answers the next request, which must be this one about the task; returns it.
async fn reply(wire: &mut PipeEnd, method: &str, result: Value) -> Value {
    let request = about(wire, method).await;
    wire.answer(&request, result).await;
    request
}

/// Starts a call that is not waited for.
fn start(client: &Client) -> JoinHandle<Result<CallStart, Error>> {
    let call = client.call_tool("slow", json!({}));
    tokio::spawn(async move { call.start().await })
}

/// Returns the task of a call that was started.
async fn task_of(starting: JoinHandle<Result<CallStart, Error>>) -> TaskHandle {
    match starting.await.unwrap() {
        Ok(CallStart::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

/// The reported states.
#[derive(Clone, Default)]
struct SeenStates(Arc<Mutex<Vec<TaskStatus>>>);

impl SeenStates {
    fn note(&self, status: &TaskStatus) {
        self.0.lock().unwrap().push(status.clone());
    }

    fn take(&self) -> Vec<TaskStatus> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Checks that nothing is sent for longer than any wait in the tests.
async fn quiet(wire: &mut PipeEnd) {
    let more = timeout(Duration::from_secs(3_600), wire.recv_patiently()).await;
    assert!(more.is_err(), "{more:?}");
}
