//! The link from a task to the client that called the tool.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_jsonrpc::text_of;
use mcp_protocol::task::Task;
use mcp_protocol::{
    Call, CallError, Caller, Closed, Delivery, Extras, Grant, Link, MethodName, RequestOrigin,
    Session,
};
use serde_json::Value;

use super::wire::relate_to_task;

/// The link of a task. Until the tool call is answered, the link forwards messages to the link of the call. Afterwards, if the
/// task has a session, the link sends notifications with the task's id to the session.
pub(super) struct TaskLink {
    request: Option<Arc<dyn Link>>,
    session: Arc<Session>,
    /// The id of the task; set as soon as the tool call has been answered.
    task: OnceLock<Box<str>>,
    /// The caller that the store has saved. Set only for a task that was resumed after a restart and therefore has no request.
    kept: Option<Caller>,
}

impl TaskLink {
    /// Creates the link for a tool call that has not been answered yet.
    pub(super) fn of_request(request: Arc<dyn Link>, session: Arc<Session>) -> Self {
        Self {
            request: Some(request),
            session,
            task: OnceLock::new(),
            kept: None,
        }
    }

    /// Creates the link of a resumed task.
    pub(super) fn of_task(task: &Task, session: Arc<Session>) -> Self {
        let call = task.call();
        let mut caller = if call.local {
            Caller::local()
        } else {
            Caller::remote()
        };
        caller.principal = task.owner().cloned();
        caller.grant = Some(Grant::new(call.scopes.iter().map(String::as_str)).unanswered());
        Self {
            request: None,
            session,
            task: OnceLock::from(Box::from(task.id())),
            kept: Some(caller),
        }
    }

    /// Marks the tool call as answered. From now on, messages contain the task's id.
    pub(super) fn detach(&self, task: &str) {
        // A call detaches only once.
        let _ = self.task.set(task.into());
    }

    /// Returns whether the tool call has been answered.
    pub(super) fn is_detached(&self) -> bool {
        self.task.get().is_some()
    }
}

impl Link for TaskLink {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        let Some(id) = self.task.get() else {
            return match &self.request {
                Some(request) => request.notify(method, params, delivery),
                None => Err(Closed::local()),
            };
        };
        let mut params: Value = params
            .and_then(|params| serde_json::from_str(std::str::from_utf8(params).ok()?).ok())
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        relate_to_task(&mut params, id);
        // On the stateless revision the session ends with its request, so nothing is sent here: a
        // task must not send progress or log messages there (M-TASK-046).
        let params = text_of(&params);
        let sent = self
            .session
            .notify(method, Some(params.as_bytes()), delivery);
        sent.then_some(()).ok_or_else(Closed::local)
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, extras: Extras) -> Call {
        match (&self.request, self.task.get()) {
            (Some(request), None) => request.request_with(method, params, extras),
            _ => Call::failed(CallError::Closed(Closed::local())),
        }
    }

    fn origin(&self) -> RequestOrigin<'_> {
        match (&self.request, &self.kept) {
            (Some(request), _) => request.origin(),
            (None, Some(kept)) => kept.origin(),
            (None, None) => RequestOrigin::remote(),
        }
    }

    fn release(&self, retry: Duration) -> bool {
        match (&self.request, self.task.get()) {
            (Some(request), None) => request.release(retry),
            _ => false,
        }
    }
}

impl fmt::Debug for TaskLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLink")
            .field("left", &self.task.get().is_some())
            .finish_non_exhaustive()
    }
}
