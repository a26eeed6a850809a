//! A scripted HTTP server: its responses to POST, and its messages on the GET stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use mcp_protocol::BoxFuture;
use mcp_transport_http::RequestBody;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;

/// More than any conversation has.
const MANY: usize = 256;

/// The script's end of the network.
pub(super) struct Scripted {
    requests: mpsc::Receiver<Event>,
    /// Received messages that the script has not read.
    said: VecDeque<Value>,
    /// Requests without a response, by the id of their message, oldest first.
    waiting: Vec<(Value, oneshot::Sender<Response<Feed>>)>,
    listening: Option<mpsc::Sender<Bytes>>,
}

enum Event {
    Message(Value, Option<oneshot::Sender<Response<Feed>>>),
    Listens(mpsc::Sender<Bytes>),
}

impl Scripted {
    pub(super) fn new() -> (Self, Network) {
        let (events, requests) = mpsc::channel(MANY);
        let scripted = Self {
            requests,
            said: VecDeque::new(),
            waiting: Vec::new(),
            listening: None,
        };
        (scripted, Network(events))
    }

    pub(super) async fn next(&mut self) -> Option<Value> {
        while self.said.is_empty() {
            let event = self.requests.recv().await?;
            self.take(event);
        }
        self.said.pop_front()
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Listens(stream) => self.listening = Some(stream),
            Event::Message(message, response) => {
                let id = message["id"].clone();
                self.waiting.extend(response.map(|response| (id, response)));
                self.said.push_back(message);
            }
        }
    }

    /// Sends a JSON-RPC response as the body for the request with its id, or else for the oldest.
    /// All other messages are sent on the GET stream.
    pub(super) async fn send(&mut self, text: &str) {
        match answered(text) {
            Some(id) => {
                let at = self.waiting.iter().position(|(it, _)| *it == id);
                let (id, response) = self.waiting.remove(at.unwrap_or(0));
                let mut answer = Response::new(Feed::whole(text));
                let headers = answer.headers_mut();
                headers.insert("content-type", "application/json".parse().expect("text"));
                if id == 1 {
                    headers.insert("mcp-session-id", "scripted".parse().expect("text"));
                }
                // The request may have been dropped.
                let _ = response.send(answer);
            }
            None => {
                while self.listening.is_none() {
                    let event = self.requests.recv().await.expect("the client listens");
                    self.take(event);
                }
                let stream = self.listening.as_ref().expect("a stream");
                let event = format!("data: {text}\n\n");
                stream.send(event.into()).await.expect("the client listens");
            }
        }
    }
}

/// Returns the id of the first response in a text, `null` if it has none; `None` if there is no
/// response.
fn answered(text: &str) -> Option<Value> {
    let message = serde_json::from_str(text).unwrap_or_default();
    let members = match message {
        Value::Array(members) => members,
        message => vec![message],
    };
    let mut answers = members.into_iter().filter(|member| {
        member["method"].is_null() && (member.get("result").or(member.get("error"))).is_some()
    });
    answers.next().map(|answer| answer["id"].clone())
}

/// The client's end of the network.
#[derive(Clone)]
pub(super) struct Network(mpsc::Sender<Event>);

impl Service<Request<RequestBody>> for Network {
    type Response = Response<Feed>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Feed>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let script = self.0.clone();
        Box::pin(async move {
            let mut accepted = Response::new(Feed::whole(""));
            *accepted.status_mut() = StatusCode::ACCEPTED;
            if *request.method() == Method::GET {
                let (stream, feed) = mpsc::channel(MANY);
                let mut response = Response::new(Feed(feed));
                let kind = "text/event-stream".parse().expect("text");
                response.headers_mut().insert("content-type", kind);
                let _ = script.send(Event::Listens(stream)).await;
                return Ok(response);
            }
            let Ok(message) = serde_json::from_slice::<Value>(request.body().as_bytes()) else {
                // A request without a body ends the session.
                return Ok(accepted);
            };
            let asks = message["method"].is_string() && message.get("id").is_some();
            let (answer, answered) = oneshot::channel();
            let event = Event::Message(message, asks.then_some(answer));
            let _ = script.send(event).await;
            if !asks {
                return Ok(accepted);
            }
            match answered.await {
                Ok(response) => Ok(response),
                // The script has ended.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// The body of a response.
pub(crate) struct Feed(pub(crate) mpsc::Receiver<Bytes>);

impl Feed {
    fn whole(text: &str) -> Self {
        let (all, feed) = mpsc::channel(1);
        if !text.is_empty() {
            all.try_send(Bytes::copy_from_slice(text.as_bytes()))
                .expect("room");
        }
        Self(feed)
    }
}

impl http_body::Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = std::task::ready!(self.0.poll_recv(cx));
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }
}
