//! Clients of the killed servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_client::{CallStart, Client, Error, Negotiation, TaskRef};
use mcp_protocol::Revision;
use mcp_transport_http::HttpTransport;
use mcp_types::CallToolResult;
use serde_json::json;

/// The called tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Steps that run once each.
    Steps,
    /// Steps with an input request in between.
    WithInput,
    /// A tool that cannot be run again.
    Plain,
}

/// A call and its outcome.
#[derive(Debug)]
pub(super) struct CallReport {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether the client received the task.
    pub(super) acknowledged: bool,
    pub(super) task: Option<TaskRef>,
    pub(super) outcome: Outcome,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Text(String),
    /// The server reports a failure.
    Failed(String),
    /// The client has no response.
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
pub(super) struct Caller(pub(super) Client);

impl Caller {
    pub(super) async fn connect(url: &str, revision: Revision) -> Self {
        let negotiation = if revision.is_stateless() {
            Negotiation::Stateless
        } else {
            Negotiation::SessionBased
        };
        let client = Client::builder("caller", "1.0.0")
            .revision(revision)
            .negotiation(negotiation)
            .task_calls()
            .on_elicit(async |form| form.accept(json!({ "yes": true })))
            .connect(HttpTransport::new(url).unwrap())
            .await
            .unwrap();
        assert_eq!(client.revision(), revision);
        Self(client)
    }

    /// Calls a tool and waits for its result: through a task handle, or by awaiting the call.
    pub(super) async fn call(&self, kind: Kind, name: String, by_handle: bool) -> CallReport {
        let tool = if kind == Kind::Plain {
            "plain"
        } else {
            "steps"
        };
        let arguments = json!({ "name": name, "ask": kind == Kind::WithInput });
        let call = self.0.call_tool(tool, arguments);
        let mut called = CallReport {
            name,
            kind,
            acknowledged: false,
            task: None,
            outcome: Outcome::Lost(String::new()),
        };
        if by_handle {
            called.outcome = match call.start().await {
                Ok(CallStart::Task(task)) => {
                    called.acknowledged = true;
                    called.task = Some(task.task_ref().clone());
                    task.wait().await.into()
                }
                Ok(started) => Outcome::Lost(format!("{started:?}")),
                Err(error) => Err(error).into(),
            };
            return called;
        }
        let has_status = Arc::new(AtomicBool::new(false));
        let on_status = Arc::clone(&has_status);
        let call = call.on_status(move |_| on_status.store(true, Ordering::Relaxed));
        called.outcome = call.await.into();
        called.acknowledged = has_status.load(Ordering::Relaxed);
        called
    }

    /// Waits for a task that another client started.
    pub(super) async fn wait_for(callers: &[Self], task: &TaskRef) -> Outcome {
        let is_stateless = task.known_version().revision().is_stateless();
        let is_same = |caller: &&Self| caller.0.revision().is_stateless() == is_stateless;
        let caller = callers.iter().find(is_same).unwrap();
        caller.0.task(task.clone()).wait().await.into()
    }
}
