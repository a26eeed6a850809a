//! Stores tasks in the file.

use std::sync::Arc;

use mcp_protocol::task::{Task, TaskStore, TaskStoreError, Timestamp};
use mcp_protocol::{BoxFuture, Principal};

use crate::job::{Job, Query, Reply, TaskRow, Write};
use crate::thread::StoreThread;

/// A [`TaskStore`] in the file of a [`RedbStore`](crate::RedbStore). When an operation completes, its change has been synced to
/// the disk.
#[derive(Debug, Clone)]
pub struct RedbTaskStore {
    thread: Arc<StoreThread>,
}

impl RedbTaskStore {
    pub(crate) fn new(thread: Arc<StoreThread>) -> Self {
        Self { thread }
    }

    async fn write(&self, write: Write) -> Result<usize, TaskStoreError> {
        self.send(|reply| Job::Write(write, reply)).await
    }

    async fn read(&self, query: Query) -> Result<Vec<Task>, TaskStoreError> {
        self.send(|reply| Job::Read(query, reply)).await
    }

    async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, TaskStoreError> {
        let done = self.thread.send(job).await;
        done.map_err(TaskStoreError::Unavailable)?
    }
}

impl TaskStore for RedbTaskStore {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>> {
        Box::pin(async move {
            let (record, now) = (TaskRow::of(&task)?, task.created());
            self.write(Write::Create { record, now }).await?;
            Ok(())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>> {
        Box::pin(async move { Ok(self.read(Query::One(id.into())).await?.pop()) })
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>> {
        Box::pin(async move {
            let expected = task.version();
            let task = task.next_version();
            let record = TaskRow::of(&task)?;
            self.write(Write::Put { record, expected }).await?;
            Ok(task)
        })
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        Box::pin(self.read(Query::Owned {
            owner: owner.map(|owner| owner.as_str().into()),
            after: after.map(Into::into),
            limit,
        }))
    }

    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        let after = after.map(Into::into);
        Box::pin(self.read(Query::Unfinished { after, limit }))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>> {
        Box::pin(async move { Ok(self.write(Write::Remove(id.into())).await? > 0) })
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>> {
        Box::pin(self.write(Write::Sweep(now)))
    }
}
