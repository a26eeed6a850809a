//! The pending input of a call that outlives its request: its handler waits for answers where it is.
//!
//! A question opens an entry, an answer closes it and wakes who asked. Who runs the handler
//! watches for [changes](PendingInput::changed), keeps each [`InputSnapshot`], and says so; what must not
//! be lost waits for that.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::ErrorObject;
use mcp_types::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CallState, MAX_REQUESTS, PendingInput, State, mark};
use crate::AskError;
use crate::sync::lock;

/// Questions that one call may ask in all.
const MAX_KEYS: usize = 1_024;

/// What a live pending input has beside what every pending input has.
#[derive(Default)]
pub(super) struct DetachedState {
    /// How often a question is asked until its answer fits.
    tries: u32,
    /// Refusals that nobody has taken yet.
    refused: BTreeMap<String, ErrorObject>,
    /// Who asked, by key.
    asking: BTreeMap<String, Waker>,
    /// Questions of an earlier run that the handler has not come to again.
    earlier: JsonObject,
    /// Questions that somebody is putting to the client.
    pub(super) claimed: BTreeSet<String>,
    message: Option<String>,
    changes: u64,
    saved: u64,
    watchers: Vec<Waker>,
}

/// What there is to keep of a live pending input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputSnapshot {
    /// The questions that are open: by key, each with its method and params.
    pub requests: JsonObject,
    /// Answers and notes.
    pub call_state: CallState,
    /// What the handler last said of its state.
    pub message: Option<String>,
    /// Up to which change that is; for [`PendingInput::saved`].
    pub change: u64,
}

impl DetachedState {
    /// Takes note of a change; whoever is returned has to be woken once the lock is gone.
    #[must_use]
    pub(super) fn change(&mut self) -> Vec<Waker> {
        self.changes += 1;
        std::mem::take(&mut self.watchers)
    }

    pub(super) fn watch(&mut self, cx: &Context<'_>) {
        if !self.watchers.iter().any(|it| it.will_wake(cx.waker())) {
            self.watchers.push(cx.waker().clone());
        }
    }
}

impl State {
    /// Why no other question can be asked, if none can.
    fn no_room(&self) -> Option<String> {
        let asked = self.recorded.spent.len() + self.recorded.answers.len();
        if self.open.len() >= MAX_REQUESTS {
            Some(format!("{MAX_REQUESTS} questions are open, the limit"))
        } else if asked >= MAX_KEYS {
            Some(format!("{MAX_KEYS} questions were asked, the limit"))
        } else {
            None
        }
    }

    /// A key for a question that no other question of this call has or had.
    fn fresh_key(&mut self, given: Option<&str>, mark: &str) -> String {
        loop {
            let key = self.key(given, mark);
            let answered = self.recorded.answers.get(&key);
            let of_another = answered.is_some_and(|(known, _)| known != mark);
            if !of_another && !self.recorded.spent.contains(&key) {
                return key;
            }
        }
    }
}

impl PendingInput {
    /// The pending input of a call that runs without a request. A question whose answer does not fit is
    /// asked at most `tries` times, under another key each.
    pub fn detached(recorded: CallState, tries: u32) -> Arc<Self> {
        let pending = Self::new(recorded, JsonObject::new());
        pending.set_detached(tries);
        pending
    }

    /// These questions were open when the handler stopped that is now run again. They count as open:
    /// clients answer a question once, and may do so before the handler has come to it.
    pub fn restore_requests(&self, questions: &JsonObject) {
        if let Some(live) = &mut lock(&self.0).live {
            live.earlier.clone_from(questions);
        }
    }

    /// From here on the call runs without a request. Whoever [leaves](PendingInput::detach) goes on.
    pub fn set_detached(&self, tries: u32) {
        let mut state = lock(&self.0);
        state.responses.clear();
        state.live = Some(Box::new(DetachedState {
            tries: tries.max(1),
            ..DetachedState::default()
        }));
        let gone = state.leaving.take_waker();
        drop(state);
        if let Some(waker) = gone {
            waker.wake();
        }
    }

    /// Whether the call runs without a request.
    pub fn is_detached(&self) -> bool {
        lock(&self.0).live.is_some()
    }

    /// Asks in a live pending input, and waits where it is.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub(crate) async fn ask_detached<T: DeserializeOwned>(
        self: &Arc<Self>,
        key: Option<&str>,
        method: &'static str,
        params: Option<Value>,
        fits: impl Fn(&T) -> Result<(), String>,
    ) -> Result<T, AskError> {
        let mut request = json!({ "method": method });
        if let Some(params) = params {
            request["params"] = params;
        }
        let mark = mark(&request);
        let mut tries = 1;
        loop {
            let answer = self.put(key, &mark, &request).await?;
            let read = serde_json::from_value::<T>(answer.value.clone())
                .map_err(|error| error.to_string())
                .and_then(|read| fits(&read).map(|()| read));
            let problem = match read {
                Ok(read) => {
                    self.keep(answer, &mark);
                    return Ok(read);
                }
                Err(problem) => problem,
            };
            self.spend(answer.key);
            let most = lock(&self.0).live.as_ref().map_or(1, |live| live.tries);
            if tries >= most {
                return Err(AskError::BadAnswer(problem));
            }
            tries += 1;
        }
    }

    /// Opens a question and waits for whatever answer.
    fn put<'a>(
        self: &'a Arc<Self>,
        given: Option<&'a str>,
        mark: &'a str,
        request: &'a Value,
    ) -> impl Future<Output = Result<Given, AskError>> + 'a {
        let mut asking = Asking {
            pending: self,
            key: None,
        };
        poll_fn(move |cx| {
            let mut state = lock(&self.0);
            let Some(key) = &asking.key else {
                let key = state.fresh_key(given, mark);
                if let Some((_, value)) = state.recorded.answers.get(&key) {
                    let value = value.clone();
                    return Poll::Ready(Ok(Given { key, value }));
                }
                if let Some(value) = state.recorded.given.remove(&key) {
                    return Poll::Ready(Ok(Given { key, value }));
                }
                let live = state.live.as_mut();
                if let Some(error) = live.and_then(|live| live.refused.remove(&key)) {
                    drop(state);
                    self.spend(key);
                    return Poll::Ready(Err(AskError::Rejected(error)));
                }
                if let Some(problem) = state.no_room() {
                    return Poll::Ready(Err(AskError::Invalid(problem)));
                }
                state.open.insert(key.clone(), request.clone());
                let wake = state.live.as_mut().map(|live| {
                    live.earlier.remove(&key);
                    live.asking.insert(key.clone(), cx.waker().clone());
                    live.change()
                });
                drop(state);
                asking.key = Some(key);
                wake.into_iter().flatten().for_each(Waker::wake);
                return Poll::Pending;
            };
            if let Some(value) = state.recorded.given.remove(key) {
                let key = asking.key.take().unwrap_or_default();
                return Poll::Ready(Ok(Given { key, value }));
            }
            if let Some(live) = &mut state.live {
                if let Some(error) = live.refused.remove(key) {
                    let key = asking.key.take().unwrap_or_default();
                    drop(state);
                    self.spend(key);
                    return Poll::Ready(Err(AskError::Rejected(error)));
                }
                live.asking.insert(key.clone(), cx.waker().clone());
            }
            Poll::Pending
        })
    }

    /// An answer that fits, for later runs.
    fn keep(&self, answer: Given, mark: &str) {
        let entry = (mark.to_owned(), answer.value);
        self.changing(|state| state.recorded.answers.insert(answer.key, entry));
    }

    /// A key that is not used again.
    fn spend(&self, key: String) {
        self.changing(|state| {
            state.recorded.answers.remove(&key);
            state.recorded.spent.insert(key)
        });
    }

    /// Changes the state and tells the watchers, if the pending input is live.
    pub(super) fn changing<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock(&self.0);
        let made = change(&mut state);
        let wake = state.live.as_mut().map(|live| live.change());
        drop(state);
        wake.into_iter().flatten().for_each(Waker::wake);
        made
    }

    /// Answers the question of this key; `false` if there is none that is open. What the client
    /// refuses to answer is an error.
    pub fn deliver(&self, key: &str, answer: Result<Value, ErrorObject>) -> bool {
        let mut state = lock(&self.0);
        let State {
            open,
            recorded,
            live: Some(live),
            ..
        } = &mut *state
        else {
            return false;
        };
        let earlier = live.earlier.remove(key);
        if open.remove(key).or(earlier).is_none() {
            return false;
        }
        match answer {
            Ok(value) => {
                recorded.given.insert(key.to_owned(), value);
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

    /// Says what the handler is about; `false` if the call has a request, which has no place for
    /// that.
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

    /// Completes with the number of the last change, once that is not `seen` any more.
    ///
    /// # Cancel safety
    /// It is.
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

    /// What there is to keep.
    pub fn snapshot(&self) -> InputSnapshot {
        let state = lock(&self.0);
        let live = state.live.as_ref();
        let mut requests = live.map(|live| live.earlier.clone()).unwrap_or_default();
        requests.append(&mut state.open.clone());
        InputSnapshot {
            requests,
            call_state: state.recorded.clone(),
            message: live.and_then(|live| live.message.clone()),
            change: live.map_or(0, |live| live.changes),
        }
    }

    /// Everything up to this change is kept.
    pub fn mark_saved(&self, number: u64) {
        let mut state = lock(&self.0);
        let Some(live) = &mut state.live else { return };
        live.saved = live.saved.max(number);
        let wake = std::mem::take(&mut live.watchers);
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }

    /// Completes once everything that happened until now is kept; at once where nothing is.
    ///
    /// # Cancel safety
    /// It is.
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

/// An answer, before anybody has read it.
struct Given {
    key: String,
    value: Value,
}

/// A question that waits; withdrawn on drop.
struct Asking<'a> {
    pending: &'a PendingInput,
    key: Option<String>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        self.pending.changing(|state| {
            state.open.remove(&key);
            state.recorded.given.remove(&key);
            if let Some(live) = &mut state.live {
                live.asking.remove(&key);
                live.refused.remove(&key);
            }
            state.recorded.spent.insert(key)
        });
    }
}
