//! The thread that owns the file.

use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::file::StoreFile;
use crate::job::Job;
#[cfg(feature = "http")]
use crate::job::event::{EventJob, EventQueue};
use crate::{OpenError, RedbOptions};

/// Maximum number of operations in a transaction.
const BATCH: usize = 64;

/// The thread that owns the file, and the queue of its operations. Dropping this value waits for running operations and closes
/// the file.
#[derive(Debug)]
pub(crate) struct StoreThread {
    path: PathBuf,
    /// The queue of operations; `None` while the store is being dropped.
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

    /// Sends an operation to the thread, and waits for its result. If the thread has ended, returns a message for the operator.
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

    /// Queues a change of events without waiting. Returns `false` if the queue is full.
    #[cfg(feature = "http")]
    pub(crate) fn push_event(&self, job: EventJob) -> bool {
        let pushed = self.events.push(job);
        if pushed == Some(true)
            && let Some(jobs) = &self.jobs
        {
            // If this queue is full, the thread writes the events with its next batch.
            let _ = jobs.try_send(Job::Events);
        }
        pushed.is_some()
    }
}

/// Returns a message for the operator, which says that the thread of this file has ended.
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
    /// Runs operations until the store is dropped.
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
                Job::Replay {
                    key,
                    after,
                    bytes,
                    found,
                } => replays.push((key, after, bytes, found)),
            }
        }
        if !writes.is_empty() {
            let done = self.file.write(&writes);
            answer(replies, done.map_err(|error| move || error.clone()));
        }
        #[cfg(feature = "http")]
        {
            if !sessions.is_empty() {
                http::change_sessions(&mut self.file, sessions);
            }
            http::change_events(&mut self.file, &self.events);
        }
        // Reads run after the writes, so that a caller finds what it has written. The caller may be gone.
        for (query, reply) in queries {
            let _ = reply.send(self.file.read(&query));
        }
        #[cfg(feature = "http")]
        for (key, after, bytes, found) in replays {
            let _ = found.send(http::replay(&mut self.file, key, after, bytes));
        }
    }
}

/// Sends each result to its caller. If the transaction has failed, sends the error to all callers. Ignores callers that no longer
/// wait.
fn answer<T, E>(
    replies: Vec<oneshot::Sender<Result<T, E>>>,
    done: Result<Vec<Result<T, E>>, impl Fn() -> E>,
) {
    match done {
        Ok(done) => {
            for (reply, done) in replies.into_iter().zip(done) {
                let _ = reply.send(done);
            }
        }
        Err(error) => {
            for reply in replies {
                let _ = reply.send(Err(error()));
            }
        }
    }
}

/// The operations on sessions and events.
#[cfg(feature = "http")]
mod http {
    use mcp_transport_http::{Replay, StreamKey};

    use crate::file::StoreFile;
    use crate::job::event::{EventJob, EventQueue};
    use crate::job::session::{SessionJob, unavailable};
    use crate::tables::event_rows::EventTables;
    use crate::tables::meta::{DatabaseError, reason};
    use crate::tables::sessions::SessionTables;

    /// Runs operations on sessions in one transaction. If no operation changes anything, nothing is written to the disk.
    pub(super) fn change_sessions(file: &mut StoreFile, jobs: Vec<SessionJob>) {
        let (operations, replies): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let done = file.change(|transaction, options| {
            let mut tables = SessionTables::open(transaction, options)?;
            let done = operations.iter().map(|operation| tables.apply(operation));
            let done: Vec<_> = done.collect::<Result<_, DatabaseError>>()?;
            Ok((done, tables.is_changed))
        });
        let done = done.map_err(reason);
        let done = done.map_err(|reason| move || unavailable(reason.clone()));
        super::answer(replies, done);
    }

    /// Runs the queued operations on events in one transaction. Tells the caller of each append whether the event is stored.
    pub(super) fn change_events(file: &mut StoreFile, queue: &EventQueue) {
        let (jobs, bytes) = queue.take();
        if jobs.is_empty() {
            return;
        }
        let done = file.change(|transaction, options| {
            let mut tables = EventTables::open(transaction, options)?;
            let done = jobs.iter().map(|job| tables.apply(job));
            let done: Vec<_> = done.collect::<Result<_, DatabaseError>>()?;
            Ok((done, tables.is_changed))
        });
        queue.release(bytes);
        let mut done = done.map_err(reason).map(Vec::into_iter);
        for job in jobs {
            let result = match &mut done {
                Ok(done) => done.next().unwrap_or(Ok(())),
                Err(reason) => Err(reason.clone()),
            };
            if let EventJob::Append { stored, .. } = job {
                // The stream may have ended.
                let _ = stored.send(result);
            }
        }
    }

    /// Returns the events of a stream after the event `after`, up to a total size of `bytes`.
    pub(super) fn replay(
        file: &mut StoreFile,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> Result<Replay, String> {
        let found = file.change(|transaction, options| {
            let tables = EventTables::open(transaction, options)?;
            Ok((tables.replay(key, after, bytes)?, false))
        });
        found.map_err(reason)
    }
}
