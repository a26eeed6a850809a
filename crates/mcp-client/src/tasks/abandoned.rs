//! Tool calls that request a task and are dropped before the client knows the task (2025-11-25).
//!
//! The client must not send `notifications/cancelled` for such a call, and `tasks/cancel` needs the id of the task. The client
//! therefore waits for the response in the background and then cancels the task.
//!
//! Specification: [cancellation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_protocol::BoxFuture;
use mcp_types::method;
use tokio::time::timeout;

use super::request::{CANCEL_TIMEOUT, cancel};
use crate::Error;
use crate::exchange::run;
use crate::request::{Outcome, Request};
use crate::shared::Shared;
use crate::task_status::state::Snapshot;

type Sent = (Result<Outcome, Error>, Request);

/// Sends `request` and waits for its result.
///
/// # Cancel safety
/// Dropping the future cancels the request or, if the request creates a task, the task.
pub(crate) async fn send(shared: &Arc<Shared>, request: &mut Request) -> Result<Outcome, Error> {
    if !request.has_task() {
        return run(shared, request).await;
    }
    let placeholder = Request::new(request.method.clone(), None);
    let mut owned = std::mem::replace(request, placeholder);
    let sender = Arc::clone(shared);
    let sending: BoxFuture<'static, Sent> = Box::pin(async move {
        let result = run(&sender, &mut owned).await;
        (result, owned)
    });
    let (result, owned) = CancelWhenCreated {
        shared: Arc::clone(shared),
        sending: Some(sending),
    }
    .await;
    *request = owned;
    result
}

/// A request that creates a task. If this value is dropped, the task is cancelled as soon as its id is known.
struct CancelWhenCreated {
    shared: Arc<Shared>,
    sending: Option<BoxFuture<'static, Sent>>,
}

impl Future for CancelWhenCreated {
    type Output = Sent;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Sent> {
        let Some(sending) = &mut self.sending else {
            return Poll::Pending;
        };
        let sent = sending.as_mut().poll(cx);
        if sent.is_ready() {
            self.sending = None;
        }
        sent
    }
}

impl Drop for CancelWhenCreated {
    fn drop(&mut self) {
        let (Some(sending), Ok(runtime)) =
            (self.sending.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        runtime.spawn(async move {
            // The timeouts of the call bound this wait.
            let (Ok(outcome), _) = sending.await else {
                return;
            };
            if !outcome.is_task {
                return;
            }
            let Ok(task) = Snapshot::created(method::TOOLS_CALL, &outcome.raw) else {
                return;
            };
            if let Ok(call) = cancel(&shared, &task.id) {
                let answer = timeout(CANCEL_TIMEOUT, call).await;
                tracing::debug!(?answer, "cancelled the task of an abandoned call");
            }
        });
    }
}
