//! Requests about a task.

use std::time::Duration;

use mcp_protocol::Call;
use mcp_types::{JsonObject, method};
use serde_json::Value;

use crate::Error;
use crate::shared::Shared;

/// Timeout of the `tasks/cancel` that is sent in the background for an abandoned call.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates a request about the task `id`. `more` are additional members whose values are JSON text. These members are sent only
/// on the stateless revision.
pub(super) fn request(
    shared: &Shared,
    id: &str,
    method: &'static str,
    more: &[(&str, String)],
) -> Call {
    let mut params = JsonObject::new();
    params.insert("taskId".to_owned(), Value::from(id));
    match &shared.agreed.meta {
        Some(meta) => {
            let name = shared.tools.has_headers().then(|| id.to_owned());
            let params = meta.write(&params, None, more);
            shared
                .link
                .request_with(method.into(), Some(params), meta.extras(name))
        }
        None => {
            let params = Value::Object(params).to_string().into_bytes();
            shared.link.request(method, Some(params))
        }
    }
}

/// Creates a `tasks/cancel` request.
///
/// # Errors
/// [`Error::Unsupported`] if the server did not declare that tasks can be cancelled (2025-11-25).
pub(super) fn cancel(shared: &Shared, id: &str) -> Result<Call, Error> {
    // A server of the stateless revision that created a task also has `tasks/cancel`.
    if !shared.rules().stateless {
        shared.offers(method::TASKS_CANCEL)?;
    }
    Ok(request(shared, id, method::TASKS_CANCEL, &[]))
}
