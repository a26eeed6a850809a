//! The way to the client of a call that outlives its request.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_jsonrpc::text_of;
use mcp_protocol::task::Task;
use mcp_protocol::{Call, CallError, Closed, Delivery, Extras, Grant, Link, Principal, Session};
use serde_json::Value;

use super::relate;

/// The line of a task. As long as its request is not answered it is that of the request. Then
/// notifications go to the session, where there is one, and say which task they belong to; what
/// was known of the request stays known.
pub(super) struct Line {
    request: Option<Arc<dyn Link>>,
    session: Arc<Session>,
    /// The id of the task, once the request is answered.
    task: OnceLock<Box<str>>,
    /// What stands for the request where it is long gone.
    kept: Option<Kept>,
}

struct Kept {
    owner: Option<Principal>,
    grant: Grant,
    local: bool,
}

impl Line {
    /// Of a request that is not answered yet.
    pub(super) fn of_request(request: Arc<dyn Link>, session: Arc<Session>) -> Self {
        Self {
            request: Some(request),
            session,
            task: OnceLock::new(),
            kept: None,
        }
    }

    /// Of a task that is run again.
    pub(super) fn of_task(task: &Task, session: Arc<Session>) -> Self {
        let call = task.call();
        Self {
            request: None,
            session,
            task: OnceLock::from(Box::from(task.id())),
            kept: Some(Kept {
                owner: task.owner().cloned(),
                grant: Grant::new(call.scopes.iter().map(String::as_str)).unanswered(),
                local: call.local,
            }),
        }
    }

    /// The request is answered; from here on the task speaks for itself.
    pub(super) fn leave(&self, task: &str) {
        // A call leaves once.
        let _ = self.task.set(task.into());
    }

    /// Whether the request is answered.
    pub(super) fn has_left(&self) -> bool {
        self.task.get().is_some()
    }
}

impl Link for Line {
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
        relate(&mut params, id);
        // What is only as long as its request, as from 2026-07-28 on, leads to nobody: tasks have
        // no notifications but their own there (M-TASK-046).
        let params = text_of(&params);
        let sent = self
            .session
            .notify(method, Some(params.as_bytes()), delivery);
        sent.then_some(()).ok_or_else(Closed::local)
    }

    fn request(&self, method: &'static str, params: Option<Vec<u8>>) -> Call {
        self.request_with(method, params, Extras::default())
    }

    fn request_with(&self, method: &'static str, params: Option<Vec<u8>>, extras: Extras) -> Call {
        match (&self.request, self.task.get()) {
            (Some(request), None) => request.request_with(method, params, extras),
            _ => Call::failed(CallError::Closed(Closed::local())),
        }
    }

    fn facts(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.request.as_ref()?.facts()
    }

    fn principal(&self) -> Option<&Principal> {
        match (&self.request, &self.kept) {
            (Some(request), _) => request.principal(),
            (None, kept) => kept.as_ref()?.owner.as_ref(),
        }
    }

    fn permits(&self, scope: &str) -> bool {
        match (&self.request, &self.kept) {
            (Some(request), _) => request.permits(scope),
            (None, Some(kept)) => kept.local || kept.grant.demand(scope),
            (None, None) => false,
        }
    }

    fn grant(&self) -> Option<Grant> {
        match (&self.request, &self.kept) {
            (Some(request), _) => request.grant(),
            (None, kept) => kept.as_ref().map(|kept| kept.grant.clone()),
        }
    }

    fn is_local(&self) -> bool {
        match (&self.request, &self.kept) {
            (Some(request), _) => request.is_local(),
            (None, kept) => kept.as_ref().is_some_and(|kept| kept.local),
        }
    }

    fn release(&self, retry: Duration) -> bool {
        match (&self.request, self.task.get()) {
            (Some(request), None) => request.release(retry),
            _ => false,
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("left", &self.task.get().is_some())
            .finish_non_exhaustive()
    }
}
