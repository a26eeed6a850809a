//! Requests that this side has sent and that wait for a response.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{Batch, Limits, Message, ParseError, RequestId, quote};

use crate::sync::lock;
use crate::{Answer, CallError, Closed, TransportError};

/// Maximum length of text from the peer that is quoted in an error, in bytes.
const MAX_QUOTED: usize = 120;

/// The requests that this side has sent and that wait for a response. Their ids are consecutive and never reused.
pub struct Outgoing {
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: i64,
    calls: HashMap<i64, CallEntry>,
    /// The last message of the peer that was discarded while requests were waiting: the last request id at that time, and a
    /// description of the message.
    discarded: Option<(i64, String)>,
    ended: Option<Closed>,
}

enum CallEntry {
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

    /// Creates a table for a session that another process has started. The first id is the id after `last`.
    #[doc(hidden)]
    pub fn starting_after(limit: usize, last: i64) -> Self {
        let this = Self::new(limit);
        lock(&this.table).last = last;
        this
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
        if table.calls.len() >= self.limit {
            return Err(CallError::Busy { limit: self.limit });
        }
        table.last += 1;
        let id = table.last;
        table.calls.insert(id, CallEntry::Waiting(None));
        Ok(id)
    }

    /// Passes a response to its request. Returns `false` if no request with this id is waiting.
    pub fn complete(&self, id: &RequestId, answer: Result<Answer, CallError>) -> bool {
        let RequestId::Number(id) = id else {
            return false;
        };
        match lock(&self.table).calls.get_mut(id) {
            Some(slot @ CallEntry::Waiting(_)) => {
                if let CallEntry::Waiting(Some(waker)) =
                    std::mem::replace(slot, CallEntry::Done(answer))
                {
                    waker.wake();
                }
                true
            }
            _ => false,
        }
    }

    /// Passes an error without an id to the only waiting request, if there is exactly one.
    pub(crate) fn complete_only(&self, answer: Result<Answer, CallError>) {
        let only = {
            let table = lock(&self.table);
            let mut ids = table.calls.keys().copied();
            ids.next().filter(|_| ids.next().is_none())
        };
        if let Some(id) = only {
            self.complete(&RequestId::Number(id), answer);
        }
    }

    /// Polls for the response. The request is removed when the response is returned.
    pub fn poll(&self, id: i64, cx: &Context<'_>) -> Poll<Result<Answer, CallError>> {
        let calls = &mut lock(&self.table).calls;
        match calls.get_mut(&id) {
            Some(CallEntry::Waiting(waker)) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Some(CallEntry::Done(_)) => match calls.remove(&id) {
                Some(CallEntry::Done(answer)) => Poll::Ready(answer),
                _ => Poll::Pending,
            },
            None => Poll::Ready(Err(CallError::Closed(Closed::local()))),
        }
    }

    /// Returns the numeric id of the waiting request if the response has this number as text, for example `"7"` instead of 7.
    /// This is unambiguous, because this side uses only numeric ids.
    pub fn named_by_text(&self, id: &RequestId) -> Option<RequestId> {
        let RequestId::String(text) = id else {
            return None;
        };
        let number: i64 = text.parse().ok()?;
        let is_waiting = || lock(&self.table).calls.contains_key(&number);
        (number.to_string() == **text && is_waiting()).then_some(RequestId::Number(number))
    }

    /// Fails the waiting requests whose responses are in an unreadable frame. Returns whether the frame was a response. The
    /// caller must not answer a response.
    pub fn fail_unreadable(&self, frame: &[u8], error: &ParseError, limits: &Limits) -> bool {
        let mut was_response = error.is_response();
        let mut has_failed = false;
        for error in std::iter::once(error).chain(&error.following(frame, limits)) {
            let id = error.id().filter(|_| error.may_be_response());
            let Some(id) = id else { continue };
            let id = self.named_by_text(id).unwrap_or_else(|| id.clone());
            has_failed |= self.complete(&id, Err(CallError::Malformed(error.clone())));
        }
        if !has_failed {
            self.note_discarded(frame, error);
        }
        was_response |= has_failed;
        was_response
    }

    /// Fails the waiting requests whose responses are in a batch, because the negotiated revision has no batches. Returns whether
    /// the batch contains only responses. The caller must not answer such a batch.
    pub fn fail_batch(&self, batch: &Batch<'_>) -> bool {
        let mut has_others = false;
        for member in batch.iter() {
            let id = match &member {
                Ok(Message::Response(response)) => response.id.as_ref(),
                Err(error) if error.is_response() => error.id(),
                _ => {
                    has_others = true;
                    continue;
                }
            };
            let problem = "the peer sent the response in a batch, which the negotiated revision does not have";
            let failure = || CallError::Failed(Arc::new(TransportError::new(problem)));
            if let Some(id) = id {
                let id = self.named_by_text(id).unwrap_or_else(|| id.clone());
                self.complete(&id, Err(failure()));
            }
        }
        !has_others
    }

    /// Records that a frame of the peer was discarded. The frame may have been the response to any of the requests that are
    /// waiting now.
    fn note_discarded(&self, frame: &[u8], error: &ParseError) {
        let mut table = lock(&self.table);
        if !table.calls.is_empty() {
            let head = frame.get(..frame.len().min(MAX_QUOTED)).unwrap_or_default();
            let head = String::from_utf8_lossy(head);
            let shown = quote(head.trim_end(), MAX_QUOTED);
            let text = format!("a line that could not be read was discarded: {shown}: {error}");
            table.discarded = Some((table.last, text));
        }
    }

    /// Returns the reason why a request may have no response: the last message that was discarded after the request was sent.
    pub fn problem(&self, id: i64) -> Option<String> {
        let table = lock(&self.table);
        let (last, text) = table.discarded.as_ref()?;
        (id <= *last).then(|| text.clone())
    }

    /// Removes a request. Returns `true` if the request was still waiting. In this case, the peer must be notified of the
    /// cancellation.
    pub fn withdraw(&self, id: i64) -> bool {
        let slot = lock(&self.table).calls.remove(&id);
        matches!(slot, Some(CallEntry::Waiting(_)))
    }

    /// Fails all waiting requests and all requests that are added later.
    pub fn close(&self, reason: &Closed) {
        let mut table = lock(&self.table);
        table.ended.get_or_insert_with(|| reason.clone());
        for slot in table.calls.values_mut() {
            if let CallEntry::Waiting(waker) = slot {
                let waker = waker.take();
                *slot = CallEntry::Done(Err(CallError::Closed(reason.clone())));
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Returns the number of requests that are waiting, or whose response has not been polled yet.
    pub fn len(&self) -> usize {
        lock(&self.table).calls.len()
    }

    /// Returns whether no request is waiting and all responses have been polled.
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
