//! Requests of this side that wait for the peer.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_types::method;

use super::Mux;
use crate::{Answer, CallError, Closed, lock};

/// Ids count up and are never used twice in a session.
#[derive(Default)]
pub(super) struct Outgoing {
    last: i64,
    slots: HashMap<i64, Slot>,
    ended: Option<Closed>,
}

enum Slot {
    Waiting(Option<Waker>),
    Done(Result<Answer, CallError>),
}

impl Outgoing {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    fn open(&mut self) -> i64 {
        self.last += 1;
        self.slots.insert(self.last, Slot::Waiting(None));
        self.last
    }

    /// Hands an answer to its call; `false` if there is none.
    pub(super) fn complete(&mut self, id: &RequestId, answer: Result<Answer, CallError>) -> bool {
        let RequestId::Number(id) = id else {
            return false;
        };
        match self.slots.get_mut(id) {
            Some(slot @ Slot::Waiting(_)) => {
                if let Slot::Waiting(Some(waker)) = std::mem::replace(slot, Slot::Done(answer)) {
                    waker.wake();
                }
                true
            }
            _ => false,
        }
    }

    /// Fails what waits, and whatever is opened from now on.
    pub(super) fn close(&mut self, reason: &Closed) {
        self.ended.get_or_insert_with(|| reason.clone());
        for slot in self.slots.values_mut() {
            if let Slot::Waiting(waker) = slot {
                let waker = waker.take();
                *slot = Slot::Done(Err(CallError::Closed(reason.clone())));
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    fn poll(&mut self, id: i64, cx: &Context<'_>) -> Poll<Result<Answer, CallError>> {
        match self.slots.get_mut(&id) {
            Some(Slot::Waiting(waker)) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Some(Slot::Done(_)) => match self.slots.remove(&id) {
                Some(Slot::Done(answer)) => Poll::Ready(answer),
                _ => Poll::Pending,
            },
            None => Poll::Ready(Err(CallError::Closed(Closed::local()))),
        }
    }
}

/// A call on a pipe: waits for room, writes the request, waits for the answer.
pub(super) struct MuxCall {
    mux: Arc<Mux>,
    method: &'static str,
    stage: Stage,
}

enum Stage {
    Queued(Option<Vec<u8>>),
    Sent(i64),
    Done,
}

impl MuxCall {
    pub(super) fn new(mux: Arc<Mux>, method: &'static str, params: Option<Vec<u8>>) -> Self {
        Self {
            mux,
            method,
            stage: Stage::Queued(params),
        }
    }

    fn send(&self, params: Option<&[u8]>) -> Result<i64, CallError> {
        let id = {
            let mut outgoing = lock(&self.mux.outgoing);
            // Looked at under the lock that `close` takes: no slot can be opened behind it.
            if let Some(reason) = &outgoing.ended {
                return Err(CallError::Closed(reason.clone()));
            }
            let limit = self.mux.limits.outgoing;
            if outgoing.len() >= limit {
                return Err(CallError::Busy { limit });
            }
            outgoing.open()
        };
        self.mux
            .outbox
            .push(|out| write_request(out, &RequestId::Number(id), self.method, params));
        Ok(id)
    }
}

impl Future for MuxCall {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::Queued(_) = self.stage {
            if self.mux.outbox.poll_room(cx).is_pending() {
                return Poll::Pending;
            }
            let Stage::Queued(params) = std::mem::replace(&mut self.stage, Stage::Done) else {
                return Poll::Pending;
            };
            match self.send(params.as_deref()) {
                Ok(id) => self.stage = Stage::Sent(id),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Stage::Sent(id) = self.stage else {
            return Poll::Ready(Err(CallError::Closed(Closed::local())));
        };
        let answer = lock(&self.mux.outgoing).poll(id, cx);
        if answer.is_ready() {
            self.stage = Stage::Done;
        }
        answer
    }
}

impl Drop for MuxCall {
    /// Cancels on the wire, unless there is an answer or the request is `initialize`, which may
    /// not be cancelled.
    fn drop(&mut self) {
        let Stage::Sent(id) = self.stage else {
            return;
        };
        let slot = lock(&self.mux.outgoing).slots.remove(&id);
        if !matches!(slot, Some(Slot::Waiting(_))) || self.method == method::INITIALIZE {
            return;
        }
        let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
        self.mux.outbox.push(|out| {
            write_notification(
                out,
                method::NOTIFICATIONS_CANCELLED,
                Some(params.as_bytes()),
            );
        });
    }
}
