//! Runs the handlers that a [`Mux`](mcp_protocol::Mux) starts.

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BlockingRun, PendingHandler, Run};
use tokio::time::timeout;

use crate::permit::Capacity;

/// Runs a handler that has not finished yet. Drops `kept` when the handler ends.
pub(crate) fn spawn<K: Send + 'static>(work: PendingHandler, threads: &Capacity, kept: K) {
    match work {
        PendingHandler::Async(run) => {
            tokio::spawn(async move {
                wait(run).await;
                drop(kept);
            });
        }
        PendingHandler::Blocking(run) => block(run, threads, kept),
        other => tracing::error!(?other, "dropped a handler of an unknown kind"),
    }
}

async fn wait(mut run: Run) {
    match run.deadline() {
        None => run.await,
        Some(deadline) => {
            if timeout(deadline, &mut run).await.is_err() {
                run.expire();
            }
        }
    }
}

fn block<K: Send + 'static>(run: BlockingRun, threads: &Capacity, kept: K) {
    let Some(thread) = threads.try_acquire() else {
        run.refuse(ErrorObject::internal(format!(
            "{} blocking handlers are running, the limit of RequestLimits::max_blocking_handlers",
            threads.limit()
        )));
        return;
    };
    if let Some(deadline) = run.deadline() {
        let expiry = run.expiry();
        tokio::spawn(async move {
            if timeout(deadline, expiry.ended()).await.is_err() {
                expiry.expire();
            }
        });
    }
    tokio::task::spawn_blocking(move || {
        run.run();
        drop((thread, kept));
    });
}
