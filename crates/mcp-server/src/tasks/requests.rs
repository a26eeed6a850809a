//! Input requests of a running task, sent to the client as server requests (2025-11-25).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use mcp_jsonrpc::text_of;
use mcp_protocol::modern::ClaimedInputRequest;
use mcp_protocol::{BoxFuture, Link};
use mcp_types::method;
use serde_json::{Value, json};

use super::wire::relate_to_task;
use crate::task_table::RunningTask;

/// Sends the input requests of a task on the stream of one request, until the task has ended.
///
/// # Cancel safety
/// Dropping the future withdraws the requests without a response; another call may send them again.
pub(super) async fn send_requests(running_task: &Arc<RunningTask>, link: &Arc<dyn Link>) {
    let mut ended = running_task.ended.subscribe();
    let mut ended = pin!(async move { ended.wait_for(|ended| *ended).await.is_ok() });
    let mut sending: Vec<BoxFuture<'static, bool>> = Vec::new();
    // After the first failure nothing more is sent to this client.
    let mut is_reachable = true;
    let mut seen = 0;
    loop {
        let mut changed = pin!(running_task.pending.changed(seen));
        let changed = poll_fn(|cx| {
            if ended.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            while is_reachable && let Some(request) = running_task.pending.claim_request() {
                sending.push(Box::pin(send_request(
                    request,
                    Arc::clone(link),
                    running_task.id.clone(),
                )));
            }
            sending.retain_mut(|send| match send.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(was_reached) => {
                    is_reachable &= was_reached;
                    false
                }
            });
            changed.as_mut().poll(cx).map(Some)
        })
        .await;
        match changed {
            Some(number) => seen = number,
            None => return,
        }
    }
}

/// Sends one input request and delivers the response. Returns whether the client could be reached.
async fn send_request(request: ClaimedInputRequest, link: Arc<dyn Link>, id: Box<str>) -> bool {
    let Some(method) = known_method(request.method()) else {
        return true;
    };
    let mut params = request.params().cloned().unwrap_or_else(|| json!({}));
    // TASK-043, TASK-058
    relate_to_task(&mut params, &id);
    let mut call = pin!(link.request(method, Some(text_of(&params).into_bytes())));
    let answer = {
        let mut withdrawn = pin!(request.withdrawn());
        poll_fn(|cx| {
            if withdrawn.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            call.as_mut().poll(cx).map(Some)
        })
        .await
    };
    match answer {
        None => true,
        Some(Ok(Ok(raw))) => {
            // Invalid JSON becomes `null`, which matches no input request.
            request.answer(Ok(raw.decode::<Value>().unwrap_or_default()));
            true
        }
        Some(Ok(Err(refusal))) => {
            request.answer(Err(refusal));
            true
        }
        Some(Err(error)) => {
            tracing::debug!(%error, "cannot send an input request of a task to its client");
            false
        }
    }
}

fn known_method(method: &str) -> Option<&'static str> {
    [
        method::ELICITATION_CREATE,
        method::SAMPLING_CREATE_MESSAGE,
        method::ROOTS_LIST,
    ]
    .into_iter()
    .find(|known| *known == method)
}
