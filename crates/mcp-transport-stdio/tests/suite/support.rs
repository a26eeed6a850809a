//! What the tests share: a client, a way to wait, a way to call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::{
    CallError, Closed, Connection, Exchange, Inbound, Reply, Transport, TransportError,
};
use serde_json::{Value, json};

/// Longer than anything here takes, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for an event that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it should have happened long ago")
}

/// A client that knows nothing, and remembers what it was told.
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

/// The client's lines of a handshake; its request has the id 1.
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

/// Connects and shakes hands.
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
        .expect("it is open");
    connection
}

/// One request and its raw answer.
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

/// One `tools/call` of the fixture: the text of its answer.
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

/// A request that is under way.
pub(crate) fn start_call(
    connection: &dyn Connection,
    method: &'static str,
) -> tokio::task::JoinHandle<Result<mcp_protocol::Answer, CallError>> {
    tokio::spawn(connection.link().request(method, None))
}

/// A program of `examples/`, built along with the tests.
#[cfg(unix)]
pub(crate) fn program(name: &str) -> std::path::PathBuf {
    let mut path = std::env::current_exe().expect("the tests are a program");
    path.pop();
    path.pop();
    path.join("examples").join(name)
}

/// Waits for something that tells nobody when it happens.
#[cfg(unix)]
pub(crate) async fn wait_until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            // sleep: the process table tells nobody when it changes
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}
