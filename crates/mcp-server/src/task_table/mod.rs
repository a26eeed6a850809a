//! The tasks that run in this process, and the state that these tasks share.

mod options;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::modern::PendingInput;
use mcp_protocol::task::{MemoryTaskStore, Task, TaskLease, TaskStore, Timestamp};
use mcp_protocol::{Exchange, Owner, Principal, RequestContext, lock};
use tokio::sync::watch;

use crate::subscriptions::Subscriptions;

pub(crate) use options::TaskPolicy;
pub use options::{TaskMode, TaskOptions};

/// Maximum number of requests about tasks per principal in [`RATE_WINDOW`], on the stateless
/// revision.
const MAX_REQUESTS: u32 = 400;
const RATE_WINDOW: Duration = Duration::from_secs(4);
/// Maximum number of principals whose requests are counted.
const MAX_COUNTED: usize = 4_096;

/// The tasks of a server.
pub(crate) struct Tasks {
    pub(crate) config: Arc<TaskConfig>,
    running: Mutex<Table>,
    /// The stored tasks that this process has started, grouped by owner.
    stored: Mutex<HashMap<Owner, Vec<StoredTask>>>,
    counted: Mutex<HashMap<Principal, (Instant, u32)>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    /// Whether the recovery of unfinished tasks has been started.
    pub(crate) recovery_started: AtomicBool,
    /// Whether the recovery is in progress. Receivers of this channel are also woken after each recovered task.
    pub(crate) recovering: watch::Sender<bool>,
    /// Whether the background work that removes expired tasks at regular intervals has been started.
    pub(crate) sweeper_started: AtomicBool,
    /// The id under which this process holds the leases of its tasks.
    worker: OnceLock<String>,
}

/// The store and the options of tasks.
pub(crate) struct TaskConfig {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) options: TaskOptions,
    /// Whether the store may hold tasks of an earlier process.
    pub(crate) is_persistent: bool,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            store: Arc::new(MemoryTaskStore::new()),
            options: TaskOptions::new(),
            is_persistent: false,
        }
    }
}

#[derive(Default)]
struct Table {
    tasks: HashMap<Box<str>, Arc<RunningTask>>,
    owners: HashMap<Owner, Usage>,
    /// The estimated memory of the arguments of all running tasks, in bytes.
    bytes: usize,
}

/// The number of running tasks of one owner, and the estimated memory of their arguments.
#[derive(Clone, Copy, Default)]
struct Usage {
    tasks: usize,
    bytes: usize,
}

/// The id, size and expiry of a stored task, for the limits of its owner.
struct StoredTask {
    id: Box<str>,
    expires: Timestamp,
    bytes: usize,
}

/// A task that runs in this process.
pub(crate) struct RunningTask {
    pub(crate) id: Box<str>,
    pub(crate) owner: Owner,
    /// The estimated memory of the arguments that the handler has parsed.
    pub(crate) bytes: usize,
    pub(crate) pending: Arc<PendingInput>,
    pub(crate) exchange: Exchange,
    /// Becomes `true` when the task has ended and the store has its final state.
    pub(crate) ended: watch::Sender<bool>,
}

/// A guard that removes a running task from the table when dropped.
pub(crate) struct RunningGuard {
    pub(crate) running_task: Arc<RunningTask>,
    tasks: Arc<Tasks>,
}

impl Tasks {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>, config: TaskConfig) -> Arc<Self> {
        Arc::new(Self {
            config: Arc::new(config),
            running: Mutex::default(),
            stored: Mutex::default(),
            counted: Mutex::default(),
            subscriptions,
            recovery_started: AtomicBool::new(false),
            recovering: watch::Sender::new(false),
            sweeper_started: AtomicBool::new(false),
            worker: OnceLock::new(),
        })
    }

    /// Returns the lease of a task that this process starts to run. Returns `None` if no other process uses the store.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub(crate) fn lease(&self) -> Result<Option<TaskLease>, ErrorObject> {
        let TaskConfig { store, options, .. } = &*self.config;
        if !store.is_shared() {
            return Ok(None);
        }
        let worker = match self.worker.get() {
            Some(worker) => worker,
            None => {
                let worker = crate::random::task_id()?;
                self.worker.get_or_init(|| worker)
            }
        };
        let until = options.now().after(options.lease);
        Ok(Some(TaskLease::new(worker, until)))
    }

    /// Returns the task with this id if it runs in this process.
    pub(crate) fn running(&self, id: &str) -> Option<Arc<RunningTask>> {
        lock(&self.running).tasks.get(id).cloned()
    }

    /// Like [`running`](Self::running), but waits for a recovery in progress.
    pub(crate) async fn wait_for_running(&self, id: &str) -> Option<Arc<RunningTask>> {
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

    /// Adds a task to the table. Checks the limits of `options` for a new task. Call this before storing the task, so that the
    /// recovery does not mistake it for an unfinished task.
    pub(crate) fn guard(
        self: &Arc<Self>,
        running_task: RunningTask,
        options: Option<&TaskOptions>,
    ) -> Result<RunningGuard, ErrorObject> {
        let running_task = Arc::new(running_task);
        let mut table = lock(&self.running);
        let Table { owners, bytes, .. } = &mut *table;
        let total = *bytes + running_task.bytes;
        let owned = owners.get(&running_task.owner).copied();
        let owned = owned.unwrap_or_default();
        if let Some(options) = options {
            let max = options.running;
            if owned.tasks >= max {
                return Err(ErrorObject::internal(format!(
                    "{max} tasks are running, which is the limit of one owner (TaskOptions::with_max_running); try again when a \
                     task has ended"
                )));
            }
            let max = options.max_running_bytes;
            // One owner can use at most half of the memory.
            if total > max || owned.bytes + running_task.bytes > max / 2 {
                return Err(ErrorObject::internal(format!(
                    "the arguments of running tasks take too much memory (TaskOptions::\
                     with_max_running_bytes, {max} bytes in total); try again when a task has ended"
                )));
            }
        }
        let usage = owners.entry(running_task.owner.clone()).or_default();
        usage.tasks += 1;
        usage.bytes += running_task.bytes;
        *bytes = total;
        table
            .tasks
            .insert(running_task.id.clone(), Arc::clone(&running_task));
        Ok(RunningGuard {
            running_task,
            tasks: Arc::clone(self),
        })
    }

    /// Counts a new task for its owner until it expires.
    ///
    /// # Errors
    /// The stored tasks of the owner exceed the maximum size. For an unauthenticated client, also if its address has too many
    /// stored tasks.
    pub(crate) fn count_stored(
        &self,
        owner: &Owner,
        task: &Task,
        now: Timestamp,
        options: &TaskOptions,
    ) -> Result<(), ErrorObject> {
        if !owner.is_known() {
            return Ok(());
        }
        let mut stored = lock(&self.stored);
        if stored.len() >= MAX_COUNTED && !stored.contains_key(owner) {
            stored.retain(|_, tasks| tasks.iter().any(|task| now < task.expires));
        }
        let tasks = stored.entry(owner.clone()).or_default();
        tasks.retain(|task| now < task.expires);
        let max = options.max_anonymous;
        if owner.principal.is_none() && tasks.len() >= max {
            return Err(ErrorObject::internal(format!(
                "{max} tasks of clients at this address are stored, the limit of \
                 TaskOptions::with_max_anonymous; authenticate, or try again when a task has expired"
            )));
        }
        let (bytes, max) = (task.weight(), options.max_owner_bytes);
        if tasks.iter().map(|task| task.bytes).sum::<usize>() + bytes > max {
            return Err(ErrorObject::internal(format!(
                "the stored tasks of this client would have more than {max} bytes (TaskOptions::with_max_owner_bytes); \
                 try again when a task has expired"
            )));
        }
        tasks.push(StoredTask {
            id: task.id().into(),
            expires: task.expires(),
            bytes,
        });
        Ok(())
    }

    /// Stops counting a task for its owner, because the task was not stored.
    fn forget_stored(&self, owner: &Owner, id: &str) {
        if let Some(tasks) = lock(&self.stored).get_mut(owner) {
            tasks.retain(|task| *task.id != *id);
        }
    }

    /// Adds the size of a task's result to the stored size of its owner.
    pub(crate) fn count_result(&self, owner: &Owner, task: &Task) {
        let mut stored = lock(&self.stored);
        let tasks = stored.get_mut(owner).into_iter().flatten();
        for counted in tasks.filter(|counted| *counted.id == *task.id()) {
            (counted.expires, counted.bytes) = (task.expires(), task.weight());
        }
    }

    /// Checks the rate limit of requests about tasks.
    pub(crate) fn admit(&self, context: &RequestContext, now: Instant) -> Result<(), ErrorObject> {
        let admitted = match context.principal() {
            _ if !context.rules().stateless => context.session().admits_task_request(now),
            Some(principal) => self.count(principal, now),
            // Unauthenticated clients cannot be distinguished. No limit is needed, because task ids cannot be guessed.
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

impl RunningGuard {
    /// Stops counting this task for its owner, because the task was not stored.
    pub(crate) fn forget_stored(&self) {
        let RunningTask { owner, id, .. } = &*self.running_task;
        self.tasks.forget_stored(owner, id);
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        // Wakes the waiting requests, which then read the store.
        self.running_task.ended.send_replace(true);
        let mut table = lock(&self.tasks.running);
        table.tasks.remove(&self.running_task.id);
        table.bytes -= self.running_task.bytes;
        if let Some(usage) = table.owners.get_mut(&self.running_task.owner) {
            usage.tasks -= 1;
            usage.bytes -= self.running_task.bytes;
            if usage.tasks == 0 {
                table.owners.remove(&self.running_task.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol::modern::CallState;
    use mcp_protocol::task::{TaskCall, TaskOutcome};
    use mcp_protocol::{Call, CallError, Closed, Delivery, Extras, Link, MethodName, Revision};

    use super::*;

    /// A link to a client that has disconnected.
    #[derive(Debug)]
    struct ClosedLink;

    impl Link for ClosedLink {
        fn notify(&self, _: &str, _: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
            Err(Closed::local())
        }

        fn request_with(&self, _: MethodName, _: Option<Vec<u8>>, _: Extras) -> Call {
            Call::failed(CallError::Closed(Closed::local()))
        }
    }

    fn task(id: &str, principal: &str, bytes: usize) -> RunningTask {
        RunningTask {
            id: id.into(),
            owner: Owner::new(Some(Principal::new(principal)), None),
            bytes,
            pending: PendingInput::detached(CallState::default(), 1),
            exchange: Exchange::new(1.into(), Arc::new(ClosedLink)),
            ended: watch::Sender::new(false),
        }
    }

    fn tasks() -> Arc<Tasks> {
        Tasks::new(Arc::default(), TaskConfig::default())
    }

    #[test]
    fn one_owner_can_take_half_of_the_memory_of_running_tasks() {
        let (tasks, options) = (tasks(), TaskOptions::new().with_max_running_bytes(100));
        let guard = |id, principal, bytes| {
            let guard = tasks.guard(task(id, principal, bytes), Some(&options));
            guard.map_err(|error| error.message.into_owned())
        };
        let full = |outcome: Result<RunningGuard, String>| {
            let error = outcome.err().expect("too much memory");
            assert!(error.contains("with_max_running_bytes, 100"), "{error}");
        };
        full(guard("a", "ada", 51));
        let ada = guard("a", "ada", 50).unwrap();
        full(guard("b", "ada", 1));
        let _empty = guard("b", "ada", 0).expect("a task without arguments needs no memory");
        let _bob = guard("c", "bob", 50).unwrap();
        full(guard("d", "eve", 1));
        drop(ada);
        let _eve = guard("d", "eve", 50).unwrap();
        full(guard("a", "ada", 1));
    }

    #[test]
    fn a_refused_task_leaves_no_state() {
        let tasks = tasks();
        for options in [
            TaskOptions::new().with_max_running(0),
            TaskOptions::new().with_max_running_bytes(1),
        ] {
            assert!(tasks.guard(task("a", "ada", 1), Some(&options)).is_err());
            let table = lock(&tasks.running);
            assert!(table.tasks.is_empty() && table.owners.is_empty());
            assert_eq!(table.bytes, 0);
        }
    }

    /// Returns a task that expires after some seconds, with arguments of this size.
    fn stored(id: &str, bytes: usize, seconds: u64) -> Task {
        let arguments = format!("{{\"text\":\"{}\"}}", "x".repeat(bytes));
        let arguments = mcp_jsonrpc::RawJson::copy(&arguments);
        let call = TaskCall::new("tools/call", "t", arguments, Revision::LATEST);
        let ttl = Duration::from_secs(seconds);
        Task::new(id, None, call, Timestamp::default(), Some(ttl))
    }

    #[test]
    fn unauthenticated_clients_at_one_address_have_a_limited_number_of_stored_tasks() {
        let (tasks, now) = (tasks(), Timestamp::default());
        let options = TaskOptions::new().with_max_anonymous(2);
        let at = |last: u8| Owner::new(None, Some([10, 0, 0, last].into()));
        let count = |last, now, seconds| {
            let task = stored("id", 2, seconds);
            tasks.count_stored(&at(last), &task, now, &options)
        };
        assert!(count(1, now, 1).is_ok());
        assert!(count(1, now, 9).is_ok());
        let error = count(1, now, 9).unwrap_err();
        assert!(error.message.contains("2 tasks of clients"), "{error}");
        assert!(count(2, now, 9).is_ok(), "another address");
        let later = now.after(Duration::from_secs(1));
        assert!(count(1, later, 9).is_ok(), "one has expired");
        assert!(count(1, later, 9).is_err());
    }

    /// Previously, one client could fill the store, and other clients could not start a task for an hour.
    #[test]
    fn the_stored_tasks_of_one_owner_have_a_limited_size() {
        let (tasks, now) = (tasks(), Timestamp::default());
        let one = stored("a", 1_000, 9).weight();
        let options = TaskOptions::new().with_max_owner_bytes(2 * one);
        let count = |principal: &str, task: &Task, now| {
            let owner = Owner::new(Some(Principal::new(principal)), None);
            tasks.count_stored(&owner, task, now, &options)
        };
        assert!(count("ada", &stored("a", 1_000, 9), now).is_ok());
        assert!(count("ada", &stored("b", 1_001, 9), now).is_err());
        assert!(count("bob", &stored("c", 1_001, 9), now).is_ok());
        // The result counts, too.
        let mut task = stored("a", 1_000, 9);
        let json = mcp_jsonrpc::RawJson::copy(&format!("[\"{}\"]", "x".repeat(1_000)));
        task.end(
            TaskOutcome::Result {
                json,
                is_error: false,
            },
            now,
        )
        .unwrap();
        let ada = Owner::new(Some(Principal::new("ada")), None);
        tasks.count_result(&ada, &task);
        let error = count("ada", &stored("b", 1_000, 9), now).unwrap_err();
        assert!(error.message.contains("with_max_owner_bytes"), "{error}");
        let later = task.expires();
        assert!(count("ada", &stored("b", 1_000, 20), later).is_ok());
    }

    #[test]
    fn requests_of_one_principal_are_limited_in_each_interval() {
        let (tasks, start) = (tasks(), Instant::now());
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        for _ in 0..MAX_REQUESTS {
            assert!(tasks.count(&ada, start));
        }
        assert!(!tasks.count(&ada, start));
        assert!(tasks.count(&bob, start));
        let nearly = RATE_WINDOW.saturating_sub(Duration::from_nanos(1));
        assert!(!tasks.count(&ada, start + nearly));
        assert!(tasks.count(&ada, start + RATE_WINDOW));
    }

    #[test]
    fn while_the_table_is_full_counted_principals_are_limited_and_others_are_not_counted() {
        let (tasks, start) = (tasks(), Instant::now());
        let principal = |number: usize| Principal::new(number.to_string());
        for number in 0..MAX_COUNTED {
            assert!(tasks.count(&principal(number), start));
        }
        let count = |number, now| (0..=MAX_REQUESTS).all(|_| tasks.count(&principal(number), now));
        assert!(!count(0, start), "a known principal");
        assert!(count(MAX_COUNTED, start), "it is not counted");
        let later = start + RATE_WINDOW;
        assert!(!count(MAX_COUNTED, later), "others have made room");
        assert_eq!(lock(&tasks.counted).len(), 1);
    }
}
