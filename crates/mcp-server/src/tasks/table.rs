//! The tasks that run in this process, and what all of them share.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::modern::PendingInput;
use mcp_protocol::task::{MemoryStore, TaskStore};
use mcp_protocol::{Exchange, Principal, RequestContext};
use tokio::sync::watch;

use super::TaskOptions;
use crate::server::subscriptions::Subscriptions;
use crate::sync::lock;

/// Requests about tasks that one principal may make in [`RATE_WINDOW`], where there are no sessions.
const MAX_REQUESTS: u32 = 400;
const RATE_WINDOW: Duration = Duration::from_secs(4);
/// Principals whose requests are counted at a time.
const MAX_COUNTED: usize = 4_096;

/// The tasks of a server.
pub(crate) struct Tasks {
    config: Mutex<Arc<TaskConfig>>,
    running: Mutex<Table>,
    counted: Mutex<HashMap<Principal, (Instant, u32)>>,
    pub(super) subscriptions: Arc<Subscriptions>,
    /// Whether what was unfinished has been taken up.
    pub(super) recovery_started: AtomicBool,
    /// Whether something is being taken up; it tells of each task that was.
    pub(super) recovering: watch::Sender<bool>,
    /// Whether somebody removes what is expired.
    pub(super) sweeper_started: AtomicBool,
}

/// Where and how tasks are kept.
pub(super) struct TaskConfig {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) options: TaskOptions,
    /// Whether the store may hold what another process left.
    pub(super) is_persistent: bool,
}

#[derive(Default)]
struct Table {
    tasks: HashMap<Box<str>, Arc<RunningTask>>,
    owners: HashMap<Option<Principal>, usize>,
}

/// A task that runs in this process.
pub(super) struct RunningTask {
    pub(super) id: Box<str>,
    pub(super) owner: Option<Principal>,
    pub(super) pending: Arc<PendingInput>,
    pub(super) exchange: Exchange,
    /// Whether it has ended, and its end is kept.
    pub(super) ended: watch::Sender<bool>,
}

/// The place of a running task in the table; given back on drop.
pub(super) struct RunningGuard {
    pub(super) running_task: Arc<RunningTask>,
    tasks: Arc<Tasks>,
}

impl Tasks {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>) -> Arc<Self> {
        let config = TaskConfig {
            store: Arc::new(MemoryStore::new()),
            options: TaskOptions::new(),
            is_persistent: false,
        };
        Self::with_config(subscriptions, Arc::new(config))
    }

    /// Returns the tasks of another server with the same store and options.
    pub(crate) fn fork(&self, subscriptions: Arc<Subscriptions>) -> Arc<Self> {
        Self::with_config(subscriptions, self.config())
    }

    fn with_config(subscriptions: Arc<Subscriptions>, config: Arc<TaskConfig>) -> Arc<Self> {
        Arc::new(Self {
            config: Mutex::new(config),
            running: Mutex::default(),
            counted: Mutex::default(),
            subscriptions,
            recovery_started: AtomicBool::new(false),
            recovering: watch::Sender::new(false),
            sweeper_started: AtomicBool::new(false),
        })
    }

    pub(super) fn config(&self) -> Arc<TaskConfig> {
        Arc::clone(&lock(&self.config))
    }

    pub(super) fn set_store(&self, store: impl TaskStore) {
        let mut config = lock(&self.config);
        *config = Arc::new(TaskConfig {
            store: Arc::new(store),
            options: config.options.clone(),
            is_persistent: true,
        });
    }

    pub(super) fn set_options(&self, options: TaskOptions) {
        let mut config = lock(&self.config);
        *config = Arc::new(TaskConfig {
            store: Arc::clone(&config.store),
            options,
            is_persistent: config.is_persistent,
        });
    }

    /// The task of this id, if it runs here.
    pub(super) fn running(&self, id: &str) -> Option<Arc<RunningTask>> {
        lock(&self.running).tasks.get(id).cloned()
    }

    /// The same; if tasks of an earlier process are being taken up, once it is known whether this
    /// is one of them.
    pub(super) async fn wait_for_running(&self, id: &str) -> Option<Arc<RunningTask>> {
        let mut recovering = self.recovering.subscribe();
        loop {
            let goes_on = *recovering.borrow_and_update();
            if let Some(running_task) = self.running(id) {
                return Some(running_task);
            }
            if !goes_on || recovering.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Puts a task on the table before it is kept, so that nobody takes it for one that was left
    /// behind.
    pub(super) fn guard(
        self: &Arc<Self>,
        running_task: RunningTask,
        max: usize,
    ) -> Result<RunningGuard, ErrorObject> {
        let running_task = Arc::new(running_task);
        let mut table = lock(&self.running);
        let of_owner = table.owners.entry(running_task.owner.clone()).or_default();
        if *of_owner >= max {
            return Err(ErrorObject::internal(format!(
                "{max} tasks are running, the limit; try again when one has ended"
            )));
        }
        *of_owner += 1;
        table
            .tasks
            .insert(running_task.id.clone(), Arc::clone(&running_task));
        Ok(RunningGuard {
            running_task,
            tasks: Arc::clone(self),
        })
    }

    /// Whether another request about tasks is served.
    pub(super) fn admit(&self, context: &RequestContext, now: Instant) -> Result<(), ErrorObject> {
        let admitted = match context.principal() {
            _ if !context.rules().stateless => context.session().admits_task_request(now),
            Some(principal) => self.count(principal, now),
            // Nobody in particular: there is nobody to tell from others, and ids are not guessed.
            None => true,
        };
        if admitted {
            return Ok(());
        }
        tracing::warn!(owner = ?context.principal(), "too many requests about tasks");
        Err(ErrorObject::internal(
            "too many requests about tasks; keep to the poll interval of the task",
        ))
    }

    fn count(&self, principal: &Principal, now: Instant) -> bool {
        let mut counted = lock(&self.counted);
        if counted.len() >= MAX_COUNTED && !counted.contains_key(principal) {
            counted.retain(|_, (since, _)| now.saturating_duration_since(*since) < RATE_WINDOW);
            if counted.len() >= MAX_COUNTED {
                return true;
            }
        }
        let (since, requests) = counted.entry(principal.clone()).or_insert((now, 0));
        if now.saturating_duration_since(*since) >= RATE_WINDOW {
            (*since, *requests) = (now, 0);
        }
        *requests += 1;
        *requests <= MAX_REQUESTS
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        // Whoever waits looks into the store.
        self.running_task.ended.send_replace(true);
        let mut table = lock(&self.tasks.running);
        table.tasks.remove(&self.running_task.id);
        if let Some(running) = table.owners.get_mut(&self.running_task.owner) {
            *running -= 1;
            if *running == 0 {
                table.owners.remove(&self.running_task.owner);
            }
        }
    }
}
