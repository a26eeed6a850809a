//! A task store in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use super::{Task, TaskStore, TaskStoreError, Timestamp};
use crate::sync::lock;
use crate::{BoxFuture, Principal};

/// Default maximum number of tasks.
const MAX_TASKS: usize = 10_000;
/// Default maximum number of tasks of one owner.
const MAX_TASKS_PER_OWNER: usize = 1_000;
/// Default maximum size of all tasks in bytes.
const MAX_BYTES: usize = 64 << 20;

/// A task store in memory, which loses its tasks when the process ends. It limits the number of tasks, the number of tasks per
/// owner, and the total size. All tasks without an owner count as tasks of one owner.
pub struct MemoryTaskStore {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    tasks: usize,
    per_owner: usize,
    bytes: usize,
}

#[derive(Default)]
struct State {
    tasks: BTreeMap<Box<str>, Entry>,
    owners: HashMap<Option<Principal>, BTreeSet<Box<str>>>,
    expiry: BTreeSet<(Timestamp, Box<str>)>,
    bytes: usize,
}

struct Entry {
    task: Arc<Task>,
    weight: usize,
}

impl MemoryTaskStore {
    /// Creates an empty store with limits of 10,000 tasks, 1,000 tasks per owner and 64 MiB.
    pub fn new() -> Self {
        Self {
            limits: Limits {
                tasks: MAX_TASKS,
                per_owner: MAX_TASKS_PER_OWNER,
                bytes: MAX_BYTES,
            },
            state: Mutex::default(),
        }
    }

    /// Sets the maximum number of tasks; default 10,000.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.limits.tasks = tasks;
        self
    }

    /// Sets the maximum number of tasks of one owner; default 1,000.
    #[must_use]
    pub fn with_max_tasks_per_owner(mut self, tasks: usize) -> Self {
        self.limits.per_owner = tasks;
        self
    }

    /// Sets the maximum estimated size of all tasks in bytes; default 64 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Returns the number of stored tasks, including expired tasks that have not been removed yet.
    pub fn len(&self) -> usize {
        lock(&self.state).tasks.len()
    }

    /// Returns whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Limits {
    fn admit(&self, state: &State, task: &Task, weight: usize) -> Result<(), TaskStoreError> {
        let full = |limit: String| Err(TaskStoreError::Full { limit });
        if state.tasks.len() >= self.tasks {
            return full(format!("{} tasks", self.tasks));
        }
        let owner = task.owner().cloned();
        if state.owners.get(&owner).map_or(0, BTreeSet::len) >= self.per_owner {
            return full(format!("{} tasks of one owner", self.per_owner));
        }
        self.fits(state.bytes.saturating_add(weight))
    }

    fn fits(&self, bytes: usize) -> Result<(), TaskStoreError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        Err(TaskStoreError::Full {
            limit: format!("{} bytes of tasks", self.bytes),
        })
    }
}

impl State {
    fn insert(&mut self, task: Task, weight: usize) {
        let id: Box<str> = task.id().into();
        let of_owner = self.owners.entry(task.owner().cloned()).or_default();
        of_owner.insert(id.clone());
        self.expiry.insert((task.expires(), id.clone()));
        self.bytes += weight;
        let task = Arc::new(task);
        self.tasks.insert(id, Entry { task, weight });
    }

    fn remove(&mut self, id: &str) -> bool {
        let Some(kept) = self.tasks.remove(id) else {
            return false;
        };
        self.bytes -= kept.weight;
        self.expiry.remove(&(kept.task.expires(), id.into()));
        let owner = kept.task.owner().cloned();
        if let Some(ids) = self.owners.get_mut(&owner) {
            ids.remove(id);
            if ids.is_empty() {
                self.owners.remove(&owner);
            }
        }
        true
    }

    fn sweep(&mut self, now: Timestamp) -> usize {
        let mut swept = 0;
        while let Some((at, id)) = self.expiry.first()
            && *at <= now
            && *at < Timestamp::MAX
        {
            let id = id.clone();
            self.remove(&id);
            swept += 1;
        }
        swept
    }

    fn create(&mut self, task: Task, limits: Limits) -> Result<(), TaskStoreError> {
        self.sweep(task.created());
        if self.tasks.contains_key(task.id()) {
            return Err(TaskStoreError::Conflict);
        }
        let weight = task.weight();
        limits.admit(self, &task, weight)?;
        self.insert(task, weight);
        Ok(())
    }

    fn put(&mut self, task: Task, limits: Limits) -> Result<Task, TaskStoreError> {
        let Some(kept) = self.tasks.get(task.id()) else {
            return Err(TaskStoreError::Conflict);
        };
        if kept.task.version() != task.version() || kept.task.has_ended() {
            return Err(TaskStoreError::Conflict);
        }
        let weight = task.weight();
        let grown = self.bytes - kept.weight + weight;
        if weight > kept.weight {
            limits.fits(grown)?;
        }
        let task = task.next_version();
        self.remove(task.id());
        self.insert(task.clone(), weight);
        Ok(task)
    }
}

fn after(id: Option<&str>) -> (Bound<&str>, Bound<&str>) {
    (
        id.map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded,
    )
}

fn done<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl TaskStore for MemoryTaskStore {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>> {
        done(lock(&self.state).create(task, self.limits))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>> {
        let kept = lock(&self.state)
            .tasks
            .get(id)
            .map(|entry| Arc::clone(&entry.task));
        done(Ok(kept.map(Arc::unwrap_or_clone)))
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>> {
        done(lock(&self.state).put(task, self.limits))
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        from: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        let state = lock(&self.state);
        let ids = state.owners.get(&owner.cloned());
        let ids = ids
            .into_iter()
            .flat_map(|ids| ids.range::<str, _>(after(from)));
        let found = ids.filter_map(|id| state.tasks.get(id)).take(limit);
        done(Ok(found.map(|kept| Task::clone(&kept.task)).collect()))
    }

    fn unfinished<'a>(
        &'a self,
        from: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        let state = lock(&self.state);
        let running = state.tasks.range::<str, _>(after(from));
        let running = running.filter(|(_, kept)| !kept.task.has_ended());
        done(Ok(running
            .take(limit)
            .map(|(_, kept)| Task::clone(&kept.task))
            .collect()))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>> {
        done(Ok(lock(&self.state).remove(id)))
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>> {
        done(Ok(lock(&self.state).sweep(now)))
    }
}

impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("MemoryTaskStore")
            .field("tasks", &state.tasks.len())
            .field("bytes", &state.bytes)
            .finish_non_exhaustive()
    }
}
