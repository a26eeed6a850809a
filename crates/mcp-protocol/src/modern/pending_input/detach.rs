//! How a handler leaves the request that it was called for, to go on without one.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use mcp_jsonrpc::ErrorObject;

use super::PendingInput;
use crate::sync::lock;
use crate::{BoxFuture, Outcome};

/// What takes a handler that leaves.
pub(super) type DetachFn =
    Box<dyn FnMut(BoxFuture<'static, Outcome>) -> BoxFuture<'static, DetachOutcome> + Send>;

/// What became of a handler that wanted to leave.
#[expect(clippy::exhaustive_enums, reason = "it has left or it has not")]
pub enum DetachOutcome {
    /// It is taken care of; this answers the request.
    Detached(Outcome),
    /// It goes on where it is, and hears why.
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

/// Whether a handler leaves.
#[derive(Default)]
pub(super) struct DetachState {
    /// Whether there is somebody to take it.
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
        lock(&self.0).leaving.possible = true;
    }

    pub(super) fn wants_to_detach(&self) -> bool {
        lock(&self.0).leaving.wanted.is_some()
    }

    pub(super) fn refuse_detach(&self, why: ErrorObject) {
        let mut state = lock(&self.0);
        state.leaving.refused = Some(why);
        if let Some(waker) = state.leaving.wanted.take() {
            waker.wake();
        }
    }

    /// Leaves the request: completes when the handler runs without one. Where it does so already,
    /// or where nobody takes it, it completes at once.
    ///
    /// # Errors
    /// Why it has to stay.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing, unless it has begun to leave.
    pub fn detach(&self) -> impl Future<Output = Result<(), ErrorObject>> + Send + '_ {
        poll_fn(move |cx| {
            let mut state = lock(&self.0);
            if state.live.is_some() || !state.leaving.possible {
                return Poll::Ready(Ok(()));
            }
            if let Some(why) = state.leaving.refused.take() {
                return Poll::Ready(Err(why));
            }
            state.leaving.wanted = Some(cx.waker().clone());
            let run = state.run.take();
            drop(state);
            if let Some(run) = run {
                run.wake();
            }
            Poll::Pending
        })
    }
}
