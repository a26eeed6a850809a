//! The HTTP end of a script: its responses to POST, and its messages on the GET stream.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use crate::prelude::*;
use crate::scripted::{Exchange, HttpServer, Stream, Wired, wired};

/// More than any conversation has.
const MANY: usize = 256;

pub(super) struct Scripted {
    events: mpsc::Receiver<Event>,
    /// Received messages that the script has not read.
    said: VecDeque<Value>,
    /// Requests without a response, oldest first.
    waiting: Vec<Exchange>,
    listening: Option<Stream>,
}

enum Event {
    Request(Box<Exchange>),
    /// A message that needs no response.
    Other(Value),
    Listens(Stream),
}

/// Accepts messages that need no response at once, even after the script has ended.
async fn accept(mut server: HttpServer, events: mpsc::Sender<Event>) {
    let mut unanswered = Vec::new();
    while let Some(exchange) = server.recv().await {
        let message = exchange.body.clone();
        let event = if exchange.head.method == Method::GET {
            Event::Listens(exchange.stream())
        } else if message["method"].is_string() && message.get("id").is_some() {
            Event::Request(Box::new(exchange))
        } else {
            exchange.status(202);
            Event::Other(message)
        };
        unanswered.extend(events.send(event).await.err());
    }
}

impl Scripted {
    pub(super) fn new() -> (Self, Wired) {
        let (wired, server) = wired();
        let (sender, events) = mpsc::channel(MANY);
        tokio::spawn(accept(server, sender));
        let scripted = Self {
            events,
            said: VecDeque::new(),
            waiting: Vec::new(),
            listening: None,
        };
        (scripted, wired)
    }

    pub(super) async fn next(&mut self) -> Option<Value> {
        while self.said.is_empty() {
            let event = self.events.recv().await?;
            self.take(event);
        }
        self.said.pop_front()
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Listens(stream) => self.listening = Some(stream),
            // A request without a body ends the session.
            Event::Other(Value::Null) => {}
            Event::Other(message) => self.said.push_back(message),
            Event::Request(exchange) => {
                self.said.push_back(exchange.body.clone());
                self.waiting.push(*exchange);
            }
        }
    }

    /// Sends a JSON-RPC response as the body for the request with its id, or else for the oldest.
    /// All other messages are sent on the GET stream.
    pub(super) async fn send(&mut self, text: &str) {
        if let Some(id) = answered(text) {
            let at = self.waiting.iter().position(|it| it.body["id"] == id);
            let exchange = self.waiting.remove(at.unwrap_or(0));
            let mut headers = vec![("content-type", "application/json")];
            if exchange.body["id"] == 1 {
                headers.push(("mcp-session-id", "scripted"));
            }
            exchange.send(200, &headers, text);
            return;
        }
        let stream = loop {
            if let Some(stream) = &self.listening {
                break stream;
            }
            let event = self.events.recv().await.expect("the client listens");
            self.take(event);
        };
        stream.raw(&format!("data: {text}\n\n")).await;
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
