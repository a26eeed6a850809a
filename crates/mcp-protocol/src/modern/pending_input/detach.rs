//! Detaching: a handler leaves its request and continues as a task.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use mcp_jsonrpc::ErrorObject;

use super::PendingInput;
use crate::sync::lock;
use crate::{BoxFuture, Outcome};

/// A function that takes over a handler that detaches.
pub(super) type DetachFn =
    Box<dyn FnMut(BoxFuture<'static, Outcome>) -> BoxFuture<'static, DetachOutcome> + Send>;

/// The outcome of an attempt to detach.
#[expect(
    clippy::exhaustive_enums,
    reason = "a handler is detached or it is not"
)]
pub enum DetachOutcome {
    /// The handler was taken over and continues without the request. The value is the response to the request.
    Detached(Outcome),
    /// The handler was not taken over. It continues as part of its request, and receives this error.
    Refused(BoxFuture<'static, Outcome>, ErrorObject),
}

impl std::fmt::Debug for DetachOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Detached(outcome) => f.debug_tuple("Detached").field(outcome).finish(),
            Self::Refused(_, why) => f.debug_tuple("Refused").field(why).finish(),
        }
    }
}

/// The progress of detaching a handler from its request.
#[derive(Default)]
pub(super) struct DetachState {
    /// Whether the call supports detaching.
    possible: bool,
    wanted: Option<Waker>,
    refused: Option<ErrorObject>,
}

impl DetachState {
    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.wanted.take()
    }
}

impl PendingInput {
    pub(super) fn allow_detach(&self) {
        lock(&self.0).detach_state.possible = true;
    }

    pub(super) fn wants_to_detach(&self) -> bool {
        lock(&self.0).detach_state.wanted.is_some()
    }

    pub(super) fn refuse_detach(&self, why: ErrorObject) {
        let mut state = lock(&self.0);
        state.detach_state.refused = Some(why);
        if let Some(waker) = state.detach_state.wanted.take() {
            waker.wake();
        }
    }

    /// Detaches the handler from its request and completes when the handler runs without the request.
    /// Completes at once if the call is already detached, or does not support detaching.
    ///
    /// # Errors
    /// The handler was not taken over. It continues as part of its request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect, unless the handler is already being detached.
    pub fn detach(&self) -> impl Future<Output = Result<(), ErrorObject>> + Send + '_ {
        poll_fn(move |cx| {
            let mut state = lock(&self.0);
            if state.live.is_some() || !state.detach_state.possible {
                return Poll::Ready(Ok(()));
            }
            if let Some(why) = state.detach_state.refused.take() {
                return Poll::Ready(Err(why));
            }
            state.detach_state.wanted = Some(cx.waker().clone());
            let run = state.run.take();
            drop(state);
            if let Some(run) = run {
                run.wake();
            }
            Poll::Pending
        })
    }
}
