//! Transport ends that a test controls.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, request};
use http_body::Frame;
use mcp_protocol::{BoxFuture, Connection, Inbound, Transport, TransportError};
use mcp_transport_http::RequestBody;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tower_service::Service;

use crate::prelude::*;

/// Longer than any wait in the tests; with a paused clock it costs nothing.
const PATIENCE: Duration = Duration::from_secs(3_600);
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// A transport that can reconnect any number of times.
pub(crate) struct Startable(mpsc::Sender<PipeEnd>);

/// The started connections.
pub(crate) struct Starts(mpsc::Receiver<PipeEnd>);

pub(crate) fn started() -> (Startable, Starts) {
    let (sender, receiver) = mpsc::channel(8);
    (Startable(sender), Starts(receiver))
}

impl Starts {
    /// Returns the server's end of the next connection.
    pub(crate) async fn next(&mut self) -> PipeEnd {
        self.0.recv().await.unwrap()
    }
}

impl Transport for Startable {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        let (wire, pipe) = PipeEnd::server();
        self.0.try_send(wire).unwrap();
        Box::new(pipe).start(inbound)
    }

    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(Self(self.0.clone())))
    }
}

/// Texts that a handler returns one after the other.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<VecDeque<String>>>);

impl Notes {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push_back(text.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        self.0.lock().unwrap().drain(..).collect()
    }
}

/// An HTTP client without a network.
#[derive(Clone)]
pub(crate) struct Wired(mpsc::Sender<Exchange>);

/// The server of that client.
pub(crate) struct HttpServer(mpsc::Receiver<Exchange>);

pub(crate) fn wired() -> (Wired, HttpServer) {
    let (sender, receiver) = mpsc::channel(64);
    (Wired(sender), HttpServer(receiver))
}

/// A request, and the means to answer it.
pub(crate) struct Exchange {
    pub(crate) head: request::Parts,
    /// The body, or null.
    pub(crate) body: Value,
    reply: oneshot::Sender<Response<Pieces>>,
}

/// The body of a response.
pub(crate) struct Pieces(mpsc::Receiver<Bytes>);

/// A response that is an event stream. Dropping it ends the stream.
pub(crate) struct Stream {
    id: Value,
    pieces: mpsc::Sender<Bytes>,
}

impl Service<Request<RequestBody>> for Wired {
    type Response = Response<Pieces>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Response<Pieces>, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = serde_json::from_slice(body.as_bytes()).unwrap_or_default();
            let (reply, response) = oneshot::channel();
            let exchange = Exchange { head, body, reply };
            let reset = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
            server.send(exchange).await.map_err(|_| reset())?;
            response.await.map_err(|_| reset())
        })
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(cx);
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

impl HttpServer {
    /// Returns the next request.
    pub(crate) async fn next(&mut self) -> Exchange {
        let next = self.next_within(PATIENCE).await;
        next.expect("no request came")
    }

    /// Returns the next request, `None` at the end of the client.
    pub(crate) async fn recv(&mut self) -> Option<Exchange> {
        self.0.recv().await
    }

    pub(crate) async fn next_within(&mut self, time: Duration) -> Option<Exchange> {
        timeout(time, self.0.recv()).await.ok().flatten()
    }

    /// Checks that no further request is sent.
    pub(crate) async fn is_done(&mut self) {
        if let Some(more) = self.next_within(PATIENCE).await {
            panic!("{} {}", more.head.method, more.body);
        }
    }

    /// Drops the client; asserts that it sends nothing more.
    pub(crate) async fn done_with(&mut self, client: Client) {
        drop(client);
        self.is_done().await;
    }
}

impl Exchange {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name).map(|it| it.to_str().unwrap())
    }

    /// Sends a response; returns the means to continue its body.
    pub(crate) fn send(
        self,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> mpsc::Sender<Bytes> {
        let (pieces, receiver) = mpsc::channel(64);
        if !body.is_empty() {
            pieces.try_send(body.to_owned().into()).unwrap();
        }
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let _ = self.reply.send(response.body(Pieces(receiver)).unwrap());
        pieces
    }

    pub(crate) fn respond(self, status: u16, media: &str, body: &str) {
        self.send(status, &[("content-type", media)], body);
    }

    pub(crate) fn status(self, status: u16) {
        self.send(status, &[], "");
    }

    pub(crate) fn answer(self, result: Value) {
        self.answer_with("x-nothing", "nothing", result);
    }

    /// Answers with an additional header.
    pub(crate) fn answer_with(self, name: &str, value: &str, result: Value) {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        let headers = [("content-type", JSON), (name, value)];
        self.send(200, &headers, &body.to_string());
    }

    pub(crate) fn refuse(self, status: u16, error: Value) {
        let id = self.body["id"].clone();
        self.refuse_as(status, id, error);
    }

    /// Answers with an error that has this id.
    pub(crate) fn refuse_as(self, status: u16, id: Value, error: Value) {
        let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.respond(status, JSON, &body.to_string());
    }

    /// Interrupts the connection before there is a response.
    pub(crate) fn break_off(self) {
        drop(self);
    }

    pub(crate) fn stream(self) -> Stream {
        let id = self.body["id"].clone();
        let pieces = self.send(200, &[("content-type", EVENTS)], "");
        Stream { id, pieces }
    }

    /// Acknowledges this request, which must be `subscriptions/listen`.
    pub(crate) async fn listen(self) -> Stream {
        assert_eq!(self.body["method"], "subscriptions/listen");
        let filter = self.body["params"]["notifications"].clone();
        let stream = self.stream();
        let method = "notifications/subscriptions/acknowledged";
        stream
            .tell(method, json!({ "notifications": filter }))
            .await;
        stream
    }
}

impl Stream {
    pub(crate) async fn raw(&self, text: &str) {
        self.pieces.send(text.to_owned().into()).await.unwrap();
    }

    async fn event(&self, message: Value) {
        self.raw(&format!("data: {message}\n\n")).await;
    }

    /// Sends a notification on this stream.
    pub(crate) async fn tell(&self, method: &str, mut params: Value) {
        params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": self.id });
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.event(message).await;
    }

    pub(crate) async fn answer(&self, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "result": result });
        self.event(message).await;
    }

    /// Completes when the client stops reading.
    pub(crate) async fn abandoned(&self) {
        timeout(PATIENCE, self.pieces.closed()).await.unwrap();
    }
}
