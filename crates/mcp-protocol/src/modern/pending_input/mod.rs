//! The pending input requests of one call, and their responses.
//!
//! On the stateless revision, each round trip of a call is a separate request, and in each round trip the handler runs from its
//! start. If an earlier round trip answered an input request, the handler gets the response at once. The first unanswered input
//! request stops the handler. The result then asks the client for input. A [detached](PendingInput::detached) call has no round
//! trips: its handler waits for the response.
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

/// Maximum number of input requests in one round trip.
const MAX_REQUESTS: usize = 32;
/// Maximum number of round trips of one call.
const MAX_ROUND_TRIPS: u32 = 8;

/// The state of a call between two round trips. The client receives the encrypted state and returns it with the next request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallState {
    /// Number of round trips so far.
    #[serde(rename = "r")]
    round_trips: u32,
    /// Responses by key, each with the fingerprint of its input request.
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, (String, Value)>,
    /// Results of memoized steps, by key.
    #[serde(rename = "n", default, skip_serializing_if = "BTreeMap::is_empty")]
    steps: BTreeMap<String, Value>,
    /// Keys of the input requests that the last round trip sent.
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
    /// Responses that the handler has not read yet, by key.
    #[serde(rename = "g", default, skip_serializing_if = "BTreeMap::is_empty")]
    unread: BTreeMap<String, Value>,
    /// Keys that later input requests must not use.
    #[serde(rename = "s", default, skip_serializing_if = "BTreeSet::is_empty")]
    used: BTreeSet<String>,
}

/// The reason why a round trip has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PendingInputError {
    /// The call has too many round trips.
    RoundTrips(u32),
    /// The call has too many round trips, and the last response was invalid. The text says why.
    Unfit(u32, String),
    /// The round trip has too many input requests.
    Requests(usize),
    /// The client answered the last input requests, but the handler then sent other input requests instead of reading the
    /// responses.
    Changed,
}

impl fmt::Display for PendingInputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrips(limit) => write!(f, "the call took more than {limit} round trips"),
            Self::Unfit(limit, problem) => write!(
                f,
                "the call took more than {limit} round trips; the last response of the client does \
                 not match the request: {problem}"
            ),
            Self::Requests(limit) => {
                write!(f, "the call sent more than {limit} input requests at once")
            }
            Self::Changed => f.write_str(
                "the handler sent other input requests than in the last round trip; \
                 input requests may depend only on the arguments and on earlier responses",
            ),
        }
    }
}

impl std::error::Error for PendingInputError {}

/// The input that a stopped handler needs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputRequired {
    /// The input requests by key, each with its method and params.
    pub requests: JsonObject,
    /// The state for the next round trip, if it is not empty.
    pub call_state: Option<CallState>,
}

/// The input requests and responses of one call.
pub struct PendingInput(Mutex<State>);

struct State {
    call_state: CallState,
    /// The input responses in this request.
    responses: JsonObject,
    /// Input requests without a response.
    open: JsonObject,
    /// How often this run of the handler has used each key.
    asked: BTreeMap<String, u32>,
    /// Whether the handler has read a response from this request.
    advanced: bool,
    /// Whether a blocking handler has stopped to wait for input.
    is_stopped: bool,
    /// Number of memoized steps that are running.
    running_steps: usize,
    run: Option<Waker>,
    failed: Option<PendingInputError>,
    /// The reason why a response in this request is invalid.
    unfit: Option<String>,
    detach_state: DetachState,
    live: Option<Box<DetachedState>>,
}

impl PendingInput {
    /// Creates the pending input for one round trip. `responses` are the input responses in its request.
    pub fn new(call_state: CallState, responses: JsonObject) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            call_state,
            responses,
            open: JsonObject::new(),
            asked: BTreeMap::new(),
            advanced: false,
            is_stopped: false,
            running_steps: 0,
            run: None,
            failed: None,
            unfit: None,
            detach_state: DetachState::default(),
            live: None,
        })))
    }

    /// Adds an input request and returns its response, decoded by `read`. If there is no response, or if `read` fails, the future
    /// never completes, and [`SuspendableHandler`] stops the handler. The error of `read` is added to the message of the next
    /// input request.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the input request.
    pub(crate) fn ask<T>(
        self: &Arc<Self>,
        key: Option<&str>,
        method: &'static str,
        params: Option<Value>,
        read: impl Fn(Value) -> Result<T, String> + Send,
    ) -> impl Future<Output = T> + Send
    where
        T: Send,
    {
        let request = input_request(method, params);
        let fingerprint = fingerprint(&request);
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
            let key = state.key(name.as_deref(), &fingerprint);
            let request = match state.answer(&key, &fingerprint, &read) {
                Some(Ok(answer)) => return Poll::Ready(answer),
                Some(Err(problem)) => {
                    let request = with_problem(&request, &problem);
                    state.unfit = Some(problem);
                    request
                }
                None => request.clone(),
            };
            let run = state.open(key.clone(), request);
            drop(state);
            asking.key = Some(key);
            if let Some(run) = run {
                run.wake();
            }
            Poll::Pending
        })
    }

    /// Returns whether the response to the next input request with this key and text is already known. The response can be in
    /// this request or from an earlier round trip. If it is known, the input request is not sent.
    pub(crate) fn is_answered(
        &self,
        key: Option<&str>,
        method: &str,
        params: Option<&Value>,
    ) -> bool {
        let fingerprint = fingerprint(&input_request(method, params.cloned()));
        let state = lock(&self.0);
        let name = key.unwrap_or(&fingerprint);
        let key = key_of(name, state.asked.get(name).map_or(1, |times| times + 1));
        let known = state.call_state.answers.get(&key);
        known.is_some_and(|(known, _)| *known == fingerprint) || state.responses.contains_key(&key)
    }

    /// Returns the stored result of a memoized step.
    pub fn step_result(&self, key: &str) -> Option<Value> {
        lock(&self.0).call_state.steps.get(key).cloned()
    }

    /// Starts a memoized step. While the step runs, the handler is not stopped.
    pub fn begin_step(self: &Arc<Self>) -> RunningStep {
        lock(&self.0).running_steps += 1;
        RunningStep(Arc::clone(self))
    }

    /// Marks a blocking handler as stopped. Its input requests then stay open, although the handler has dropped their futures.
    pub fn stop_blocking(&self) {
        lock(&self.0).is_stopped = true;
    }

    /// Returns the input that a blocking handler needs, if it has stopped to wait for input.
    pub fn required_by_blocking(&self) -> Option<Result<InputRequired, PendingInputError>> {
        let mut state = lock(&self.0);
        (state.is_stopped && !state.open.is_empty()).then(|| state.required())
    }

    /// Returns the required input, or the error of an input request, if the handler waits only for responses of the client.
    /// Returns `None` if no input request is open, or if a memoized step is running.
    fn stopped(&self, cx: &Context<'_>) -> Option<Result<InputRequired, PendingInputError>> {
        let mut state = lock(&self.0);
        if state.open.is_empty() || state.running_steps > 0 {
            state.run = Some(cx.waker().clone());
            return None;
        }
        Some(state.required())
    }
}

impl State {
    /// Returns the key of an input request. This is the key that the handler chose, or otherwise a key that is derived from the
    /// request's text. With a derived key, the response cannot be used for an input request with another text.
    fn key(&mut self, chosen: Option<&str>, fingerprint: &str) -> String {
        let name = chosen.unwrap_or(fingerprint);
        let times = self.asked.entry(name.to_owned()).or_insert(0);
        *times += 1;
        key_of(name, *times)
    }

    fn answer<T>(
        &mut self,
        key: &str,
        fingerprint: &str,
        read: &impl Fn(Value) -> Result<T, String>,
    ) -> Option<Result<T, String>> {
        if let Some((known, value)) = self.call_state.answers.get(key)
            && known == fingerprint
            && let Ok(answer) = read(value.clone())
        {
            return Some(Ok(answer));
        }
        let value = self.responses.get(key)?.clone();
        let answer = match read(value.clone()) {
            Ok(answer) => answer,
            Err(problem) => return Some(Err(problem)),
        };
        self.responses.shift_remove(key);
        self.call_state
            .answers
            .insert(key.to_owned(), (fingerprint.to_owned(), value));
        self.advanced = true;
        Some(Ok(answer))
    }

    fn open(&mut self, key: String, request: Value) -> Option<Waker> {
        if self.open.len() == MAX_REQUESTS {
            self.failed = Some(PendingInputError::Requests(MAX_REQUESTS));
        } else {
            self.open.insert(key, request);
        }
        self.run.take()
    }

    fn required(&mut self) -> Result<InputRequired, PendingInputError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let asked_before = &self.call_state.open;
        let answered = |key: &String| self.responses.contains_key(key);
        let ignored = asked_before.iter().any(answered);
        let again = self.open.keys().any(|key| asked_before.contains(key));
        if ignored && !again && !self.advanced {
            return Err(PendingInputError::Changed);
        }
        let mut call_state = std::mem::take(&mut self.call_state);
        call_state.round_trips += 1;
        if call_state.round_trips > MAX_ROUND_TRIPS {
            return Err(match self.unfit.take() {
                Some(problem) => PendingInputError::Unfit(MAX_ROUND_TRIPS, problem),
                None => PendingInputError::RoundTrips(MAX_ROUND_TRIPS),
            });
        }
        call_state.open = self.open.keys().cloned().collect();
        // After an invalid response, the state is needed because it counts the round trips, which are limited.
        let needed =
            !call_state.answers.is_empty() || !call_state.steps.is_empty() || self.unfit.is_some();
        Ok(InputRequired {
            requests: std::mem::take(&mut self.open),
            call_state: needed.then_some(call_state),
        })
    }
}

impl fmt::Debug for PendingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.0);
        f.debug_struct("PendingInput")
            .field("round", &state.call_state.round_trips)
            .field("open", &state.open.len())
            .finish_non_exhaustive()
    }
}

/// A guard for an input request that waits for its response. Dropping the guard withdraws the input request.
struct Asking {
    pending: Arc<PendingInput>,
    key: Option<String>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            let mut state = lock(&self.pending.0);
            if !state.is_stopped {
                state.open.shift_remove(key);
            }
        }
    }
}

/// A guard for a running memoized step. While it exists, the handler is not stopped.
#[derive(Debug)]
pub struct RunningStep(Arc<PendingInput>);

impl RunningStep {
    /// Stores the result of the step. Later runs of the handler receive the result instead of running the step again.
    pub fn complete(self, key: &str, value: Value) {
        let key = key.to_owned();
        self.0
            .changing(|state| state.call_state.steps.insert(key, value));
    }
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        let run = {
            let mut state = lock(&self.0.0);
            state.running_steps -= 1;
            (!state.open.is_empty()).then(|| state.run.take()).flatten()
        };
        if let Some(run) = run {
            run.wake();
        }
    }
}

fn input_request(method: &str, params: Option<Value>) -> Value {
    let mut request = json!({ "method": method });
    if let Some(params) = params {
        request["params"] = params;
    }
    request
}

/// Returns the elicitation request with a longer message, which also says why the last response is invalid.
fn with_problem(request: &Value, problem: &str) -> Value {
    let mut request = request.clone();
    if let Some(Value::String(message)) = request.pointer_mut("/params/message") {
        message.push_str("\n\nThe last answer does not fit: ");
        message.push_str(problem);
    }
    request
}

fn key_of(name: &str, times: u32) -> String {
    match times {
        1 => name.to_owned(),
        again => format!("{name}-{again}"),
    }
}

/// Returns the fingerprint of an input request. Equal texts have equal fingerprints on every machine and in every version. The
/// fingerprint distinguishes the input requests of one server. It is not a security feature.
fn fingerprint(request: &Value) -> String {
    // FNV-1a, 128 bits.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in request.to_string().bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("q{:016x}", (hash ^ (hash >> 64)) & u128::from(u64::MAX))
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
mod tests;
