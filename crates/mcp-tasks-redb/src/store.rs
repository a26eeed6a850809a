//! The public store, and the thread that owns its file.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use mcp_protocol::task::{Task, TaskStore, TaskStoreError, Timestamp};
use mcp_protocol::{BoxFuture, Principal};
use tokio::sync::{mpsc, oneshot};

use crate::file::StoreFile;
use crate::job::{Job, Query, Reply, TaskRow, Write};
use crate::{OpenError, RedbOptions};

/// Maximum number of operations per transaction.
const BATCH: usize = 64;

/// A task store in a file.
///
/// A completed operation is on the disk. One thread does the work, so that callers do not block an
/// executor; concurrent changes share a transaction. After a failure, for example a full disk, the
/// next operation opens the file again.
///
/// Dropping the store waits for running operations and closes the file, which takes a few
/// milliseconds.
#[derive(Debug)]
pub struct RedbTaskStore {
    path: PathBuf,
    /// `None` while the store is being dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl RedbTaskStore {
    /// Opens or creates the store in this file, with the limits of [`RedbOptions::new`]. After a
    /// crash the whole file is read and repaired.
    ///
    /// Blocks the thread: call it before the server starts.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, RedbOptions::new())
    }

    /// Like [`open`](Self::open), with other limits. Tasks beyond a limit stay until they expire.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(path: impl AsRef<Path>, options: RedbOptions) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let file = StoreFile::open(path.clone(), options)?;
        let (jobs, queue) = mpsc::channel(options.queue);
        let thread = thread::Builder::new()
            .name("mcp-tasks".to_owned())
            .spawn(move || serve(file, queue))
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Self {
            path,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn write(&self, write: Write) -> Result<usize, TaskStoreError> {
        self.send(|reply| Job::Write(write, reply)).await
    }

    async fn read(&self, query: Query) -> Result<Vec<Task>, TaskStoreError> {
        self.send(|reply| Job::Read(query, reply)).await
    }

    async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, TaskStoreError> {
        let gone = || {
            let path = self.path.display();
            TaskStoreError::Unavailable(format!("{path}: the thread of the store has ended"))
        };
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let (reply, answer) = oneshot::channel();
        jobs.send(job(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
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

impl Drop for RedbTaskStore {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread catches panics.
            let _ = thread.join();
        }
    }
}

/// Runs jobs until the store is dropped.
fn serve(mut file: StoreFile, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
        let (mut writes, mut replies, mut queries) = (Vec::new(), Vec::new(), Vec::new());
        for job in batch.drain(..) {
            match job {
                Job::Write(write, reply) => {
                    writes.push(write);
                    replies.push(reply);
                }
                Job::Read(query, reply) => queries.push((query, reply)),
            }
        }
        if !writes.is_empty() {
            answer(replies, file.write(&writes));
        }
        // Reads run after the writes, so that a caller finds what it has written.
        for (query, reply) in queries {
            // The caller may be gone.
            let _ = reply.send(file.read(&query));
        }
    }
}

fn answer(
    replies: Vec<Reply<usize>>,
    written: Result<Vec<Result<usize, TaskStoreError>>, TaskStoreError>,
) {
    match written {
        Ok(done) => {
            for (reply, done) in replies.into_iter().zip(done) {
                let _ = reply.send(done);
            }
        }
        Err(error) => {
            for reply in replies {
                let _ = reply.send(Err(error.clone()));
            }
        }
    }
}
