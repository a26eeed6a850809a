//! Questions of a live ledger that are put to the client one by one, as requests.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use mcp_jsonrpc::ErrorObject;
use serde_json::Value;

use super::{Ledger, State};
use crate::lock;

impl Ledger {
    /// Takes a question that is open and that nobody is putting to the client yet.
    pub fn claim(self: &Arc<Self>) -> Option<Question> {
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
        Some(Question {
            key: key.clone(),
            request: request.clone(),
            ledger: Arc::clone(self),
        })
    }
}

/// A question that is being put to the client; given back on drop, unless it was answered.
pub struct Question {
    key: String,
    request: Value,
    ledger: Arc<Ledger>,
}

impl Question {
    /// Its method.
    pub fn method(&self) -> &str {
        self.request["method"].as_str().unwrap_or_default()
    }

    /// Its params.
    pub fn params(&self) -> Option<&Value> {
        self.request.get("params")
    }

    /// Delivers the answer.
    pub fn answer(self, answer: Result<Value, ErrorObject>) {
        self.ledger.deliver(&self.key, answer);
    }

    /// Completes when nobody wants the answer any more.
    ///
    /// # Cancel safety
    /// It is.
    pub fn withdrawn(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(move |cx| {
            let mut state = lock(&self.ledger.0);
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

impl Drop for Question {
    fn drop(&mut self) {
        let mut state = lock(&self.ledger.0);
        let Some(live) = &mut state.live else { return };
        live.claimed.remove(&self.key);
        let wake = live.change();
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Question").field(&self.key).finish()
    }
}
