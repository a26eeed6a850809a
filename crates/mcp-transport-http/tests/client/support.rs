//! A scripted server made of channels.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use mcp_transport_http::{HttpTransport, RequestBody};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tower_service::Service;

pub(crate) use crate::pair::*;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(crate) const URL: &str = "http://server.test/mcp";
pub(crate) const SESSION: &str = "session-4711";
/// Longer than any wait in the tests; free because the clock is paused.
pub(crate) const LONG_WAIT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The client's end of the channels: an HTTP client without a network.
#[derive(Clone)]
pub(crate) struct WireClient(mpsc::Sender<ReceivedRequest>);

/// The server's end.
pub(crate) struct Server(mpsc::Receiver<ReceivedRequest>);

/// A received request and the means to respond. Dropping it interrupts the connection.
pub(crate) struct ReceivedRequest {
    pub(crate) head: http::request::Parts,
    pub(crate) body: Bytes,
    reply: oneshot::Sender<Result<Response<Pieces>, BoxError>>,
}

/// The chunks of a response body.
pub(crate) struct Pieces {
    pieces: mpsc::Receiver<Result<Bytes, BoxError>>,
    announced: Option<u64>,
}

/// The server's end of a stream. Dropping it ends the stream.
pub(crate) struct Stream(mpsc::Sender<Result<Bytes, BoxError>>);

pub(crate) fn wire() -> (WireClient, Server) {
    crate::log::record();
    let (sender, receiver) = mpsc::channel(64);
    (WireClient(sender), Server(receiver))
}

impl Service<Request<RequestBody>> for WireClient {
    type Response = Response<Pieces>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Pieces>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let (reply, response) = oneshot::channel();
            let body = body.as_bytes().clone();
            let seen = ReceivedRequest { head, body, reply };
            let refused = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
            server.send(seen).await.map_err(|_| refused())?;
            response.await.map_err(|_| "connection reset")?
        })
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let piece = self.pieces.poll_recv(cx);
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.announced
            .map_or_else(Default::default, http_body::SizeHint::with_exact)
    }
}

impl Server {
    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> ReceivedRequest {
        let seen = timeout(LONG_WAIT, self.0.recv()).await;
        seen.expect("no request arrived").unwrap()
    }

    /// Waits for the next request; `None` if the client was dropped.
    pub(crate) async fn next_if_any(&mut self) -> Option<ReceivedRequest> {
        timeout(LONG_WAIT, self.0.recv()).await.unwrap()
    }

    /// Checks that no request arrives during this time.
    pub(crate) async fn receives_nothing_for(&mut self, time: Duration) {
        if let Ok(Some(seen)) = timeout(time, self.0.recv()).await {
            panic!("unexpected {seen:?}");
        }
    }

    /// Waits for the next request, which must be a POST with this method.
    pub(crate) async fn expect(&mut self, method: &str) -> ReceivedRequest {
        let seen = self.next().await;
        assert_eq!(seen.head.method, http::Method::POST, "{seen:?}");
        assert_eq!(seen.json()["method"], method, "{seen:?}");
        seen
    }

    /// Waits for the next request, which must open a stream.
    pub(crate) async fn expect_get(&mut self) -> ReceivedRequest {
        let seen = self.next().await;
        assert_eq!(seen.head.method, http::Method::GET, "{seen:?}");
        seen
    }
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name).map(|g| g.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> Value {
        self.json()["id"].clone()
    }

    pub(crate) fn respond(self, status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) {
        let (stream, response) = response(status, headers);
        stream.0.try_send(Ok(body.into())).unwrap();
        let _ = self.reply.send(Ok(response));
    }

    /// Responds without a body.
    pub(crate) fn status(self, status: u16) {
        let (_, response) = response(status, &[]);
        let _ = self.reply.send(Ok(response));
    }

    pub(crate) fn accept(self) {
        self.status(202);
    }

    pub(crate) fn json_body(self, status: u16, body: &Value) {
        let json = [("content-type", "application/json")];
        self.respond(status, &json, body.to_string());
    }

    /// Responds with JSON.
    pub(crate) fn answer(self, result: &Value) {
        let body = json!({"jsonrpc": "2.0", "id": self.id(), "result": result});
        self.json_body(200, &body);
    }

    /// Responds to `initialize`.
    pub(crate) fn open(self, session: Option<&str>, revision: &str) {
        let result = json!({
            "protocolVersion": revision,
            "capabilities": {},
            "serverInfo": {"name": "scripted", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": self.id(), "result": result}).to_string();
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
        self.respond(200, &headers, body);
    }

    /// Responds with an event stream.
    pub(crate) fn stream(self) -> Stream {
        self.stream_with(&[("content-type", "text/event-stream")])
    }

    pub(crate) fn stream_with(self, headers: &[(&str, &str)]) -> Stream {
        let (stream, response) = response(200, headers);
        let _ = self.reply.send(Ok(response));
        stream
    }

    /// Responds with a body that is interrupted.
    pub(crate) fn half(self, headers: &[(&str, &str)], body: &str) {
        let (stream, response) = response(200, headers);
        stream.0.try_send(Ok(body.to_owned().into())).unwrap();
        stream.0.try_send(Err("connection reset".into())).unwrap();
        let _ = self.reply.send(Ok(response));
    }

    /// Refuses the connection.
    pub(crate) fn refuse(self) {
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let _ = self.reply.send(Err(error.into()));
    }

    /// Waits until the client aborts the request.
    pub(crate) async fn abandoned(mut self) {
        timeout(LONG_WAIT, self.reply.closed()).await.unwrap();
    }
}

impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.head.method, self.body)
    }
}

fn response(status: u16, headers: &[(&str, &str)]) -> (Stream, Response<Pieces>) {
    let (sender, pieces) = mpsc::channel(64);
    let mut response = Response::builder().status(status);
    let mut announced = None;
    for (name, value) in headers {
        response = response.header(*name, *value);
        if *name == header::CONTENT_LENGTH.as_str() {
            announced = value.parse().ok();
        }
    }
    let response = response.body(Pieces { pieces, announced });
    (Stream(sender), response.unwrap())
}

impl Stream {
    pub(crate) async fn raw(&self, bytes: impl Into<Bytes>) {
        self.0.send(Ok(bytes.into())).await.unwrap();
    }

    /// Sends an event, with an id unless it is empty.
    pub(crate) async fn event(&self, id: &str, message: &Value) {
        let id = match id {
            "" => String::new(),
            id => format!("id: {id}\n"),
        };
        self.raw(format!("event: message\n{id}data: {message}\n\n"))
            .await;
    }

    pub(crate) async fn answer(&self, id: &str, request: &Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request, "result": result});
        self.event(id, &answer).await;
    }

    /// Interrupts the connection.
    pub(crate) async fn cut(self) {
        self.0.send(Err("connection reset".into())).await.unwrap();
    }

    /// Waits until the client stops reading.
    pub(crate) async fn abandoned(&self) {
        timeout(LONG_WAIT, self.0.closed()).await.unwrap();
    }

    /// Sends bytes. Returns whether the client still reads.
    pub(crate) async fn try_raw(&self, bytes: Vec<u8>) -> bool {
        self.0.send(Ok(bytes.into())).await.is_ok()
    }
}

#[expect(dead_code, reason = "shows that a body of any error type is accepted")]
fn accepts_infallible_bodies(http: HttpTransport, service: Accepting) -> HttpTransport {
    http.service(service)
}

#[derive(Clone)]
struct Accepting;

impl Service<Request<RequestBody>> for Accepting {
    type Response = Response<RequestBody>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<RequestBody>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<RequestBody>) -> Self::Future {
        let mut response = Response::new(RequestBody::default());
        *response.status_mut() = StatusCode::ACCEPTED;
        std::future::ready(Ok(response))
    }
}
