//! Where handlers run that are not ready at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BlockingRun, Run, Work};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a thread waits for the next blocking handler before it ends.
const LINGER: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Spawns what a [`Mux`](mcp_protocol::Mux) hands out.
pub(crate) struct Spawner {
    threads: Threads,
    live: Arc<Live>,
    /// Blocking handlers under way, those that overran their deadline included.
    blocking: Arc<AtomicUsize>,
    limit: usize,
}

/// Whose threads run blocking handlers.
pub(crate) enum Threads {
    /// The runtime's.
    Runtime,
    /// Our own, which do not keep a process from ending: a runtime waits for its own for ever.
    Own(Pool),
}

impl Spawner {
    pub(crate) fn new(threads: Threads, limit: usize) -> Self {
        Self {
            threads,
            live: Arc::default(),
            blocking: Arc::default(),
            limit,
        }
    }

    pub(crate) fn spawn(&self, work: Work) {
        match work {
            Work::Async(run) => self.spawn_async(run),
            Work::Blocking(run) => self.spawn_blocking(run),
            other => tracing::error!(?other, "unknown kind of work was dropped"),
        }
    }

    fn spawn_blocking(&self, run: BlockingRun) {
        let Some(slot) = Slot::take(&self.blocking, self.limit) else {
            tracing::warn!(
                limit = self.limit,
                "refused a blocking handler, the limit of Options::with_blocking is reached"
            );
            run.refuse(ErrorObject::internal(format!(
                "{} blocking handlers are under way, the limit of Options::with_blocking",
                self.limit
            )));
            return;
        };
        if let Some(deadline) = run.deadline() {
            let (expiry, running) = (run.expiry(), Running::new(&self.live));
            tokio::spawn(async move {
                if timeout(deadline, expiry.ended()).await.is_err() {
                    expiry.expire();
                }
                drop(running);
            });
        }
        let running = Running::new(&self.live);
        let job = move || {
            run.run();
            drop((slot, running));
        };
        match &self.threads {
            Threads::Runtime => drop(tokio::task::spawn_blocking(job)),
            Threads::Own(pool) => pool.run(Box::new(job)),
        }
    }

    fn spawn_async(&self, mut run: Run) {
        let running = Running::new(&self.live);
        match run.deadline() {
            None => tokio::spawn(async move {
                run.await;
                drop(running);
            }),
            Some(deadline) => tokio::spawn(async move {
                if timeout(deadline, &mut run).await.is_err() {
                    run.expire();
                } else {
                    drop(run);
                }
                drop(running);
            }),
        };
    }

    /// Completes when everything that was spawned has ended and has queued its answer. Cancel
    /// safe.
    pub(crate) fn idle(&self) -> impl Future<Output = ()> + use<> {
        let live = Arc::clone(&self.live);
        async move {
            loop {
                let changed = live.idle.notified();
                if live.count.load(Ordering::Acquire) == 0 {
                    return;
                }
                changed.await;
            }
        }
    }
}

/// How much was spawned and has not ended.
#[derive(Default)]
struct Live {
    count: AtomicUsize,
    idle: Notify,
}

struct Running(Arc<Live>);

impl Running {
    fn new(live: &Arc<Live>) -> Self {
        live.count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(live))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_one();
        }
    }
}

/// One of a limited number.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(count: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let slot = Self(Arc::clone(count));
        // The slot exists first, so that a refused one is given back by its `Drop`.
        (count.fetch_add(1, Ordering::Relaxed) < limit).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads that nobody waits for. There are never more than jobs were under way at once.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    runtime: Handle,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

impl Pool {
    /// A pool whose threads know the runtime this is called in.
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::default(),
            runtime: Handle::current(),
        }
    }

    fn run(&self, job: Job) {
        let mut queue = self.shared.lock();
        queue.jobs.push_back(job);
        if queue.jobs.len() <= queue.idle {
            self.shared.ready.notify_one();
            return;
        }
        drop(queue);
        let (shared, runtime) = (Arc::clone(&self.shared), self.runtime.clone());
        let spawned = std::thread::Builder::new()
            .name("mcp-blocking".into())
            .spawn(move || {
                let _runtime = runtime.enter();
                shared.work();
            });
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread for a blocking handler");
            let job = self.shared.lock().jobs.pop_back();
            drop(job); // answers for it
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread: runs jobs until there were none for a while.
    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                let (woken, waited) = self
                    .ready
                    .wait_timeout(queue, LINGER)
                    .unwrap_or_else(PoisonError::into_inner);
                queue = woken;
                queue.idle -= 1;
                if waited.timed_out() && queue.jobs.is_empty() {
                    return;
                }
            }
        }
    }
}
