//! Subscriptions to tasks (2026-07-28).

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Outcome, Reply, RequestContext};
use mcp_types::v2026_07_28::SubscriptionFilter;

use super::endpoint::Asked;
use super::wire::{declares, undeclared};
use crate::server::core::Core;
use crate::server::subscriptions::{Filter, Listens};

/// Tasks that one subscription may name.
const MOST: usize = 256;

impl Core {
    /// The tasks that a subscription wants to hear of.
    pub(crate) fn tasks_to_hear_of(
        &self,
        wanted: &SubscriptionFilter,
        context: &RequestContext,
    ) -> Result<Vec<String>, ErrorObject> {
        let ids = wanted.task_ids().unwrap_or_default();
        if ids.is_empty() || !self.has_tasks() {
            return Ok(Vec::new());
        }
        // M-TASK-045
        if !declares(context) {
            return Err(undeclared());
        }
        if ids.len() > MOST {
            return Err(ErrorObject::invalid_params(format!(
                "a subscription names at most {MOST} tasks, not {}",
                ids.len()
            )));
        }
        Ok(ids.into_iter().map(str::to_owned).collect())
    }

    /// A subscription that hears of tasks too: of those that its client may know of.
    pub(crate) fn listen_to_tasks(
        self: &Arc<Self>,
        filter: Filter,
        ids: Vec<String>,
        context: &RequestContext,
    ) -> Reply {
        context.exchange().set_endless();
        let asked = self.asked(context.clone());
        Reply::Pending(Box::pin(listen(
            asked,
            filter,
            ids,
            Arc::clone(&self.listens),
        )))
    }
}

async fn listen(
    asked: Asked,
    mut filter: Filter,
    ids: Vec<String>,
    listens: Arc<Listens>,
) -> Outcome {
    for id in ids {
        if asked.find(&id).await.is_ok() {
            filter.tasks.insert(id);
        }
    }
    let heard = filter.tasks.clone();
    let listening = listens.open(asked.context.exchange().clone(), filter)?;
    // What became of them before somebody listened is told first.
    for id in heard {
        if let Ok(task) = asked.find(&id).await {
            listening.tell_task(&task);
        }
    }
    listening.await
}
