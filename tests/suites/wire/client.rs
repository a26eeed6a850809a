//! A client under test, and a server that follows the script.

use std::collections::BTreeMap;

use mcp_types as types;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::case::{Act, Case, TransportKind};
use super::fixtures;
use super::scripted::Scripted;
use super::talk::{Carried, Failed, PATIENCE, Talk};
use crate::prelude::*;

/// Longer than the longest call may take.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

type Connecting = JoinHandle<Result<Client, Error>>;
type Ended = Result<Value, String>;

pub(super) async fn hold(
    case: &Case,
    carrier: TransportKind,
    revision: &'static str,
) -> Result<(), Failed> {
    let (heard, told) = mpsc::channel(256);
    let host = fixtures::host(&case.fixture, &heard);
    let (server, connecting) = match carrier {
        TransportKind::Stdio => {
            let (wire, pipe) = PipeEnd::server();
            (Server::Stdio(wire), tokio::spawn(host.connect(pipe)))
        }
        TransportKind::Http => {
            let (scripted, network) = Scripted::new();
            let url = HttpTransport::new("http://localhost/mcp").expect("a URL");
            let connecting = tokio::spawn(host.connect(url.service(network)));
            (Server::Http(scripted), connecting)
        }
        TransportKind::Sse => panic!("clients are not scripted over sse"),
    };
    let mut held = Held {
        talk: Talk::new(server, revision),
        connecting: Some(connecting),
        client: None,
        calls: BTreeMap::new(),
        told,
        heard,
    };
    let mut last = 1;
    for step in &case.steps {
        if step.holds(carrier, revision) {
            last = step.line;
            held.step(last, revision, &step.act).await?;
        }
    }
    held.end(last).await
}

/// A conversation with a client.
struct Held {
    talk: Talk<Server>,
    connecting: Option<Connecting>,
    client: Option<Client>,
    calls: BTreeMap<String, JoinHandle<Ended>>,
    told: mpsc::Receiver<Value>,
    heard: mpsc::Sender<Value>,
}

impl Held {
    async fn step(&mut self, line: usize, revision: &str, act: &Act) -> Result<(), Failed> {
        match act {
            Act::Open(capabilities) => self.open(line, revision, capabilities).await,
            // The client has connected already.
            Act::Connect => Ok(()),
            Act::Connected => self.connected(line).await,
            Act::Refused(words) => match self.handshake().await {
                Ok(_) => Err(self.talk.failed(line, "the client is connected")),
                Err(error) => self.says(line, &error, words),
            },
            Act::Send(text) => {
                self.talk.send(line, text).await;
                Ok(())
            }
            Act::Expect(expected) => self.talk.expect(line, expected).await,
            Act::Silent => self.talk.silent(line).await,
            Act::Call {
                name,
                method,
                params,
            } => {
                let client = self.client.as_ref();
                let Some(client) = client else {
                    return Err(self.talk.failed(line, "no client is connected"));
                };
                let call = call(client, method, params, &self.heard);
                self.calls.insert(name.clone(), call);
                Ok(())
            }
            Act::Result { name, result } => match self.ended(line, name).await? {
                Ok(got) => self.talk.compare(line, result, &got),
                Err(error) => Err(self.talk.failed(line, format!("the call failed: {error}"))),
            },
            Act::Fails { name, words } => match self.ended(line, name).await? {
                Ok(got) => Err(self
                    .talk
                    .failed(line, format!("the call has a result: {got}"))),
                Err(error) => self.says(line, &error, words),
            },
            Act::Heard(expected) => {
                let told = timeout(PATIENCE, self.told.recv()).await;
                let Ok(Some(told)) = told else {
                    return Err(self.talk.failed(line, "the host was told nothing"));
                };
                self.talk.compare(line, expected, &told)
            }
            Act::Status(_) => Err(self.talk.failed(line, "a server chooses its statuses")),
        }
    }

    async fn open(
        &mut self,
        line: usize,
        revision: &str,
        capabilities: &Value,
    ) -> Result<(), Failed> {
        let request = json!({"id": "$initialize", "method": "initialize"});
        self.talk.expect(line, &request).await?;
        let result = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "serverInfo": {"name": "scripted", "version": "0"}
        });
        let answer = json!({"jsonrpc": "2.0", "id": "$initialize", "result": result});
        self.talk.send(line, &answer.to_string()).await;
        let opened = json!({"method": "notifications/initialized"});
        self.talk.expect(line, &opened).await?;
        self.connected(line).await
    }

    async fn connected(&mut self, line: usize) -> Result<(), Failed> {
        match self.handshake().await {
            Ok(client) => {
                self.client = Some(client);
                Ok(())
            }
            Err(error) => Err(self.talk.failed(line, format!("the client says: {error}"))),
        }
    }

    async fn handshake(&mut self) -> Result<Client, String> {
        let connecting = self.connecting.take().ok_or("nothing connects")?;
        let connected = timeout(LONGEST, connecting).await.expect("it ends");
        connected.unwrap().map_err(|error| error.to_string())
    }

    async fn ended(&mut self, line: usize, name: &str) -> Result<Ended, Failed> {
        let Some(call) = self.calls.remove(name) else {
            return Err(self
                .talk
                .failed(line, format!("no call {name} is under way")));
        };
        let ended = timeout(LONGEST, call).await.expect("every call ends");
        Ok(ended.expect("no panic"))
    }

    fn says(&self, line: usize, error: &str, words: &str) -> Result<(), Failed> {
        if error.contains(words) {
            return Ok(());
        }
        let what = format!("expected an error with {words:?}, got {error:?}");
        Err(self.talk.failed(line, what))
    }

    /// Checks that no message is left over.
    async fn end(mut self, line: usize) -> Result<(), Failed> {
        let Some(client) = self.client.take() else {
            return Ok(());
        };
        self.talk.silent(line).await?;
        if let Ok(told) = self.told.try_recv() {
            return Err(self
                .talk
                .failed(line, format!("the host was told {told}, too")));
        }
        if let Some(name) = self.calls.keys().next() {
            return Err(self
                .talk
                .failed(line, format!("what became of the call {name}?")));
        }
        client.close().await.expect("the client ends gracefully");
        Ok(())
    }
}

/// Sends a request with this method from its own task.
fn call(
    client: &Client,
    method: &str,
    params: &Value,
    heard: &mpsc::Sender<Value>,
) -> JoinHandle<Ended> {
    macro_rules! request {
        ($kind:ty) => {{
            let params = serde_json::from_value(params.clone()).expect("params of this method");
            let heard = heard.clone();
            let call = client.request::<$kind>(&params).on_progress(move |progress| {
                let told = json!({"progress": progress.progress, "message": progress.message});
                heard.try_send(told).expect("room");
            });
            tokio::spawn(async move {
                let result = call.await.map_err(|error| error.to_string())?;
                Ok(serde_json::to_value(result).expect("a result is JSON"))
            })
        }};
    }
    match method {
        "tools/list" => request!(types::ListToolsRequest),
        "tools/call" => request!(types::CallToolRequest),
        "prompts/get" => request!(types::GetPromptRequest),
        "resources/read" => request!(types::ReadResourceRequest),
        "completion/complete" => request!(types::CompleteRequest),
        other => panic!("no call of {other} is scripted"),
    }
}

/// The script's side.
enum Server {
    Stdio(PipeEnd),
    Http(Scripted),
}

impl Carried for Server {
    async fn send(&mut self, text: &str) -> Option<u16> {
        match self {
            Self::Stdio(wire) => wire.raw(text).await,
            Self::Http(scripted) => scripted.send(text).await,
        }
        None
    }

    async fn next(&mut self) -> Option<Value> {
        match self {
            Self::Stdio(wire) => Some(wire.recv_patiently().await),
            Self::Http(scripted) => scripted.next().await,
        }
    }

    fn status_of(&self, _: &str) -> u16 {
        200
    }
}
