//! The thread that owns the file.

use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mcp_protocol::task::TaskStoreError;
use tokio::sync::{mpsc, oneshot};

#[cfg(feature = "http")]
use crate::events::queue::{EventJob, EventQueue};
#[cfg(feature = "http")]
use crate::events::tables;
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
    #[cfg(feature = "http")]
    events: Arc<EventQueue>,
}

impl StoreThread {
    /// Starts the thread.
    pub(crate) fn start(
        path: PathBuf,
        file: StoreFile,
        options: RedbOptions,
    ) -> Result<Self, OpenError> {
        let (jobs, queue) = mpsc::channel(options.queue);
        let worker = Worker {
            file,
            #[cfg(feature = "http")]
            events: Arc::new(EventQueue::new(options.max_queued_event_bytes)),
        };
        #[cfg(feature = "http")]
        let events = Arc::clone(&worker.events);
        let thread = thread::Builder::new()
            .name("mcp-store".to_owned())
            .spawn(move || worker.serve(queue))
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Self {
            path,
            jobs: Some(jobs),
            thread: Some(thread),
            #[cfg(feature = "http")]
            events,
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
        let gone = || ended(&self.path);
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let (reply, answer) = oneshot::channel();
        jobs.send(job(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }

    #[cfg(feature = "http")]
    pub(crate) fn events(&self) -> &EventQueue {
        &self.events
    }

    /// Queues a change of the events without waiting. Returns `false` if the queue is full.
    #[cfg(feature = "http")]
    pub(crate) fn push_event(&self, job: EventJob) -> bool {
        let pushed = self.events.push(job);
        if pushed == Some(true)
            && let Some(jobs) = &self.jobs
        {
            // If this queue is full, the thread looks at the events after its next batch.
            let _ = jobs.try_send(Job::Events);
        }
        pushed.is_some()
    }
}

/// The message for the operator if the thread of this file has ended.
pub(crate) fn ended(path: &Path) -> String {
    let path = path.display();
    format!("{path}: the thread of the store has ended unexpectedly; restart the process")
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

/// The state of the thread.
struct Worker {
    file: StoreFile,
    #[cfg(feature = "http")]
    events: Arc<EventQueue>,
}

impl Worker {
    /// Runs jobs until the store is dropped.
    fn serve(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut batch = Vec::with_capacity(BATCH);
        while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
            self.run(&mut batch);
        }
    }

    fn run(&mut self, batch: &mut Vec<Job>) {
        let (mut writes, mut replies, mut queries) = (Vec::new(), Vec::new(), Vec::new());
        #[cfg(feature = "http")]
        let (mut sessions, mut replays) = (Vec::new(), Vec::new());
        for job in batch.drain(..) {
            match job {
                Job::Write(write, reply) => {
                    writes.push(write);
                    replies.push(reply);
                }
                Job::Read(query, reply) => queries.push((query, reply)),
                #[cfg(feature = "http")]
                Job::Session(job) => sessions.push(job),
                #[cfg(feature = "http")]
                Job::Events => {}
                #[cfg(feature = "http")]
                Job::Replay { key, after, found } => replays.push((key, after, found)),
            }
        }
        if !writes.is_empty() {
            answer(replies, self.file.write(&writes));
        }
        #[cfg(feature = "http")]
        {
            if !sessions.is_empty() {
                crate::sessions::tables::run(&mut self.file, sessions);
            }
            tables::run(&mut self.file, &self.events);
        }
        // Reads run after the writes, so that a caller finds what it has written. The caller may be gone.
        for (query, reply) in queries {
            let _ = reply.send(self.file.read(&query));
        }
        #[cfg(feature = "http")]
        for (key, after, found) in replays {
            let _ = found.send(tables::replay(&mut self.file, key, after));
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
