//! Tasks in Redis.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::task::{Task, TaskStore, TaskStoreError, Timestamp};
use mcp_protocol::{BoxFuture, Principal};
use redis::{FromRedisValue, RedisError, Script, ScriptInvocation};

use crate::connection::Connection;

/// A [`TaskStore`] in Redis, from [`RedisStore::task_store`](crate::RedisStore::task_store). Cloning returns another handle to the same tasks.
///
/// Each operation is one script, so changes by two processes never interleave. The keys of all tasks have the same hash tag, so
/// that a cluster keeps them on one node. Every process can serve `tasks/get`, `tasks/result` and `tasks/cancel`. If the handler
/// of a cancelled task runs in another process, that process cancels the handler when it renews the lease. Input for a task
/// (`tasks/update`) must reach the process that runs the task. If a process has ended, other processes end its tasks or run them
/// again (`TaskOptions::with_lease`).
#[derive(Clone)]
pub struct RedisTaskStore {
    connection: Connection,
    script: Arc<Script>,
    base: Arc<str>,
    max_tasks: usize,
    max_tasks_per_owner: usize,
    max_bytes: usize,
}

impl RedisTaskStore {
    pub(crate) fn new(connection: Connection, prefix: &str) -> Self {
        Self {
            connection,
            script: Arc::new(Script::new(include_str!("tasks.lua"))),
            base: format!("{{{prefix}tasks}}").into(),
            max_tasks: 10_000,
            max_tasks_per_owner: 1_000,
            max_bytes: 64 << 20,
        }
    }

    /// Sets the maximum number of tasks. Default 10,000.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the maximum number of tasks of one owner. Default 1,000.
    #[must_use]
    pub fn with_max_tasks_per_owner(mut self, tasks: usize) -> Self {
        self.max_tasks_per_owner = tasks;
        self
    }

    /// Sets the maximum total size of all tasks as JSON, in bytes. Default 64 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    async fn run<T: FromRedisValue>(
        &self,
        operation: &str,
        add: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<T, TaskStoreError> {
        let mut script = self.script.key(&*self.base);
        script.arg(operation);
        add(&mut script);
        let mut connection = self.connection.clone();
        let outcome = script.invoke_async(&mut connection).await;
        outcome.map_err(|error| failed(&error))
    }

    async fn tasks(
        &self,
        operation: &str,
        add: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<Vec<Task>, TaskStoreError> {
        let found: Vec<Vec<u8>> = self.run(operation, add).await?;
        let tasks = found.iter().map(mcp_jsonrpc::decode_document);
        tasks.collect::<Result<_, _>>().map_err(|error| {
            TaskStoreError::Unavailable(format!("a stored task cannot be read: {error}"))
        })
    }

    /// Writes a task with a script. `add` adds further arguments for the script.
    async fn write(
        &self,
        operation: &str,
        task: &Task,
        add: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<(), TaskStoreError> {
        let json = serde_json::to_vec(task).map_err(|error| {
            TaskStoreError::Unavailable(format!("the task cannot be written as JSON: {error}"))
        })?;
        let expires = match task.expires() {
            Timestamp::MAX => "inf".to_owned(),
            expires => expires.as_millis().to_string(),
        };
        let outcome: String = self
            .run(operation, |script| {
                script
                    .arg(task.id())
                    .arg(task.version())
                    .arg(expires)
                    .arg(u8::from(task.has_ended()))
                    .arg(json)
                    .arg(self.max_bytes);
                add(script);
            })
            .await?;
        let full = |limit: String| Err(TaskStoreError::Full { limit });
        match &*outcome {
            "done" => Ok(()),
            "full" => full(format!("{} tasks", self.max_tasks)),
            "full of bytes" => full(format!("{} bytes of tasks", self.max_bytes)),
            "full for owner" => full(format!("{} tasks of one owner", self.max_tasks_per_owner)),
            _ => Err(TaskStoreError::Conflict),
        }
    }
}

impl TaskStore for RedisTaskStore {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>> {
        Box::pin(async move {
            self.write("create", &task, |script| {
                script
                    .arg(owner(task.owner()))
                    .arg(task.created().as_millis())
                    .arg(self.max_tasks)
                    .arg(self.max_tasks_per_owner);
            })
            .await
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>> {
        Box::pin(async move {
            let found = self.tasks("get", |script| {
                script.arg(id);
            });
            Ok(found.await?.pop())
        })
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>> {
        Box::pin(async move {
            let expected = task.version();
            let task = task.next_version();
            self.write("put", &task, |script| {
                script.arg(expected);
            })
            .await?;
            Ok(task)
        })
    }

    fn list<'a>(
        &'a self,
        of: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        Box::pin(self.tasks("list", move |script| {
            script
                .arg(after.unwrap_or_default())
                .arg(limit)
                .arg(owner(of));
        }))
    }

    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        Box::pin(self.tasks("unfinished", move |script| {
            script.arg(after.unwrap_or_default()).arg(limit);
        }))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>> {
        Box::pin(self.run("remove", move |script| {
            script.arg(id);
        }))
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>> {
        Box::pin(self.run("sweep", move |script| {
            script.arg(now.as_millis());
        }))
    }

    fn is_shared(&self) -> bool {
        true
    }
}

impl fmt::Debug for RedisTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTaskStore")
            .field("keys", &self.base)
            .field("max_tasks", &self.max_tasks)
            .field("max_tasks_per_owner", &self.max_tasks_per_owner)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// Returns the owner of a task as a part of a key. The text for a task without an owner differs from the text for a task whose
/// owner has an empty name.
fn owner(owner: Option<&Principal>) -> String {
    match owner {
        Some(owner) => format!("p{}", owner.as_str()),
        None => "n".to_owned(),
    }
}

fn failed(error: &RedisError) -> TaskStoreError {
    if error.code() == Some("OOM") {
        return TaskStoreError::Full {
            limit: "maxmemory of Redis".to_owned(),
        };
    }
    TaskStoreError::Unavailable(format!("Redis has failed: {error}"))
}
