//! A server under test, and a client that follows the script.

use mcp_server::ServerBuilder;
use mcp_tests::http::{Peer, Reply, send_legacy};
use mcp_tests::wire::initialize_params;
use mcp_transport_http::LegacyEndpoint;
use tokio::sync::mpsc;

use super::case::{Act, Case, TransportKind};
use super::fixtures;
use super::talk::{Carried, Failed, Talk};
use crate::prelude::*;

pub(super) async fn hold(
    case: &Case,
    carrier: TransportKind,
    revision: &'static str,
) -> Result<(), Failed> {
    let server = fixtures::server(&case.fixture);
    let carried = match carrier {
        TransportKind::Stdio => Client::Stdio(PipeEnd::to(server)),
        TransportKind::Http => Client::Http(Box::new(Http::new(server))),
        TransportKind::Sse => Client::Sse(Sse::open(server).await),
    };
    let mut talk = Talk::new(carried, revision);
    let mut opened = false;
    let mut last = 1;
    for step in &case.steps {
        if !step.holds(carrier, revision) {
            continue;
        }
        last = step.line;
        if let Act::Status(status) = step.act {
            talk.status(last, status)?;
            continue;
        }
        talk.accepted()?;
        match &step.act {
            Act::Open(capabilities) => {
                open(&mut talk, last, revision, capabilities).await?;
                opened = true;
            }
            Act::Send(text) => talk.send(last, text).await,
            Act::Expect(expected) => talk.expect(last, expected).await?,
            Act::Silent => talk.silent(last).await?,
            other => return Err(talk.failed(last, format!("a server has no step {other:?}"))),
        }
    }
    talk.accepted()?;
    if opened {
        talk.silent(last).await?;
    }
    if let Client::Stdio(wire) = talk.carried {
        wire.close().await.expect("the server ends gracefully");
    }
    Ok(())
}

async fn open(
    talk: &mut Talk<Client>,
    line: usize,
    revision: &str,
    capabilities: &Value,
) -> Result<(), Failed> {
    let params = initialize_params(revision, capabilities.clone());
    let request = json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params});
    talk.send(line, &request.to_string()).await;
    talk.accepted()?;
    let answer = json!({"id": "open", "result": {"protocolVersion": revision}});
    talk.expect(line, &answer).await?;
    talk.send(
        line,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    )
    .await;
    talk.accepted()?;
    if let Client::Http(http) = &talk.carried {
        let listening = http.peer.get(None).await;
        assert_eq!(listening.status, 200);
        forward(listening, http.heard.clone());
    }
    Ok(())
}

/// The script's side.
enum Client {
    Stdio(PipeEnd),
    Http(Box<Http>),
    Sse(Sse),
}

impl Carried for Client {
    async fn send(&mut self, text: &str) -> Option<u16> {
        match self {
            Self::Stdio(wire) => {
                wire.raw(text).await;
                None
            }
            Self::Http(http) => Some(http.send(text).await),
            Self::Sse(sse) => Some(sse.send(text).await),
        }
    }

    async fn next(&mut self) -> Option<Value> {
        match self {
            Self::Stdio(wire) => Some(wire.recv_patiently().await),
            Self::Http(http) => http.said.recv().await,
            Self::Sse(sse) => sse.said.recv().await,
        }
    }

    fn status_of(&self, text: &str) -> u16 {
        let is_request =
            |message: &Value| message["method"].is_string() && message["id"] != json!(null);
        let asks = serde_json::from_str(text).is_ok_and(|message: Value| match &message {
            Value::Array(members) => members.iter().any(is_request),
            message => is_request(message),
        });
        match self {
            Self::Http(_) if asks => 200,
            _ => 202,
        }
    }
}

/// More messages than any conversation has.
const MANY: usize = 256;

/// Reads a stream in a separate task.
fn forward(mut reply: Reply, heard: mpsc::Sender<Value>) {
    tokio::spawn(async move {
        while let Some(message) = reply.message().await {
            if heard.send(message).await.is_err() {
                return;
            }
        }
    });
}

/// Returns the messages in a response body, JSON or event stream.
async fn hear(reply: Reply, heard: &mpsc::Sender<Value>) {
    match reply.kind() {
        "application/json" => {
            let message = reply.json().await;
            heard.send(message).await.expect("the script listens");
        }
        "text/event-stream" => forward(reply, heard.clone()),
        _ => assert_eq!(reply.text().await, ""),
    }
}

/// Streamable HTTP.
struct Http {
    peer: Peer,
    heard: mpsc::Sender<Value>,
    said: mpsc::Receiver<Value>,
}

impl Http {
    fn new(server: ServerBuilder) -> Self {
        let (heard, said) = mpsc::channel(MANY);
        let endpoint = Endpoint::new(server).expect("a server fit to be served");
        Self {
            peer: Peer::new(&endpoint),
            heard,
            said,
        }
    }

    async fn send(&mut self, text: &str) -> u16 {
        let reply = self.peer.send(Method::POST, text.to_owned()).await;
        let status = reply.status.as_u16();
        let session = reply.headers.get("mcp-session-id").cloned();
        if let Some(session) = session {
            self.peer.headers.insert("mcp-session-id", session);
            let answer = reply.json().await;
            let revision = answer["result"]["protocolVersion"]
                .as_str()
                .unwrap_or_default();
            // The header exists since 2025-06-18.
            if revision > "2025-03-26" {
                let header = Some(revision);
                self.peer = self.peer.with("mcp-protocol-version", header);
            }
            self.heard.send(answer).await.expect("the script listens");
        } else {
            hear(reply, &self.heard).await;
        }
        status
    }
}

/// The HTTP+SSE transport of 2024-11-05.
struct Sse {
    legacy: LegacyEndpoint,
    address: String,
    heard: mpsc::Sender<Value>,
    said: mpsc::Receiver<Value>,
}

impl Sse {
    async fn open(server: ServerBuilder) -> Self {
        let endpoint = Endpoint::new(server).expect("a server fit to be served");
        let legacy = endpoint.legacy();
        let mut stream = send_legacy(&legacy, Method::GET, "/sse", "", None).await;
        let first = stream.event().await.expect("the address comes first");
        assert_eq!(first.event.as_deref(), Some("endpoint"));
        let (heard, said) = mpsc::channel(MANY);
        forward(stream, heard.clone());
        Self {
            legacy,
            address: first.data.expect("an address"),
            heard,
            said,
        }
    }

    async fn send(&mut self, text: &str) -> u16 {
        let reply = send_legacy(
            &self.legacy,
            Method::POST,
            &self.address,
            text.to_owned(),
            None,
        )
        .await;
        let status = reply.status.as_u16();
        hear(reply, &self.heard).await;
        status
    }
}
