//! The form of tasks in messages: results, errors and `_meta`.

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_protocol::task::{Task, TaskStoreError};
use mcp_protocol::{Payload, RequestContext};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{CreateTaskResult, JsonObject, RELATED_TASK_KEY};
use serde_json::{Value, json};

/// Returns whether the request declares the tasks extension.
pub(super) fn declares_tasks(context: &RequestContext) -> bool {
    let capabilities = context.session().client_capabilities();
    let extensions = capabilities.and_then(|it| it.extensions.as_ref());
    extensions.is_some_and(|it| it.contains_key(TASKS_EXTENSION))
}

/// Returns the error for a client that does not declare the required extension.
pub(super) fn missing_extension() -> ErrorObject {
    ErrorObject::new(
        ErrorCode::MISSING_CLIENT_CAPABILITY,
        format!("the request does not declare the client extension {TASKS_EXTENSION:?}"),
    )
    .with_data(json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } }))
}

/// Returns the error for clients after a store failure; details are logged only.
pub(super) fn store_error(error: &TaskStoreError) -> ErrorObject {
    match error {
        TaskStoreError::Full { limit } => {
            ErrorObject::internal(format!("the task store is full: {limit}; try again later"))
        }
        error => {
            tracing::error!(%error, "the task store failed");
            ErrorObject::internal("the task store failed; try again later")
        }
    }
}

/// Returns the result that announces a new task.
pub(super) fn created_result(task: &Task, stateless: bool) -> Payload {
    if stateless {
        return match serde_json::from_str::<Value>(&task.to_created()) {
            Ok(result) => Payload::of(result),
            Err(_) => Payload::Empty,
        };
    }
    let mut result = json!(CreateTaskResult::new(task.to_core()));
    relate_to_task(&mut result, task.id());
    Payload::of(result)
}

/// Adds the task's id to the `_meta` of a message.
pub(super) fn relate_to_task(message: &mut Value, id: &str) {
    let Value::Object(members) = message else {
        return;
    };
    let meta = members
        .entry("_meta")
        .or_insert_with(|| Value::Object(JsonObject::new()));
    if let Value::Object(meta) = meta {
        meta.insert(RELATED_TASK_KEY.to_owned(), json!({ "taskId": id }));
    }
}
