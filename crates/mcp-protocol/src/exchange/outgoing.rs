//! Requests of this side that wait for a response.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::RequestId;

use crate::sync::lock;
use crate::{Answer, CallError, Closed};

/// The requests of this side that wait for a response. Ids are consecutive and never reused.
pub struct Outgoing {
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: i64,
    slots: HashMap<i64, Slot>,
    ended: Option<Closed>,
}

enum Slot {
    Waiting(Option<Waker>),
    Done(Result<Answer, CallError>),
}

impl Outgoing {
    /// Creates a table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            table: Mutex::default(),
        }
    }

    /// Adds a request and returns its id, for [`poll`](Self::poll) and [`withdraw`](Self::withdraw).
    ///
    /// # Errors
    /// The table is closed or full.
    pub fn open(&self) -> Result<i64, CallError> {
        let mut table = lock(&self.table);
        // Checked under the lock that `close` takes, so that no request is added after it.
        if let Some(reason) = &table.ended {
            return Err(CallError::Closed(reason.clone()));
        }
        if table.slots.len() >= self.limit {
            return Err(CallError::Busy { limit: self.limit });
        }
        table.last += 1;
        let id = table.last;
        table.slots.insert(id, Slot::Waiting(None));
        Ok(id)
    }

    /// Passes a response to its request. Returns `false` if no request with this id is waiting.
    pub fn complete(&self, id: &RequestId, answer: Result<Answer, CallError>) -> bool {
        let RequestId::Number(id) = id else {
            return false;
        };
        match lock(&self.table).slots.get_mut(id) {
            Some(slot @ Slot::Waiting(_)) => {
                if let Slot::Waiting(Some(waker)) = std::mem::replace(slot, Slot::Done(answer)) {
                    waker.wake();
                }
                true
            }
            _ => false,
        }
    }

    /// Polls for the response. The request is removed when the response is returned.
    pub fn poll(&self, id: i64, cx: &Context<'_>) -> Poll<Result<Answer, CallError>> {
        let slots = &mut lock(&self.table).slots;
        match slots.get_mut(&id) {
            Some(Slot::Waiting(waker)) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Some(Slot::Done(_)) => match slots.remove(&id) {
                Some(Slot::Done(answer)) => Poll::Ready(answer),
                _ => Poll::Pending,
            },
            None => Poll::Ready(Err(CallError::Closed(Closed::local()))),
        }
    }

    /// Removes a request. Returns `true` if it was still waiting, so that the peer must be notified.
    pub fn withdraw(&self, id: i64) -> bool {
        let slot = lock(&self.table).slots.remove(&id);
        matches!(slot, Some(Slot::Waiting(_)))
    }

    /// Fails all waiting requests, and all requests that are added later.
    pub fn close(&self, reason: &Closed) {
        let mut table = lock(&self.table);
        table.ended.get_or_insert_with(|| reason.clone());
        for slot in table.slots.values_mut() {
            if let Slot::Waiting(waker) = slot {
                let waker = waker.take();
                *slot = Slot::Done(Err(CallError::Closed(reason.clone())));
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Returns the number of requests that are waiting, or whose response was not yet polled.
    pub fn len(&self) -> usize {
        lock(&self.table).slots.len()
    }

    /// Returns whether there are no such requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("limit", &self.limit)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
