//! Shared support: a recording client, deadlines, and calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::{
    CallError, Closed, Connection, Exchange, Inbound, Reply, Transport, TransportError,
};
use serde_json::{Value, json};

/// Longer than any test takes, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for an expected event.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("the expected event did not happen in time")
}

/// A client without handlers that records its messages.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) notifications: Mutex<Vec<String>>,
    pub(crate) closed: Mutex<Option<Closed>>,
}

impl Inbound for Client {
    fn request(&self, request: &Request<'_>, _exchange: Exchange) -> Reply {
        Reply::error(ErrorObject::method_not_found(&request.method))
    }

    fn notification(&self, notification: &Notification<'_>) {
        let text = format!("{} {:?}", notification.method, notification.params);
        self.notifications.lock().unwrap().push(text);
    }

    fn closed(&self, reason: &Closed) {
        *self.closed.lock().unwrap() = Some(reason.clone());
    }
}

pub(crate) async fn try_connect(
    transport: impl Transport,
) -> Result<Arc<dyn Connection>, TransportError> {
    Box::new(transport).start(Arc::new(Client::default())).await
}

pub(crate) async fn connect(transport: impl Transport) -> Arc<dyn Connection> {
    try_connect(transport).await.expect("it connects")
}

/// A request as a line.
pub(crate) fn request(id: i64, method: &str, params: &Value) -> String {
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    )
}

/// A `tools/call` of the fixture as a line.
pub(crate) fn tool_request(id: i64, name: &str, text: &str) -> String {
    request(
        id,
        "tools/call",
        &json!({"name": name, "arguments": {"text": text}}),
    )
}

/// The client's lines of a handshake. The request has the id 1.
pub(crate) fn handshake() -> String {
    request(1, "initialize", &initialize())
        + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

/// Connects and initializes.
pub(crate) async fn open(transport: impl Transport) -> Arc<dyn Connection> {
    let connection = connect(transport).await;
    call(&*connection, "initialize", initialize())
        .await
        .expect("a handshake");
    connection
        .link()
        .notify(
            "notifications/initialized",
            None,
            mcp_protocol::Delivery::Always,
        )
        .expect("the connection is open");
    connection
}

/// Sends one request and returns the raw response.
pub(crate) async fn call(
    connection: &dyn Connection,
    method: &'static str,
    params: Value,
) -> Result<String, CallError> {
    let params = params.to_string().into_bytes();
    let answer = soon(connection.link().request(method, Some(params))).await?;
    Ok(match answer {
        Ok(raw) => raw.to_string(),
        Err(error) => format!("refused: {error}"),
    })
}

/// Calls a tool of the fixture and returns the text of the result.
pub(crate) async fn tool(
    connection: &dyn Connection,
    name: &str,
    text: &str,
) -> Result<String, CallError> {
    let params = json!({"name": name, "arguments": {"text": text}});
    let answer = call(connection, "tools/call", params).await?;
    let parsed: Value = serde_json::from_str(&answer).unwrap_or_default();
    Ok(parsed["content"][0]["text"]
        .as_str()
        .map_or(answer, str::to_owned))
}

/// A request in progress.
pub(crate) fn start_call(
    connection: &dyn Connection,
    method: &'static str,
) -> tokio::task::JoinHandle<Result<mcp_protocol::Answer, CallError>> {
    tokio::spawn(connection.link().request(method, None))
}

/// A program in `examples/`, which is built with the tests.
#[cfg(unix)]
pub(crate) fn program(name: &str) -> std::path::PathBuf {
    let mut path = std::env::current_exe().expect("the path of the test program is known");
    path.pop();
    path.pop();
    path.join("examples").join(name)
}

/// Waits for a condition that cannot be awaited.
#[cfg(unix)]
pub(crate) async fn wait_until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            // sleep: changes of the process table can only be polled
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}
