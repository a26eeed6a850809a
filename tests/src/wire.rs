//! A scripted peer that sends and receives JSON lines over a pipe in memory.

#![allow(
    clippy::needless_pass_by_value,
    reason = "a `json!(..)` is handed over as it is written"
)]

use std::time::Duration;

use mcp_client::{Client, ClientBuilder, Error, Negotiation};
use mcp_protocol::IntoService;
use mcp_transport_stdio::{Pipe, serve_io};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time limit of everything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// One end of a pipe, controlled line by line.
#[derive(Debug)]
pub struct PipeEnd {
    lines: Lines<BufReader<DuplexStream>>,
    write: Option<DuplexStream>,
    served: Option<JoinHandle<Result<(), mcp_transport_stdio::Error>>>,
    next: i64,
}

/// Returns the params of `initialize` of a plain client.
pub fn initialize_params(revision: &str, capabilities: Value) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": { "name": "scripted", "version": "0" }
    })
}

impl PipeEnd {
    fn pair() -> (Self, DuplexStream, DuplexStream) {
        let (near_write, far_read) = tokio::io::duplex(1 << 16);
        let (far_write, near_read) = tokio::io::duplex(1 << 16);
        let wire = Self {
            lines: BufReader::new(near_read).lines(),
            write: Some(near_write),
            served: None,
            next: 1,
        };
        (wire, far_read, far_write)
    }

    /// Creates a scripted client of this server, before the handshake.
    pub fn to(service: impl IntoService) -> Self {
        let (mut wire, read, write) = Self::pair();
        wire.served = Some(tokio::spawn(serve_io(service, read, write)));
        wire
    }

    /// Creates a scripted client of this server, after a handshake in which it declares
    /// `capabilities`.
    pub async fn open(service: impl IntoService, revision: &str, capabilities: Value) -> Self {
        let mut wire = Self::to(service);
        wire.handshake(revision, capabilities).await;
        wire
    }

    /// Opens a session of 2025-11-25 with this server, without capabilities.
    pub async fn session(service: impl IntoService) -> Self {
        Self::open(service, "2025-11-25", json!({})).await
    }

    /// Performs the handshake of a client; returns the server's result.
    pub async fn handshake(&mut self, revision: &str, capabilities: Value) -> Value {
        let params = initialize_params(revision, capabilities);
        let result = self.call("initialize", params).await;
        self.notify("notifications/initialized", Value::Null).await;
        result
    }

    /// Creates a scripted server, and the transport to reach it.
    pub fn server() -> (
        Self,
        Pipe<impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static>,
    ) {
        let (wire, read, write) = Self::pair();
        (wire, Pipe::new(read, write))
    }

    /// Connects this client by a handshake to a scripted server that declares `capabilities`.
    pub async fn accept(
        builder: ClientBuilder,
        revision: &str,
        capabilities: Value,
    ) -> (Self, Client) {
        let (mut wire, transport) = Self::server();
        let builder = builder.negotiation(Negotiation::SessionBased);
        let connecting = tokio::spawn(builder.connect(transport));
        wire.welcome(revision, capabilities).await;
        let client = connecting.await.expect("no panic").expect("a handshake");
        assert_eq!(wire.recv().await["method"], "notifications/initialized");
        (wire, client)
    }

    /// Connects this client to a scripted server of 2025-11-25 that declares tools.
    pub async fn with_tools(builder: ClientBuilder) -> (Self, Client) {
        Self::accept(builder, "2025-11-25", json!({ "tools": {} })).await
    }

    /// Answers `initialize` as a server; returns its params.
    pub async fn welcome(&mut self, revision: &str, capabilities: Value) -> Value {
        let request = self.recv().await;
        assert_eq!(request["method"], "initialize");
        self.answer(
            &request,
            json!({
                "protocolVersion": revision,
                "capabilities": capabilities,
                "serverInfo": { "name": "scripted", "version": "0" }
            }),
        )
        .await;
        request["params"].clone()
    }

    /// Sends bytes as they are, with a newline.
    pub async fn raw(&mut self, line: impl AsRef<[u8]>) {
        let write = self.write.as_mut().expect("still open");
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        timeout(PATIENCE, write.write_all(&bytes))
            .await
            .expect("the peer reads")
            .expect("the pipe is open");
    }

    /// Sends a message.
    pub async fn send(&mut self, message: Value) {
        self.raw(message.to_string()).await;
    }

    /// Sends a notification; `null` params are left out.
    pub async fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await;
    }

    /// Sends a request; returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await;
        id
    }

    /// Sends a request; returns its response, which must be the next frame.
    pub async fn answer_to(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.recv().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Sends a request; returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer_to(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a request that must be rejected with this code; returns the error.
    pub async fn expect_error(&mut self, method: &str, params: Value, code: i64) -> Value {
        let request = format!("{method:.40} {params:.400}");
        let mut answer = self.answer_to(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{request}: {answer}");
        answer["error"].take()
    }

    /// Calls a tool; returns its result.
    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
    }

    /// Answers a request.
    pub async fn answer(&mut self, request: &Value, result: Value) {
        let id = &request["id"];
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            .await;
    }

    /// Answers the next request, which must have this method; returns the request.
    pub async fn respond(&mut self, method: &str, result: Value) -> Value {
        let request = self.next(method).await;
        self.answer(&request, result).await;
        request
    }

    /// Answers the next request.
    pub async fn answer_next(&mut self, result: Value) {
        let request = self.recv_patiently().await;
        assert!(request["method"].is_string(), "{request}");
        self.answer(&request, result).await;
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, id: &Value) {
        self.notify("notifications/cancelled", json!({ "requestId": id }))
            .await;
    }

    /// Rejects a request.
    pub async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let (id, error) = (&request["id"], json!({ "code": code, "message": message }));
        self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
            .await;
    }

    /// Receives the next frame, which must be a valid JSON-RPC message.
    pub async fn recv(&mut self) -> Value {
        self.line().await.expect("a frame, not the end")
    }

    /// Receives the next frame, which must have this method.
    pub async fn expect(&mut self, method: &str) -> Value {
        let message = self.recv().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    async fn line(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("a frame in time")
            .expect("text")?;
        let message: Value = serde_json::from_str(&line).expect("a line is JSON");
        check_envelope(&message);
        Some(message)
    }

    /// Asserts that nothing was sent: the next frame is the response to a ping.
    pub async fn silent(&mut self) {
        let id = self.request("ping", Value::Null).await;
        let answer = self.recv().await;
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }

    /// Receives the next frame without a time limit, for tests with a paused clock.
    pub async fn recv_patiently(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("text");
        let message = serde_json::from_str(&line.expect("a frame")).expect("a line is JSON");
        check_envelope(&message);
        message
    }

    /// Receives the next frame in the same way; it must have this method.
    pub async fn next(&mut self, method: &str) -> Value {
        let message = self.recv_patiently().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Closes the stream that this side writes.
    pub fn end(&mut self) {
        self.write = None;
    }

    /// Asserts that the peer closes its stream and sends nothing before.
    pub async fn ended(&mut self) {
        let more = self.line().await;
        assert_eq!(more, None, "the peer has more to say");
    }

    /// Ignores messages until the peer closes its stream.
    pub async fn drained(&mut self) {
        while self.line().await.is_some() {}
    }

    /// Closes the session and waits until the server has ended.
    pub async fn close(mut self) -> Result<(), mcp_transport_stdio::Error> {
        self.end();
        let served = self.served.take().expect("a server");
        timeout(PATIENCE, served)
            .await
            .expect("leaves in time")
            .expect("no panic")
    }
}

/// Connects a client to a server in memory.
///
/// # Errors
/// As [`ClientBuilder::connect`].
pub async fn connect(builder: ClientBuilder, service: impl IntoService) -> Result<Client, Error> {
    builder
        .connect(mcp_transport_stdio::in_memory(service))
        .await
}

/// Panics unless this is exactly one JSON-RPC message, or a batch of them.
pub fn check_envelope(message: &Value) {
    let Some(object) = message.as_object() else {
        assert!(message.is_array(), "neither message nor batch: {message}");
        return message
            .as_array()
            .into_iter()
            .flatten()
            .for_each(check_envelope);
    };
    assert_eq!(object.get("jsonrpc"), Some(&json!("2.0")), "{message}");
    let has = |name: &str| object.contains_key(name);
    let id_is_fine = object
        .get("id")
        .is_none_or(|id| id.is_string() || id.is_i64());
    assert!(id_is_fine, "{message}");
    match (has("method"), has("result"), has("error")) {
        (true, false, false) => {
            let params = object.get("params");
            assert!(params.is_none_or(Value::is_object), "{message}");
            let name = object["method"].as_str().expect("a method name");
            assert_eq!(name.starts_with("notifications/"), !has("id"), "{message}");
        }
        (false, true, false) => {
            assert!(has("id") && object["result"].is_object(), "{message}");
        }
        (false, false, true) => {
            assert!(object["error"]["code"].is_i64(), "{message}");
            assert!(object["error"]["message"].is_string(), "{message}");
        }
        _ => panic!("no kind of message: {message}"),
    }
}
