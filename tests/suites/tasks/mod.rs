//! Calls that outlive their request, server side, in both forms.

mod client_tasks;
mod ends;
mod extension;
mod guarded;
mod input;
mod legacy;
mod restart;
mod users;

use mcp_jsonrpc::ErrorCode;
use mcp_protocol::IntoService;
use mcp_server::{ServerBuilder, TaskMode};

use crate::gate::OnDrop;
use crate::peer::{self, text};
use crate::prelude::*;

/// Permits for the tools of a server, which wait for them.
struct Gate {
    server: ServerBuilder,
    go: Arc<Semaphore>,
    /// Whether the handler of `work` was dropped.
    dropped: Arc<AtomicBool>,
}

fn gate() -> Gate {
    let (go, dropped) = (
        Arc::new(Semaphore::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let (works, asks, drops) = (Arc::clone(&go), Arc::clone(&go), Arc::clone(&dropped));
    let work = move |cx: Ctx| {
        let (go, drops) = (Arc::clone(&works), Arc::clone(&drops));
        async move {
            let _guard = OnDrop(move || drops.store(true, Ordering::SeqCst));
            cx.status("at work");
            let _permit = go.acquire().await;
            cx.progress(1.0, 2.0);
            cx.log(LoggingLevel::Info, "half way");
            "done"
        }
    };
    let ask = move |cx: Ctx| {
        let go = Arc::clone(&asks);
        async move {
            let answer = cx.elicit::<Name>("Enter your name").await?;
            let _permit = go.acquire().await;
            Ok::<_, HandlerError>(match answer.accepted() {
                Some(name) => format!("Hello, {}!", name.name),
                None => "Hello, stranger!".to_owned(),
            })
        }
    };
    let refuse = || {
        let error = ErrorObject::new(ErrorCode(7), "out of order").with_data(json!({ "a": [1] }));
        Err::<String, _>(HandlerError::protocol(error))
    };
    let server = Server::builder("gate", "1")
        .tool(Tool::new("work", work).task(TaskMode::Optional))
        .tool(Tool::new("must", || "at once").task(TaskMode::Required))
        .tool(Tool::new("ask", ask).task(TaskMode::Optional))
        .tool(Tool::new("refuse", refuse).task(TaskMode::Optional))
        .tool(Tool::new("fail", || CallToolResult::error("no disk")).task(TaskMode::Optional))
        .tool(Tool::new("panic", async || -> String { panic!("secret") }).task(TaskMode::Optional))
        .tool(Tool::new("plain", || "plain"));
    Gate {
        server,
        go,
        dropped,
    }
}

/// A client that stores other messages while it waits for a response.
struct Peer {
    client: peer::Peer,
    heard: Vec<Value>,
}

impl Peer {
    fn of(client: peer::Peer) -> Self {
        let heard = Vec::new();
        Self { client, heard }
    }

    /// Opens a session.
    async fn with_session(service: impl IntoService, capabilities: Value) -> Self {
        Self::of(peer::Peer::session(service, capabilities).await)
    }

    /// Creates a client without a session that declares these capabilities with each request.
    fn stateless(service: impl IntoService, capabilities: Value) -> Self {
        Self::of(peer::Peer::with(service, capabilities))
    }

    /// Creates a client that declares the extension.
    fn able(service: impl IntoService) -> Self {
        let extension = json!({ "io.modelcontextprotocol/tasks": {} });
        let capabilities = json!({ "elicitation": {}, "extensions": extension });
        Self::stateless(service, capabilities)
    }

    async fn send(&mut self, method: &str, params: Value) -> Value {
        self.client.request(method, params).await
    }

    /// Returns the response to this request.
    async fn answer(&mut self, id: &Value) -> Value {
        let is_response = |it: &Value| it["method"].is_null() && it["id"] == *id;
        self.first(is_response).await
    }

    /// Returns the next message with this method.
    async fn next(&mut self, method: &str) -> Value {
        self.first(|message| message["method"] == method).await
    }

    /// Returns the first stored or received message that meets a condition.
    async fn first(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_wanted) {
            return self.heard.remove(at);
        }
        loop {
            let message = self.client.wire.recv_patiently().await;
            if is_wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(&id).await
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a request that must be rejected with this code; returns the error.
    async fn expect_error(&mut self, method: &str, params: Value, code: i64) -> Value {
        let mut answer = self.ask(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        answer["error"].take()
    }

    async fn tool(&mut self, name: &str) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": {} }))
            .await
    }

    /// Starts a task with `tools/call` of 2025-11-25 and returns its id.
    async fn augmented(&mut self, name: &str) -> String {
        let params = json!({ "name": name, "arguments": {}, "task": {} });
        let created = self.call("tools/call", params).await;
        created["task"]["taskId"].as_str().unwrap().to_owned()
    }

    /// Starts a task with `tools/call` of 2026-07-28 and returns its id.
    async fn started(&mut self, name: &str) -> String {
        let created = self.tool(name).await;
        assert_eq!(created["resultType"], "task", "{created}");
        created["taskId"].as_str().unwrap().to_owned()
    }

    async fn get(&mut self, id: &str) -> Value {
        self.call("tasks/get", json!({ "taskId": id })).await
    }

    /// Polls until the task has this status.
    async fn until(&mut self, id: &str, status: &str) -> Value {
        for _ in 0..50 {
            let task = self.get(id).await;
            if task["status"] == status {
                return task;
            }
            // sleep: a change of a task is only visible by polling
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the task is not {status}");
    }
}

/// Returns the task that a message belongs to.
fn related(message: &Value) -> &Value {
    &message["_meta"]["io.modelcontextprotocol/related-task"]["taskId"]
}
