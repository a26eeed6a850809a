//! Pending input of a detached call, whose handler waits for responses.
//!
//! Each input request opens an entry. The response closes the entry and wakes the handler. The owner of the handler waits for
//! [changes](PendingInput::changed), stores an [`InputSnapshot`] after each change, and reports that the snapshot is stored. An
//! operation whose data must not be lost waits for this report.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::ErrorObject;
use mcp_types::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    CallState, MAX_REQUESTS, PendingInput, State, fingerprint, input_request, with_problem,
};
use crate::AskError;
use crate::sync::lock;

/// Maximum number of input requests of one call.
const MAX_KEYS: usize = 1_024;

/// The state that only a detached call has.
#[derive(Default)]
pub(super) struct DetachedState {
    /// Maximum number of times that an input request is sent while its responses are invalid.
    tries: u32,
    /// Error responses that the handler has not read yet, by key of the input request.
    refused: BTreeMap<String, ErrorObject>,
    /// The wakers of the futures that wait for a response, by key of the input request.
    asking: BTreeMap<String, Waker>,
    /// Input requests from an earlier run of the handler that this run has not repeated yet.
    earlier: JsonObject,
    /// The keys of input requests that a caller is sending to the client.
    pub(super) claimed: BTreeSet<String>,
    message: Option<String>,
    changes: u64,
    saved: u64,
    watchers: Vec<Waker>,
}

/// A snapshot of a detached call's pending input, which can be stored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputSnapshot {
    /// The open input requests by key, each with its method and params.
    pub requests: JsonObject,
    /// Responses to input requests, and results of memoized steps.
    pub call_state: CallState,
    /// The last status message of the handler.
    pub message: Option<String>,
    /// The number of the last change that the snapshot includes, for [`PendingInput::mark_saved`].
    pub change: u64,
}

impl DetachedState {
    /// Records a change. Returns wakers, which the caller must wake after it has released the lock.
    #[must_use]
    pub(super) fn change(&mut self) -> Vec<Waker> {
        self.changes += 1;
        std::mem::take(&mut self.watchers)
    }

    pub(super) fn watch(&mut self, cx: &Context<'_>) {
        if !self
            .watchers
            .iter()
            .any(|waker| waker.will_wake(cx.waker()))
        {
            self.watchers.push(cx.waker().clone());
        }
    }
}

impl State {
    /// Returns the reason why the call cannot send another input request; `None` if it can.
    fn no_room(&self) -> Option<String> {
        let asked = self.call_state.used.len() + self.call_state.answers.len();
        if self.open.len() >= MAX_REQUESTS {
            Some(format!(
                "{MAX_REQUESTS} input requests are open, which is the limit"
            ))
        } else if asked >= MAX_KEYS {
            Some(format!(
                "the call has sent {MAX_KEYS} input requests, which is the limit"
            ))
        } else {
            None
        }
    }

    /// Returns a key that no other input request of this call uses.
    fn fresh_key(&mut self, chosen: Option<&str>, fingerprint: &str) -> String {
        loop {
            let key = self.key(chosen, fingerprint);
            let answered = self.call_state.answers.get(&key);
            let of_another = answered.is_some_and(|(known, _)| known != fingerprint);
            if !of_another && !self.call_state.used.contains(&key) {
                return key;
            }
        }
    }
}

impl PendingInput {
    /// Creates the pending input of a detached call. If the response to an input request is invalid, the request is sent again
    /// with a new key, at most `tries` times in total.
    pub fn detached(call_state: CallState, tries: u32) -> Arc<Self> {
        let pending = Self::new(call_state, JsonObject::new());
        pending.set_detached(tries);
        pending
    }

    /// Restores the input requests that were open when the handler stopped. They are open at once, before the handler repeats
    /// them. A client may already be about to answer them, and it answers each input request only once.
    pub fn restore_requests(&self, questions: &JsonObject) {
        if let Some(live) = &mut lock(&self.0).live {
            live.earlier.clone_from(questions);
        }
    }

    /// Marks the call as detached. From now on, each input request is sent at most `tries` times. A handler that waits in
    /// [`detach`](Self::detach) continues.
    pub fn set_detached(&self, tries: u32) {
        let mut state = lock(&self.0);
        state.responses.clear();
        state.live = Some(Box::new(DetachedState {
            tries: tries.max(1),
            ..DetachedState::default()
        }));
        let gone = state.detach_state.take_waker();
        drop(state);
        if let Some(waker) = gone {
            waker.wake();
        }
    }

    /// Returns whether the call is detached.
    pub fn is_detached(&self) -> bool {
        lock(&self.0).live.is_some()
    }

    /// Adds an input request and waits for a valid response.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the input request.
    pub(crate) async fn ask_detached<T: DeserializeOwned>(
        self: &Arc<Self>,
        key: Option<&str>,
        method: &'static str,
        params: Option<Value>,
        fits: impl Fn(&T) -> Result<(), String>,
    ) -> Result<T, AskError> {
        let mut request = input_request(method, params);
        let fingerprint = fingerprint(&request);
        let original = request.clone();
        let mut tries = 1;
        loop {
            let answer = self.put(key, &fingerprint, &request).await?;
            let read = serde_json::from_value::<T>(answer.value.clone())
                .map_err(|error| error.to_string())
                .and_then(|read| fits(&read).map(|()| read));
            let problem = match read {
                Ok(read) => {
                    self.keep(answer, &fingerprint);
                    return Ok(read);
                }
                Err(problem) => problem,
            };
            self.retire(answer.key);
            let most = lock(&self.0).live.as_ref().map_or(1, |live| live.tries);
            if tries >= most {
                return Err(AskError::BadAnswer(problem));
            }
            tries += 1;
            request = with_problem(&original, &problem);
        }
    }

    /// Adds an input request and waits for its response, which may be invalid.
    fn put<'a>(
        self: &'a Arc<Self>,
        chosen: Option<&'a str>,
        fingerprint: &'a str,
        request: &'a Value,
    ) -> impl Future<Output = Result<Response, AskError>> + 'a {
        let mut asking = Asking {
            pending: self,
            key: None,
        };
        poll_fn(move |cx| {
            let mut state = lock(&self.0);
            let Some(key) = &asking.key else {
                let key = state.fresh_key(chosen, fingerprint);
                if let Some((_, value)) = state.call_state.answers.get(&key) {
                    let value = value.clone();
                    return Poll::Ready(Ok(Response { key, value }));
                }
                if let Some(value) = state.call_state.unread.remove(&key) {
                    return Poll::Ready(Ok(Response { key, value }));
                }
                let live = state.live.as_mut();
                if let Some(error) = live.and_then(|live| live.refused.remove(&key)) {
                    drop(state);
                    self.retire(key);
                    return Poll::Ready(Err(AskError::Rejected(error)));
                }
                if let Some(problem) = state.no_room() {
                    return Poll::Ready(Err(AskError::Invalid(problem)));
                }
                state.open.insert(key.clone(), request.clone());
                let wake = state.live.as_mut().map(|live| {
                    live.earlier.shift_remove(&key);
                    live.asking.insert(key.clone(), cx.waker().clone());
                    live.change()
                });
                drop(state);
                asking.key = Some(key);
                wake.into_iter().flatten().for_each(Waker::wake);
                return Poll::Pending;
            };
            if let Some(value) = state.call_state.unread.remove(key) {
                let key = asking.key.take().unwrap_or_default();
                return Poll::Ready(Ok(Response { key, value }));
            }
            if let Some(live) = &mut state.live {
                if let Some(error) = live.refused.remove(key) {
                    let key = asking.key.take().unwrap_or_default();
                    drop(state);
                    self.retire(key);
                    return Poll::Ready(Err(AskError::Rejected(error)));
                }
                live.asking.insert(key.clone(), cx.waker().clone());
            }
            Poll::Pending
        })
    }

    /// Stores a valid response, so that a later run of the handler receives it.
    fn keep(&self, answer: Response, fingerprint: &str) {
        let entry = (fingerprint.to_owned(), answer.value);
        self.changing(|state| state.call_state.answers.insert(answer.key, entry));
    }

    /// Removes the response with this key, and reserves the key, so that no later input request uses it.
    fn retire(&self, key: String) {
        self.changing(|state| {
            state.call_state.answers.remove(&key);
            state.call_state.used.insert(key)
        });
    }

    /// Changes the state, and notifies the watchers if the call is detached.
    pub(super) fn changing<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock(&self.0);
        let made = change(&mut state);
        let wake = state.live.as_mut().map(|live| live.change());
        drop(state);
        wake.into_iter().flatten().for_each(Waker::wake);
        made
    }

    /// Delivers the response of the input request with this key. Returns `false` if this input request is not open.
    pub fn deliver(&self, key: &str, answer: Result<Value, ErrorObject>) -> bool {
        let mut state = lock(&self.0);
        let State {
            open,
            call_state,
            live: Some(live),
            ..
        } = &mut *state
        else {
            return false;
        };
        let earlier = live.earlier.shift_remove(key);
        if open.shift_remove(key).or(earlier).is_none() {
            return false;
        }
        match answer {
            Ok(value) => {
                call_state.unread.insert(key.to_owned(), value);
            }
            Err(error) => {
                live.refused.insert(key.to_owned(), error);
            }
        }
        let asking = live.asking.remove(key);
        let wake = live.change();
        drop(state);
        wake.into_iter().chain(asking).for_each(Waker::wake);
        true
    }

    /// Sets the status message. Returns `false` if the call is not detached.
    pub fn set_status(&self, message: &str) -> bool {
        if !self.is_detached() {
            return false;
        }
        self.changing(|state| {
            if let Some(live) = &mut state.live {
                live.message = Some(message.to_owned());
            }
        });
        true
    }

    /// Waits until the number of the last change differs from `seen`, and returns this number.
    ///
    /// # Cancel safety
    /// The future can be dropped at any time.
    pub fn changed(&self, seen: u64) -> impl Future<Output = u64> + Send + '_ {
        poll_fn(move |cx| match &mut lock(&self.0).live {
            Some(live) if live.changes != seen => Poll::Ready(live.changes),
            Some(live) => {
                live.watch(cx);
                Poll::Pending
            }
            None => Poll::Pending,
        })
    }

    /// Returns a snapshot that can be stored.
    pub fn snapshot(&self) -> InputSnapshot {
        let state = lock(&self.0);
        let live = state.live.as_ref();
        let mut requests = live.map(|live| live.earlier.clone()).unwrap_or_default();
        requests.append(&mut state.open.clone());
        InputSnapshot {
            requests,
            call_state: state.call_state.clone(),
            message: live.and_then(|live| live.message.clone()),
            change: live.map_or(0, |live| live.changes),
        }
    }

    /// Reports that all changes up to this number are stored.
    pub fn mark_saved(&self, number: u64) {
        let mut state = lock(&self.0);
        let Some(live) = &mut state.live else { return };
        live.saved = live.saved.max(number);
        let wake = std::mem::take(&mut live.watchers);
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }

    /// Waits until all changes so far are stored. Returns at once if the call is not detached.
    ///
    /// # Cancel safety
    /// The future can be dropped at any time.
    pub fn wait_saved(&self) -> impl Future<Output = ()> + Send + '_ {
        let until = lock(&self.0).live.as_ref().map_or(0, |live| live.changes);
        poll_fn(move |cx| match &mut lock(&self.0).live {
            Some(live) if live.saved < until => {
                live.watch(cx);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        })
    }
}

/// A response that has not been decoded yet.
struct Response {
    key: String,
    value: Value,
}

/// A guard for an input request that waits for its response. Dropping the guard withdraws the input request.
struct Asking<'a> {
    pending: &'a PendingInput,
    key: Option<String>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        self.pending.changing(|state| {
            state.open.shift_remove(&key);
            state.call_state.unread.remove(&key);
            if let Some(live) = &mut state.live {
                live.asking.remove(&key);
                live.refused.remove(&key);
            }
            state.call_state.used.insert(key)
        });
    }
}
