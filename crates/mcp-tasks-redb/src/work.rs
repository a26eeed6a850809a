//! The thread that has the file, and what it is asked to do.

use mcp_protocol::task::{StoreError, Task, Timestamp};
use tokio::sync::{mpsc, oneshot};

use crate::file::StoreFile;

/// Operations that are taken up at once; what they change is kept by one commit.
const BATCH: usize = 64;

/// Where a result goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// One thing to do.
#[derive(Debug)]
pub(crate) enum Job {
    Write(Write, Reply<usize>),
    Read(Look, Reply<Vec<Task>>),
}

/// A change; each says how many tasks it forgot.
#[derive(Debug)]
pub(crate) enum Write {
    Create { record: Record, now: Timestamp },
    Put { record: Record, expected: u64 },
    Remove(Box<str>),
    Sweep(Timestamp),
}

/// What is looked for.
#[derive(Debug)]
pub(crate) enum Look {
    One(Box<str>),
    Owned {
        owner: Option<Box<str>>,
        after: Option<Box<str>>,
        limit: usize,
    },
    Unfinished {
        after: Option<Box<str>>,
        limit: usize,
    },
}

/// A task as it is kept: its text, and what the tables need to know of it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: Box<str>,
    pub(crate) owner: Option<Box<str>>,
    pub(crate) version: u64,
    pub(crate) expires: u64,
    pub(crate) ended: bool,
    pub(crate) json: Vec<u8>,
}

impl Record {
    pub(crate) fn of(task: &Task) -> Result<Self, StoreError> {
        let json = serde_json::to_vec(task).map_err(|error| {
            StoreError::Unavailable(format!("the task cannot be written as JSON: {error}"))
        })?;
        Ok(Self {
            id: task.id().into(),
            owner: task.owner().map(|owner| owner.as_str().into()),
            version: task.version(),
            expires: task.expires().as_millis(),
            ended: task.has_ended(),
            json,
        })
    }
}

/// Works until nobody is left to ask for anything.
pub(crate) fn serve(mut file: StoreFile, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
        let (mut writes, mut replies, mut looks) = (Vec::new(), Vec::new(), Vec::new());
        for job in batch.drain(..) {
            match job {
                Job::Write(write, reply) => {
                    writes.push(write);
                    replies.push(reply);
                }
                Job::Read(look, reply) => looks.push((look, reply)),
            }
        }
        if !writes.is_empty() {
            answer(replies, file.write(&writes));
        }
        // After the writes: whoever waited for one of them finds it.
        for (look, reply) in looks {
            // Who asked may have gone.
            let _ = reply.send(file.read(&look));
        }
    }
}

fn answer(replies: Vec<Reply<usize>>, written: Result<Vec<Result<usize, StoreError>>, StoreError>) {
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
