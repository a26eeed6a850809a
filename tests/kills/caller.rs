//! Clients that know nothing of what happens to their server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_client::{CallStart, Client, Error, Negotiation, TaskRef};
use mcp_protocol::Revision;
use mcp_transport_http::Http;
use mcp_types::CallToolResult;
use serde_json::json;

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One step after the other, each once.
    Steps,
    /// The same, with a question in between.
    Asking,
    /// What cannot be run again.
    Plain,
}

/// A call, and what came of it.
#[derive(Debug)]
pub(super) struct CallReport {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether the client heard that there is a task.
    pub(super) acknowledged: bool,
    pub(super) ticket: Option<TaskRef>,
    pub(super) outcome: Outcome,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Text(String),
    /// The server says it failed.
    Failed(String),
    /// The client has no answer.
    Lost(String),
}

impl From<Result<CallToolResult, Error>> for Outcome {
    fn from(result: Result<CallToolResult, Error>) -> Self {
        match result {
            Ok(result) if result.is_error == Some(true) => Self::Lost(result.joined_text()),
            Ok(result) => Self::Text(result.joined_text()),
            Err(Error::Rejected(error)) => Self::Failed(error.message.into_owned()),
            Err(error) => Self::Lost(error.to_string()),
        }
    }
}

/// A client.
#[derive(Clone)]
pub(super) struct Caller(Client);

impl Caller {
    pub(super) async fn connect(url: &str, revision: Revision) -> Self {
        let era = if revision.rules().stateless {
            Negotiation::Modern
        } else {
            Negotiation::Legacy
        };
        let client = Client::builder("caller", "1.0.0")
            .revision(revision)
            .negotiation(era)
            .task_calls()
            .on_elicit(async |form| form.accept(json!({ "yes": true })))
            .connect(Http::new(url).unwrap())
            .await
            .unwrap();
        assert_eq!(client.revision(), revision);
        Self(client)
    }

    /// Calls a tool and waits for what comes of it: by a handle, or in one await.
    pub(super) async fn call(&self, kind: Kind, name: String, by_handle: bool) -> CallReport {
        let tool = if kind == Kind::Plain {
            "plain"
        } else {
            "steps"
        };
        let arguments = json!({ "name": name, "ask": kind == Kind::Asking });
        let call = self.0.call_tool(tool, arguments);
        let mut called = CallReport {
            name,
            kind,
            acknowledged: false,
            ticket: None,
            outcome: Outcome::Lost(String::new()),
        };
        if by_handle {
            called.outcome = match call.start().await {
                Ok(CallStart::Task(task)) => {
                    called.acknowledged = true;
                    called.ticket = Some(task.task_ref().clone());
                    task.wait().await.into()
                }
                Ok(started) => Outcome::Lost(format!("{started:?}")),
                Err(error) => Err(error).into(),
            };
            return called;
        }
        let heard = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&heard);
        let call = call.on_status(move |_| hears.store(true, Ordering::Relaxed));
        called.outcome = call.await.into();
        called.acknowledged = heard.load(Ordering::Relaxed);
        called
    }

    /// Waits for a task that another client started.
    pub(super) async fn come_back(callers: &[Self], ticket: &TaskRef) -> Outcome {
        let era = |caller: &&Self| caller.0.known_version().era() == ticket.known_version().era();
        let caller = callers.iter().find(era).unwrap();
        caller.0.task(ticket.clone()).wait().await.into()
    }
}
