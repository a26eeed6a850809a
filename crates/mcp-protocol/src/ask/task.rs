//! Questions that the client answers as tasks (2025-11-25): it is asked, and its answer is waited
//! for by a request of its own.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks).

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use mcp_jsonrpc::{RawJson, text_of};
use mcp_types::{ClientCapabilities, CreateTaskResult, method};
use serde_json::{Value, json};

use crate::{AskError, Link, Rules};

/// Whether a client answers this question as a task.
pub(crate) fn is_supported(method: &str, capabilities: &ClientCapabilities, rules: &Rules) -> bool {
    let requests = capabilities.tasks.as_ref();
    let requests = requests.and_then(|tasks| tasks.requests.as_ref());
    let Some(requests) = requests.filter(|_| rules.tasks) else {
        return false;
    };
    match method {
        method::ELICITATION_CREATE => {
            let elicitation = requests.elicitation.as_ref();
            elicitation.is_some_and(|it| it.create.is_some())
        }
        method::SAMPLING_CREATE_MESSAGE => {
            let sampling = requests.sampling.as_ref();
            sampling.is_some_and(|it| it.create_message.is_some())
        }
        _ => false,
    }
}

/// Asks, and waits for what the task comes to.
///
/// # Cancel safety
/// Dropping the future asks the client to give the task up.
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
    let mut given = Given {
        link: Arc::clone(link),
        about: text_of(&json!({ "taskId": created.task.task_id })),
        is_over: false,
    };
    // It is not looked at meanwhile: whoever waits for the outcome need not (TASK-023).
    let outcome = link.request(method::TASKS_RESULT, Some(given.about.clone().into_bytes()));
    let outcome = outcome.await?;
    given.is_over = true;
    outcome.map_err(AskError::Rejected)
}

/// A task that the client runs for us; given up on drop.
struct Given {
    link: Arc<dyn Link>,
    about: String,
    is_over: bool,
}

impl Drop for Given {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let about = std::mem::take(&mut self.about).into_bytes();
        let mut call = self.link.request(method::TASKS_CANCEL, Some(about));
        // The first look sends it; nobody is here to wait for the answer.
        let _ = std::pin::Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop()));
    }
}
