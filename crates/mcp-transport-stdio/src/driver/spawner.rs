//! Runs handlers that do not finish when they are first polled.

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BlockingRun, PendingHandler, Run};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// Runs the pending handlers of a [`Mux`](mcp_protocol::Mux).
pub(crate) struct Spawner {
    threads: Threads,
    /// The sender of a channel. Each running handler holds a receiver, so the channel is closed when no handler is running.
    running: watch::Sender<()>,
    /// Limits the number of blocking handlers. A handler that exceeds its deadline keeps its permit until it ends.
    blocking: Arc<Semaphore>,
    limit: usize,
}

/// The threads that run blocking handlers.
pub(crate) enum Threads {
    /// Blocking handlers run on the blocking threads of the runtime.
    Runtime,
    /// Each blocking handler runs on a separate thread. The process can exit while such threads run. A runtime would wait for its
    /// own blocking threads.
    Separate,
}

impl Spawner {
    pub(crate) fn new(threads: Threads, limit: usize) -> Self {
        Self {
            threads,
            running: watch::Sender::new(()),
            blocking: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            limit,
        }
    }

    pub(crate) fn spawn(&self, work: PendingHandler) {
        match work {
            PendingHandler::Async(run) => self.spawn_async(run),
            PendingHandler::Blocking(run) => self.spawn_blocking(run),
            other => tracing::error!(?other, "dropped work of an unknown kind"),
        }
    }

    fn spawn_blocking(&self, run: BlockingRun) {
        let Ok(permit) = Arc::clone(&self.blocking).try_acquire_owned() else {
            tracing::warn!(
                limit = self.limit,
                "rejected a blocking handler; raise StdioOptions::with_max_blocking_handlers"
            );
            run.refuse(ErrorObject::internal(format!(
                "{} blocking handlers are running, which is the limit of \
                 StdioOptions::with_max_blocking_handlers",
                self.limit
            )));
            return;
        };
        if let Some(deadline) = run.deadline() {
            let (expiry, running) = (run.expiry(), self.running.subscribe());
            tokio::spawn(async move {
                if timeout(deadline, expiry.ended()).await.is_err() {
                    expiry.expire();
                }
                drop(running);
            });
        }
        let running = self.running.subscribe();
        let job = move || {
            run.run();
            drop((permit, running));
        };
        match &self.threads {
            Threads::Runtime => drop(tokio::task::spawn_blocking(job)),
            Threads::Separate => spawn_thread(job),
        }
    }

    fn spawn_async(&self, mut run: Run) {
        let running = self.running.subscribe();
        tokio::spawn(async move {
            // A subscription that was opened in the meantime has no deadline any more.
            if let Some(deadline) = run.deadline()
                && timeout(deadline, &mut run).await.is_err()
                && run.deadline().is_some()
            {
                run.expire();
            } else {
                run.await;
            }
            drop(running);
        });
    }

    /// Completes when all handlers have finished and their responses are queued.
    ///
    /// # Cancel safety
    /// The future can be dropped at any time.
    pub(crate) fn idle(&self) -> impl Future<Output = ()> + use<> {
        let running = self.running.clone();
        async move { running.closed().await }
    }
}

/// Runs a blocking handler on a new thread, in the context of the current runtime. If no thread can be created, drops the
/// handler, which sends an error response.
fn spawn_thread(job: impl FnOnce() + Send + 'static) {
    let runtime = Handle::current();
    let spawned = std::thread::Builder::new()
        .name("mcp-blocking".into())
        .spawn(move || {
            let _runtime = runtime.enter();
            job();
        });
    if let Err(error) = spawned {
        tracing::error!(%error, "cannot create a thread for a blocking handler");
    }
}
