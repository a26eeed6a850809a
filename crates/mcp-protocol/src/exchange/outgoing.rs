//! Requests of this side that wait for the peer.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::RequestId;

use crate::sync::lock;
use crate::{Answer, CallError, Closed};

/// The requests of this side that wait for an answer. Ids count up and are never used twice.
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
    /// A table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            table: Mutex::default(),
        }
    }

    /// Takes an id, which [`poll`](Self::poll) and [`withdraw`](Self::withdraw) want back.
    ///
    /// # Errors
    /// The table is closed or full.
    pub fn open(&self) -> Result<i64, CallError> {
        let mut table = lock(&self.table);
        // Looked at under the lock that `close` takes: no slot can be opened behind it.
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

    /// Hands an answer to its request; `false` if none waits under this id.
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

    /// Waits for the answer; the id is free once it is there.
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

    /// Gives an id up; `true` if it still waited, so that the peer has to be told.
    pub fn withdraw(&self, id: i64) -> bool {
        let slot = lock(&self.table).slots.remove(&id);
        matches!(slot, Some(Slot::Waiting(_)))
    }

    /// Fails what waits, and whatever is opened from now on.
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

    /// How many wait, or were answered and not yet fetched.
    pub fn len(&self) -> usize {
        lock(&self.table).slots.len()
    }

    /// Whether there are none.
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
