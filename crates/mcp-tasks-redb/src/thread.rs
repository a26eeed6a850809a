//! The thread that owns the file.

use mcp_protocol::task::StoreError;
use tokio::sync::mpsc;

use crate::file::StoreFile;
use crate::job::{Job, Reply};

/// Maximum number of operations per transaction.
const BATCH: usize = 64;

/// Runs jobs until the store is dropped.
pub(crate) fn serve(mut file: StoreFile, mut jobs: mpsc::Receiver<Job>) {
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
