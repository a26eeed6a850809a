//! Input requests of a detached call that are sent to a client of a session-based revision, as server requests.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use mcp_jsonrpc::ErrorObject;
use serde_json::Value;

use super::{PendingInput, State};
use crate::sync::lock;

impl PendingInput {
    /// Reserves an open input request for the caller, which sends it to the client. Returns `None` if no input request is open,
    /// or if all open input requests are already reserved.
    pub fn claim_request(self: &Arc<Self>) -> Option<ClaimedInputRequest> {
        let mut state = lock(&self.0);
        let State {
            open,
            live: Some(live),
            ..
        } = &mut *state
        else {
            return None;
        };
        let (key, request) = open.iter().find(|(key, _)| !live.claimed.contains(*key))?;
        live.claimed.insert(key.clone());
        Some(ClaimedInputRequest {
            key: key.clone(),
            request: request.clone(),
            pending: Arc::clone(self),
        })
    }
}

/// An input request that its owner is sending to the client. If the value is dropped without an answer, another caller can send
/// the input request.
pub struct ClaimedInputRequest {
    key: String,
    request: Value,
    pending: Arc<PendingInput>,
}

impl ClaimedInputRequest {
    /// Returns the method of the input request.
    pub fn method(&self) -> &str {
        self.request["method"].as_str().unwrap_or_default()
    }

    /// Returns the params of the input request.
    pub fn params(&self) -> Option<&Value> {
        self.request.get("params")
    }

    /// Delivers the client's response to the handler.
    pub fn answer(self, answer: Result<Value, ErrorObject>) {
        self.pending.deliver(&self.key, answer);
    }

    /// Completes when the handler has withdrawn the input request.
    ///
    /// # Cancel safety
    /// The future can be dropped at any time.
    pub fn withdrawn(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(move |cx| {
            let mut state = lock(&self.pending.0);
            if !state.open.contains_key(&self.key) {
                return Poll::Ready(());
            }
            if let Some(live) = &mut state.live {
                live.watch(cx);
            }
            Poll::Pending
        })
    }
}

impl Drop for ClaimedInputRequest {
    fn drop(&mut self) {
        let mut state = lock(&self.pending.0);
        let Some(live) = &mut state.live else { return };
        live.claimed.remove(&self.key);
        let wake = live.change();
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for ClaimedInputRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClaimedInputRequest")
            .field(&self.key)
            .finish()
    }
}
