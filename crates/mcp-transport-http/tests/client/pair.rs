//! A recording client, and a client with its scripted server.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use mcp_jsonrpc::{Notification, Request as ServerRequest};
use mcp_protocol::{
    Answer, Call, CallError, Closed, Connection, Exchange, Inbound, Link, Reply, Transport,
};
use mcp_transport_http::{ClientOptions, HttpTransport};
use mcp_types::method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::support::{LONG_WAIT, SESSION, Server, URL, WireClient, wire};

/// A message that the client received.
#[derive(Debug, PartialEq)]
pub(crate) enum ReceivedMessage {
    Notification(String, Option<Value>),
    ServerRequest(String),
    Closed(String),
}

type OnServerRequest = dyn Fn(&ServerRequest<'_>, Exchange) -> Reply + Send + Sync;

/// The handler of a client: records messages, and answers server requests with `on_server_request`.
pub(crate) struct Ear {
    heard: mpsc::Sender<ReceivedMessage>,
    batches: bool,
    on_server_request: Box<OnServerRequest>,
    deadline: Option<Duration>,
}

pub(crate) struct Notes(mpsc::Receiver<ReceivedMessage>);

impl Notes {
    pub(crate) async fn next(&mut self) -> ReceivedMessage {
        timeout(LONG_WAIT, self.0.recv()).await.unwrap().unwrap()
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

pub(crate) fn ear() -> (Ear, Notes) {
    let (heard, notes) = mpsc::channel(4_096);
    let ear = Ear {
        heard,
        batches: false,
        on_server_request: Box::new(|_, _| Reply::ok(mcp_protocol::Payload::Empty)),
        deadline: None,
    };
    (ear, Notes(notes))
}

impl Ear {
    pub(crate) fn answering(
        mut self,
        answer: impl Fn(&ServerRequest<'_>, Exchange) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.on_server_request = Box::new(answer);
        self
    }

    pub(crate) fn with_batches(mut self) -> Self {
        self.batches = true;
        self
    }

    pub(crate) fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    fn note(&self, heard: ReceivedMessage) {
        // Some tests do not read the messages.
        let full = matches!(
            self.heard.try_send(heard),
            Err(mpsc::error::TrySendError::Full(_))
        );
        assert!(
            !full,
            "the client received more messages than a test expects"
        );
    }
}

impl Inbound for Ear {
    fn request(&self, request: &ServerRequest<'_>, exchange: Exchange) -> Reply {
        self.note(ReceivedMessage::ServerRequest(request.method.to_string()));
        (self.on_server_request)(request, exchange)
    }

    fn notification(&self, notification: &Notification<'_>) {
        let params = notification.params;
        self.note(ReceivedMessage::Notification(
            notification.method.to_string(),
            params.map(|params| serde_json::from_str(params).unwrap()),
        ));
    }

    fn accepts_batches(&self) -> bool {
        self.batches
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    fn closed(&self, reason: &Closed) {
        self.note(ReceivedMessage::Closed(reason.to_string()));
    }
}

/// A client, its server, and the messages that the client received.
pub(crate) struct Pair {
    pub(crate) connection: Arc<dyn Connection>,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) server: Server,
    pub(crate) notes: Notes,
}

/// The options of most tests: no standalone stream, and half of the default timeouts.
pub(crate) fn quiet() -> ClientOptions {
    ClientOptions::new()
        .without_listening()
        .with_random(|| 1 << 63)
}

pub(crate) fn http(wire: WireClient, options: ClientOptions) -> HttpTransport {
    HttpTransport::new(URL)
        .unwrap()
        .service(wire)
        .options(options)
}

impl Pair {
    pub(crate) async fn new(options: ClientOptions) -> Self {
        let (wire, server) = wire();
        Self::with(http(wire, options), server, ear()).await
    }

    pub(crate) async fn with(
        http: HttpTransport,
        server: Server,
        (ear, notes): (Ear, Notes),
    ) -> Self {
        let connection = Box::new(http).start(Arc::new(ear)).await.unwrap();
        Self {
            link: connection.link(),
            connection,
            server,
            notes,
        }
    }

    /// A pair with an open session.
    pub(crate) async fn open(options: ClientOptions) -> Self {
        Self::new(options).await.opened(Some(SESSION)).await
    }

    pub(crate) async fn opened(mut self, session: Option<&str>) -> Self {
        let opening = spawn(self.link.request(method::INITIALIZE, Some(initialize())));
        let seen = self.server.expect(method::INITIALIZE).await;
        seen.open(session, "2025-11-25");
        opening.await.unwrap().unwrap().unwrap();
        self.connection.negotiated("2025-11-25");
        self.notify(method::NOTIFICATIONS_INITIALIZED);
        let seen = self.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
        seen.accept();
        self
    }

    /// Starts a call in a task.
    pub(crate) fn call(&self, method: &'static str) -> JoinHandle<Result<Answer, CallError>> {
        spawn(self.link.request(method, None))
    }

    pub(crate) fn notify(&self, method: &str) {
        let always = mcp_protocol::Delivery::Always;
        self.link.notify(method, None, always).unwrap();
    }

    /// Completes a call and returns the headers of its request.
    pub(crate) async fn headers_of(&mut self, method: &'static str) -> HeaderMap {
        let call = self.call(method);
        let seen = self.server.expect(method).await;
        let headers = seen.head.headers.clone();
        seen.answer(&json!({}));
        call.await.unwrap().unwrap().unwrap();
        headers
    }
}

pub(crate) fn initialize() -> Vec<u8> {
    br#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#
        .to_vec()
}

pub(crate) fn spawn(call: Call) -> JoinHandle<Result<Answer, CallError>> {
    tokio::spawn(call)
}

/// Returns the result of a call.
pub(crate) async fn result(call: JoinHandle<Result<Answer, CallError>>) -> Value {
    let answer = call.await.unwrap().unwrap().unwrap();
    answer.decode().unwrap()
}

/// Returns the error text of a failed call.
pub(crate) async fn failure(call: JoinHandle<Result<Answer, CallError>>) -> String {
    match call.await.unwrap() {
        Err(error) => {
            let text = error.to_string();
            if let CallError::Failed(error) = &error {
                // Gateways tell clients only this of the error.
                let marks = (error.is_possibly_executed(), error.is_session_replaced());
                let said = (text.contains("may have run"), text.contains("call again"));
                assert_eq!(marks, said, "{text}");
            }
            text
        }
        Ok(answer) => panic!("{answer:?}"),
    }
}

/// Runs all ready tasks.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// Like [`quiet`], with a standalone stream.
pub(crate) fn quiet_but_listening() -> ClientOptions {
    ClientOptions::new().with_random(|| 1 << 63)
}
