//! The thread that owns the file.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use mcp_protocol::task::TaskStoreError;
use tokio::sync::{mpsc, oneshot};

use crate::file::StoreFile;
use crate::job::{Job, Reply};
use crate::{OpenError, RedbOptions};

/// Maximum number of operations per transaction.
const BATCH: usize = 64;

/// The thread that owns the file, and the queue of its operations. Dropping it waits for running
/// operations and closes the file.
#[derive(Debug)]
pub(crate) struct StoreThread {
    path: PathBuf,
    /// `None` while the store is being dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreThread {
    pub(crate) fn open(path: &Path, options: RedbOptions) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let file = StoreFile::open(path.clone(), options)?;
        let (jobs, queue) = mpsc::channel(options.queue);
        let thread = thread::Builder::new()
            .name("mcp-store".to_owned())
            .spawn(move || serve(file, queue))
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Self {
            path,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sends an operation to the thread, and waits for its result. Returns a message for the operator
    /// if the thread has ended.
    pub(crate) async fn send<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<T>) -> Job,
    ) -> Result<T, String> {
        let gone = || {
            let path = self.path.display();
            format!("{path}: the thread of the store has ended unexpectedly; restart the process")
        };
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let (reply, answer) = oneshot::channel();
        jobs.send(job(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

impl Drop for StoreThread {
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
        #[cfg(feature = "sessions")]
        let mut sessions = Vec::new();
        for job in batch.drain(..) {
            match job {
                Job::Write(write, reply) => {
                    writes.push(write);
                    replies.push(reply);
                }
                Job::Read(query, reply) => queries.push((query, reply)),
                #[cfg(feature = "sessions")]
                Job::Session(job) => sessions.push(job),
            }
        }
        if !writes.is_empty() {
            answer(replies, file.write(&writes));
        }
        #[cfg(feature = "sessions")]
        if !sessions.is_empty() {
            crate::sessions::tables::run(&mut file, sessions);
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
