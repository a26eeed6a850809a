//! How a handler leaves the request that it was called for, to go on without one.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use mcp_jsonrpc::ErrorObject;

use super::Ledger;
use crate::{BoxFuture, Outcome, lock};

/// What takes a handler that leaves.
pub(super) type Leave =
    Box<dyn FnMut(BoxFuture<'static, Outcome>) -> BoxFuture<'static, Left> + Send>;

/// What became of a handler that wanted to leave.
#[expect(clippy::exhaustive_enums, reason = "it has left or it has not")]
pub enum Left {
    /// It is taken care of; this answers the request.
    Gone(Outcome),
    /// It goes on where it is, and hears why.
    Stays(BoxFuture<'static, Outcome>, ErrorObject),
}

impl std::fmt::Debug for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone(outcome) => f.debug_tuple("Gone").field(outcome).finish(),
            Self::Stays(_, why) => f.debug_tuple("Stays").field(why).finish(),
        }
    }
}

/// Whether a handler leaves.
#[derive(Default)]
pub(super) struct Leaving {
    /// Whether there is somebody to take it.
    possible: bool,
    wanted: Option<Waker>,
    refused: Option<ErrorObject>,
}

impl Leaving {
    pub(super) fn gone(&mut self) -> Option<Waker> {
        self.wanted.take()
    }
}

impl Ledger {
    pub(super) fn let_leave(&self) {
        lock(&self.0).leaving.possible = true;
    }

    pub(super) fn wants_to_leave(&self) -> bool {
        lock(&self.0).leaving.wanted.is_some()
    }

    pub(super) fn stay(&self, why: ErrorObject) {
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
    pub fn leave(&self) -> impl Future<Output = Result<(), ErrorObject>> + Send + '_ {
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
