//! A gateway with rules between two clients and a hostile server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{Negotiation, Revision};
use mcp_gateway::{AccessPolicy, AccessRule, Gateway, ItemKind, Mount, Sharing, Transform, Upstream};
use mcp_host::StderrLog;
use mcp_transport_stdio::{Pipe, serve_io};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::mpsc;
use url::Url;

/// Maximum number of lines of an input.
const MAX_LINES: usize = 24;
const MAX_CONNECTIONS: usize = 4;
/// The marker of each client, which the params of all its requests contain. A marker must not reach the other client.
const MARKERS: [&str; 2] = ["marker-of-a", "marker-of-b"];

/// Lines that begin with `a` or `b` are a request of the client a, which has a session, or b, which has none: a method and its params. `=`
/// is the result of the request that the server received first, or its params as text if nothing follows. Other lines are sent by the server
/// unchanged.
pub fn two_clients(data: &[u8]) {
    let mut text = String::from_utf8_lossy(data).into_owned();
    while let Some(marker) = MARKERS.into_iter().find(|marker| text.contains(marker)) {
        text = text.replace(marker, "");
    }
    let lines: Vec<String> = text.split('\n').take(MAX_LINES).map(str::to_owned).collect();
    crate::run(async move {
        let server = Arc::new(HostileServer::default());
        let gateway = Gateway::builder()
            .access(policy())
            .mount("m", mount(&server))
            .build()
            .await
            .expect("the settings are valid");
        let mut clients = [0, 1].map(|index| FuzzedClient::connect(&gateway, index));
        clients[0].write(INITIALIZE.as_bytes()).await;
        clients[0].write(INITIALIZED.as_bytes()).await;
        for (number, line) in lines.iter().enumerate() {
            match line.as_bytes().split_first() {
                Some((b'a', request)) => clients[0].request(number, request).await,
                Some((b'b', request)) => clients[1].request(number, request).await,
                Some((b'=', result)) => server.answer(result),
                _ => server.send(line.as_bytes()),
            }
            // The clock is paused: everything that can happen happens first.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        gateway.close().await;
    });
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"marker-of-a","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn policy() -> AccessPolicy {
    AccessPolicy::new()
        .rule(AccessRule::allow("file:///srv/*"))
        .rule(AccessRule::deny("*").kind(ItemKind::Resource))
        .rule(AccessRule::deny("secret"))
}

fn mount(server: &Arc<HostileServer>) -> Mount {
    let server = Arc::clone(server);
    let connector = move |_: &StderrLog| {
        let (near_write, far_read) = duplex(1 << 16);
        let (far_write, near_read) = duplex(1 << 16);
        tokio::spawn(Arc::clone(&server).serve(far_read, far_write));
        Ok(Pipe::new(near_read, near_write))
    };
    let upstream = Upstream::new("hostile", connector)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .sharing(Sharing::Principal)
        .max_connections(MAX_CONNECTIONS);
    let transform = Transform::new().fix_argument("log", "repo", "/srv");
    Mount::new(upstream).transform(transform)
}

/// A client that sends lines of the input, and checks what it receives.
struct FuzzedClient {
    index: usize,
    write: DuplexStream,
}

impl FuzzedClient {
    fn connect(gateway: &Gateway, index: usize) -> Self {
        let (write, far_read) = duplex(1 << 16);
        let (far_write, read) = duplex(1 << 16);
        tokio::spawn(serve_io(gateway.clone(), far_read, far_write));
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).split(b'\n');
            while let Ok(Some(line)) = lines.next_segment().await {
                let text = String::from_utf8_lossy(&line);
                let other = MARKERS[1 - index];
                assert!(!text.contains(other), "client {index} received {text}");
            }
        });
        Self { index, write }
    }

    async fn write(&mut self, line: &[u8]) {
        // The gateway may have ended the connection.
        let _ = self.write.write_all(line).await;
        let _ = self.write.write_all(b"\n").await;
    }

    /// Sends a request: a method, a space, and the members of its params.
    async fn request(&mut self, number: usize, request: &[u8]) {
        let text = String::from_utf8_lossy(request);
        let (method, members) = text.split_once(' ').unwrap_or((&text, ""));
        let marker = MARKERS[self.index];
        let meta = match self.index {
            0 => format!(r#""_meta":{{"marker":"{marker}"}}"#),
            _ => format!(
                r#""_meta":{{"marker":"{marker}","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{marker}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}"#
            ),
        };
        let separator = if members.is_empty() { "" } else { "," };
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{{meta}{separator}{members}}}}}"#
        );
        self.write(line.as_bytes()).await;
    }
}

/// The server of all connections.
#[derive(Default)]
struct HostileServer {
    open: AtomicUsize,
    pending: Mutex<VecDeque<(Value, Value, mpsc::Sender<Vec<u8>>)>>,
    outputs: Mutex<Vec<mpsc::Sender<Vec<u8>>>>,
}

impl HostileServer {
    async fn serve(self: Arc<Self>, read: DuplexStream, mut write: DuplexStream) {
        let open = self.open.fetch_add(1, Ordering::Relaxed);
        // A connection that is replaced may end after the new one has begun.
        assert!(open < 2 * MAX_CONNECTIONS, "{open} connections are open");
        let (sender, mut output) = mpsc::channel(64);
        self.outputs.lock().unwrap().push(sender.clone());
        let mut lines = BufReader::new(read).split(b'\n');
        loop {
            tokio::select! {
                line = lines.next_segment() => {
                    let Ok(Some(line)) = line else { break };
                    self.receive(&line, &sender);
                }
                Some(line) = output.recv() => {
                    if write.write_all(&line).await.is_err() || write.write_all(b"\n").await.is_err() {
                        break;
                    }
                }
            }
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn receive(&self, line: &[u8], output: &mpsc::Sender<Vec<u8>>) {
        let message: Value = serde_json::from_slice(line).expect("the gateway sends JSON");
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return;
        };
        check(method, &message["params"]);
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "serverInfo": { "name": "s", "version": "1" },
                "capabilities": { "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "logging": {}, "completions": {} }
            }),
            "tools/list" => json!({ "tools": [
                { "name": "log", "inputSchema": { "type": "object" } }, { "name": "secret", "inputSchema": { "type": "object" } }
            ] }),
            "resources/list" => json!({ "resources": [{ "uri": "file:///srv/a", "name": "a" }] }),
            _ => {
                let params = message["params"].clone();
                let pending = (id.clone(), params, output.clone());
                self.pending.lock().unwrap().push_back(pending);
                return;
            }
        };
        // A full queue loses the message, as a hostile server may.
        let _ = output.try_send(response(id, &result.to_string()));
    }

    /// Answers the oldest request with this result, or with its params as text.
    fn answer(&self, result: &[u8]) {
        let oldest = self.pending.lock().unwrap().pop_front();
        if let Some((id, params, output)) = oldest {
            let text = match result.is_empty() {
                true => json!({ "content": [{ "type": "text", "text": params.to_string() }] }).to_string(),
                false => String::from_utf8_lossy(result).into_owned(),
            };
            let _ = output.try_send(response(&id, &text));
        }
    }

    /// Sends a line on the connection that was opened last.
    fn send(&self, line: &[u8]) {
        if let Some(output) = self.outputs.lock().unwrap().last() {
            let _ = output.try_send(line.to_vec());
        }
    }
}

fn response(id: &Value, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// Checks that the rules hold for what arrives at the server. Of repeated members, it reads the last.
fn check(method: &str, params: &Value) {
    let name = params["name"].as_str().unwrap_or_default();
    assert_ne!(name, "secret", "{method}");
    if method == "tools/call" && name == "log" {
        assert_eq!(params["arguments"]["repo"], "/srv", "{params}");
    }
    let uri = match method {
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => &params["uri"],
        "completion/complete" => &params["ref"]["uri"],
        _ => return,
    };
    if let Some(Ok(url)) = uri.as_str().map(Url::parse) {
        let is_allowed = url.scheme() == "file" && url.path().starts_with("/srv/");
        assert!(is_allowed, "{method} {uri}");
    }
}
