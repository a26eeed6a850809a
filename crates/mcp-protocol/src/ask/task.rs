//! Server requests that the client answers as tasks (2025-11-25). The first request creates the task. A second request waits for
//! the result of the task.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks).

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use mcp_jsonrpc::{RawJson, text_of};
use mcp_types::{ClientCapabilities, CreateTaskResult, method};
use serde_json::{Value, json};

use crate::{AskError, Link, Rules};

/// Returns whether the client can answer this request as a task.
pub(crate) fn is_supported(method: &str, capabilities: &ClientCapabilities, rules: &Rules) -> bool {
    let requests = capabilities.tasks.as_ref();
    let requests = requests.and_then(|tasks| tasks.requests.as_ref());
    let Some(requests) = requests.filter(|_| rules.tasks) else {
        return false;
    };
    match method {
        method::ELICITATION_CREATE => {
            let elicitation = requests.elicitation.as_ref();
            elicitation.is_some_and(|tasks| tasks.create.is_some())
        }
        method::SAMPLING_CREATE_MESSAGE => {
            let sampling = requests.sampling.as_ref();
            sampling.is_some_and(|tasks| tasks.create_message.is_some())
        }
        _ => false,
    }
}

/// Sends the request, and waits for the result of the task. `ttl` is the requested time to live.
///
/// # Cancel safety
/// Dropping the future sends `tasks/cancel`.
pub(crate) async fn ask(
    link: &Arc<dyn Link>,
    method: &'static str,
    params: Option<Value>,
    ttl: Option<Duration>,
) -> Result<RawJson, AskError> {
    let mut params = params.unwrap_or_else(|| json!({}));
    params["task"] = match ttl {
        Some(ttl) => json!({ "ttl": u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX) }),
        None => json!({}),
    };
    let created = link.request(method, Some(text_of(&params).into_bytes()));
    let created: CreateTaskResult = created
        .await?
        .map_err(AskError::Rejected)?
        .decode()
        .map_err(|error| AskError::BadAnswer(error.to_string()))?;
    let mut task = ClientTask {
        link: Arc::clone(link),
        params: text_of(&json!({ "taskId": created.task.task_id })),
        is_over: false,
    };
    // No polling: `tasks/result` waits for the outcome (TASK-023).
    let outcome = link.request(method::TASKS_RESULT, Some(task.params.clone().into_bytes()));
    let outcome = outcome.await?;
    task.is_over = true;
    outcome.map_err(AskError::Rejected)
}

/// A task that the client runs for this server. Dropping this value cancels the task, unless it has ended.
struct ClientTask {
    link: Arc<dyn Link>,
    params: String,
    is_over: bool,
}

impl Drop for ClientTask {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let params = std::mem::take(&mut self.params).into_bytes();
        let mut call = self.link.request(method::TASKS_CANCEL, Some(params));
        // The first poll sends the request. The response is not needed.
        let _ = std::pin::Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop()));
    }
}
