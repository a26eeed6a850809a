//! Subscriptions to tasks (2026-07-28).

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Outcome, Reply, RequestContext};
use mcp_types::v2026_07_28::SubscriptionFilter;

use super::endpoint::TaskRequest;
use super::wire::{declares_tasks, missing_extension};
use crate::server::core::Core;
use crate::subscriptions::{Filter, Subscriptions};

/// Maximum number of tasks in one subscription.
const MAX_TASKS: usize = 256;

impl Core {
    /// Returns the ids in the requested filter that the client may subscribe to.
    pub(crate) fn subscribed_tasks(
        &self,
        wanted: &SubscriptionFilter,
        context: &RequestContext,
    ) -> Result<Vec<String>, ErrorObject> {
        let ids = wanted.task_ids().unwrap_or_default();
        if ids.is_empty() || !self.has_tasks() {
            return Ok(Vec::new());
        }
        // M-TASK-045
        if !declares_tasks(context) {
            return Err(missing_extension());
        }
        if ids.len() > MAX_TASKS {
            return Err(ErrorObject::invalid_params(format!(
                "a subscription may name at most {MAX_TASKS} tasks, not {}",
                ids.len()
            )));
        }
        Ok(ids.into_iter().map(str::to_owned).collect())
    }

    /// Opens a subscription that includes tasks. Tasks of other principals are not included.
    pub(crate) fn subscribe_to_tasks(
        self: &Arc<Self>,
        filter: Filter,
        ids: Vec<String>,
        context: &RequestContext,
    ) -> Reply {
        context.exchange().set_subscribing();
        let task_request = self.task_request(context.clone());
        Reply::Pending(Box::pin(listen(
            task_request,
            filter,
            ids,
            Arc::clone(&self.subscriptions),
        )))
    }
}

async fn listen(
    task_request: TaskRequest,
    mut filter: Filter,
    ids: Vec<String>,
    subscriptions: Arc<Subscriptions>,
) -> Outcome {
    for id in ids {
        if task_request.find(&id).await.is_ok() {
            filter.tasks.insert(id);
        }
    }
    let subscribed = filter.tasks.clone();
    let listening = subscriptions.open(&task_request.context, filter)?;
    // Notify of changes that happened before the subscription was open.
    for id in subscribed {
        if let Ok(task) = task_request.find(&id).await {
            listening.notify_task(&task);
        }
    }
    listening.await
}
