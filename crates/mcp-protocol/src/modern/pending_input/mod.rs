//! The questions and answers of one call, where each round of them takes a request of its own.
//!
//! A handler is run from the start in each round. What was answered in an earlier round is
//! answered at once; the first question that was not makes the run stop, and the client is asked.
//! A call that has outlived its request has no rounds: its handler waits, and its pending input is
//! [live](PendingInput::detached).
//!
//! Specification: [multi round-trip requests][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

mod claimed;
mod detach;
mod detached;
mod suspend;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_types::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sync::lock;
use detach::DetachState;
use detached::DetachedState;

pub use claimed::ClaimedInputRequest;
pub use detach::DetachOutcome;
pub use detached::InputSnapshot;
pub use suspend::SuspendableHandler;

/// Questions that one round may ask.
const MAX_REQUESTS: usize = 32;
/// Rounds that one call may take.
const MAX_ROUND_TRIPS: u32 = 8;

/// What is kept from one round to the next; it travels through the client, sealed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallState {
    /// How many rounds there were.
    #[serde(rename = "r")]
    round: u32,
    /// What was answered, with the mark of the question.
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, (String, Value)>,
    /// What was done once, and what came of it.
    #[serde(rename = "n", default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, Value>,
    /// What was asked last.
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
    /// What was answered and not yet read.
    #[serde(rename = "g", default, skip_serializing_if = "BTreeMap::is_empty")]
    given: BTreeMap<String, Value>,
    /// Keys that no question gets any more.
    #[serde(rename = "s", default, skip_serializing_if = "BTreeSet::is_empty")]
    spent: BTreeSet<String>,
}

/// Why a round cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PendingInputError {
    /// Too many rounds for one call.
    Rounds(u32),
    /// Too many questions in one round.
    Questions(usize),
    /// The questions of the last round were answered, but the handler asked others instead.
    Changed,
}

impl fmt::Display for PendingInputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds(limit) => write!(f, "the call took more than {limit} rounds of questions"),
            Self::Questions(limit) => {
                write!(f, "the call asked more than {limit} questions at once")
            }
            Self::Changed => f.write_str(
                "the handler asks other questions than before; \
                 they may depend only on its arguments and on earlier answers",
            ),
        }
    }
}

impl std::error::Error for PendingInputError {}

/// A run that stopped to ask.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputRequired {
    /// The questions: by key, each with its method and params.
    pub requests: JsonObject,
    /// What the next round needs to know, if anything.
    pub call_state: Option<CallState>,
}

/// The questions and answers of one call.
pub struct PendingInput(Mutex<State>);

struct State {
    recorded: CallState,
    /// What this request brings.
    responses: JsonObject,
    /// Questions without an answer.
    open: JsonObject,
    /// How often each question was asked in this run.
    asked: BTreeMap<String, u32>,
    /// Whether an answer that this request brings was used.
    advanced: bool,
    /// How much is being done that must not be done twice.
    working: usize,
    run: Option<Waker>,
    failed: Option<PendingInputError>,
    leaving: DetachState,
    live: Option<Box<DetachedState>>,
}

impl PendingInput {
    /// The pending input of a call in a round with these responses.
    pub fn new(recorded: CallState, responses: JsonObject) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            recorded,
            responses,
            open: JsonObject::new(),
            asked: BTreeMap::new(),
            advanced: false,
            working: 0,
            run: None,
            failed: None,
            leaving: DetachState::default(),
            live: None,
        })))
    }

    /// Asks, and completes with what `read` makes of the answer. Without an answer, or with one
    /// that `read` refuses, it does not complete in this round: [`SuspendableHandler`] ends the run.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub(crate) fn ask<T>(
        self: &Arc<Self>,
        key: Option<&str>,
        method: &'static str,
        params: Option<Value>,
        read: impl Fn(Value) -> Option<T> + Send,
    ) -> impl Future<Output = T> + Send
    where
        T: Send,
    {
        let mut request = json!({ "method": method });
        if let Some(params) = params {
            request["params"] = params;
        }
        let mark = mark(&request);
        let mut asking = Asking {
            pending: Arc::clone(self),
            key: None,
        };
        let name = key.map(str::to_owned);
        poll_fn(move |_| {
            if asking.key.is_some() {
                return Poll::Pending;
            }
            let mut state = lock(&asking.pending.0);
            let key = state.key(name.as_deref(), &mark);
            if let Some(answer) = state.answer(&key, &mark, &read) {
                return Poll::Ready(answer);
            }
            let run = state.open(key.clone(), request.clone());
            drop(state);
            asking.key = Some(key);
            if let Some(run) = run {
                run.wake();
            }
            Poll::Pending
        })
    }

    /// What was done under this key in an earlier round.
    pub fn step_result(&self, key: &str) -> Option<Value> {
        lock(&self.0).recorded.notes.get(key).cloned()
    }

    /// Something begins that must not be done twice: the run does not stop before it has ended.
    pub fn begin_step(self: &Arc<Self>) -> RunningStep {
        lock(&self.0).working += 1;
        RunningStep(Arc::clone(self))
    }

    /// Whether the run has to stop.
    fn stopped(&self, cx: &Context<'_>) -> Option<Result<InputRequired, PendingInputError>> {
        let mut state = lock(&self.0);
        if state.open.is_empty() || state.working > 0 {
            state.run = Some(cx.waker().clone());
            return None;
        }
        Some(state.required())
    }
}

impl State {
    /// Under which key a question is known: the one its handler gave, else one made from its
    /// text, so that an answer cannot be taken for that of another question.
    fn key(&mut self, given: Option<&str>, mark: &str) -> String {
        let name = given.unwrap_or(mark);
        let times = self.asked.entry(name.to_owned()).or_insert(0);
        *times += 1;
        match *times {
            1 => name.to_owned(),
            again => format!("{name}-{again}"),
        }
    }

    fn answer<T>(
        &mut self,
        key: &str,
        mark: &str,
        read: &impl Fn(Value) -> Option<T>,
    ) -> Option<T> {
        if let Some((known, value)) = self.recorded.answers.get(key)
            && known == mark
            && let Some(answer) = read(value.clone())
        {
            return Some(answer);
        }
        let value = self.responses.get(key)?.clone();
        let answer = read(value.clone())?;
        self.responses.remove(key);
        self.recorded
            .answers
            .insert(key.to_owned(), (mark.to_owned(), value));
        self.advanced = true;
        Some(answer)
    }

    fn open(&mut self, key: String, request: Value) -> Option<Waker> {
        if self.open.len() == MAX_REQUESTS {
            self.failed = Some(PendingInputError::Questions(MAX_REQUESTS));
        } else {
            self.open.insert(key, request);
        }
        self.run.take()
    }

    fn required(&mut self) -> Result<InputRequired, PendingInputError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let asked_before = &self.recorded.open;
        let answered = |key: &String| self.responses.contains_key(key);
        let ignored = asked_before.iter().any(answered);
        let again = self.open.keys().any(|key| asked_before.contains(key));
        if ignored && !again && !self.advanced {
            return Err(PendingInputError::Changed);
        }
        let mut recorded = std::mem::take(&mut self.recorded);
        recorded.round += 1;
        if recorded.round > MAX_ROUND_TRIPS {
            return Err(PendingInputError::Rounds(MAX_ROUND_TRIPS));
        }
        recorded.open = self.open.keys().cloned().collect();
        let needed = !recorded.answers.is_empty() || !recorded.notes.is_empty();
        Ok(InputRequired {
            requests: std::mem::take(&mut self.open),
            call_state: needed.then_some(recorded),
        })
    }
}

impl fmt::Debug for PendingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.0);
        f.debug_struct("PendingInput")
            .field("round", &state.recorded.round)
            .field("open", &state.open.len())
            .finish_non_exhaustive()
    }
}

/// A question that waits; withdrawn on drop.
struct Asking {
    pending: Arc<PendingInput>,
    key: Option<String>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            lock(&self.pending.0).open.remove(key);
        }
    }
}

/// Something is being done that must not be done twice.
#[derive(Debug)]
pub struct RunningStep(Arc<PendingInput>);

impl RunningStep {
    /// It is done; later rounds get this instead.
    pub fn complete(self, key: &str, value: Value) {
        let key = key.to_owned();
        self.0
            .changing(|state| state.recorded.notes.insert(key, value));
    }
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        let run = {
            let mut state = lock(&self.0.0);
            state.working -= 1;
            (!state.open.is_empty()).then(|| state.run.take()).flatten()
        };
        if let Some(run) = run {
            run.wake();
        }
    }
}

/// A mark of a question: the same for the same text, on every machine and in every version. It
/// tells questions of one server apart, and guards against nobody.
fn mark(question: &Value) -> String {
    // FNV-1a, 128 bits.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in question.to_string().bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("q{:016x}", (hash ^ (hash >> 64)) & u128::from(u64::MAX))
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals are handed over")]
mod tests;
