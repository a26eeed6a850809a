//! A future for a handler that may stop to wait for input, or may detach from its request.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::detach::{DetachFn, DetachOutcome};
use super::{InputRequired, PendingInput, PendingInputError};
use crate::{BoxFuture, Outcome};

/// A function that creates the response to the request of a stopped handler.
type Stop = Box<dyn FnOnce(Result<InputRequired, PendingInputError>) -> Outcome + Send>;

/// A handler that may stop for input. The future completes with the handler's outcome, or with the response that `stop` creates
/// from the handler's input requests. The handler may also [detach](PendingInput::detach) from its request.
///
/// # Cancel safety
/// Dropping the future drops the handler.
pub struct SuspendableHandler {
    handler: Option<BoxFuture<'static, Outcome>>,
    pending: Arc<PendingInput>,
    stop: Option<Stop>,
    leave: Option<DetachFn>,
    detaching: Option<BoxFuture<'static, DetachOutcome>>,
}

impl SuspendableHandler {
    /// Creates the future. `handler` sends its input requests through `pending`.
    pub fn new(
        handler: BoxFuture<'static, Outcome>,
        pending: Arc<PendingInput>,
        stop: impl FnOnce(Result<InputRequired, PendingInputError>) -> Outcome + Send + 'static,
    ) -> Self {
        Self {
            handler: Some(handler),
            pending,
            stop: Some(Box::new(stop)),
            leave: None,
            detaching: None,
        }
    }

    /// Allows the handler to detach. `leave` takes over the handler and returns the response to the request.
    #[must_use]
    pub fn detachable(
        mut self,
        leave: impl FnMut(BoxFuture<'static, Outcome>) -> BoxFuture<'static, DetachOutcome>
        + Send
        + 'static,
    ) -> Self {
        self.pending.allow_detach();
        self.leave = Some(Box::new(leave));
        self
    }

    /// Polls the function that takes over a detaching handler. Returns the response to the request if the handler was taken over.
    fn poll_leaving(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let Some(detaching) = &mut self.detaching else {
            return Poll::Ready(None);
        };
        let Poll::Ready(left) = detaching.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        self.detaching = None;
        match left {
            DetachOutcome::Detached(outcome) => Poll::Ready(Some(outcome)),
            DetachOutcome::Refused(handler, why) => {
                self.handler = Some(handler);
                self.pending.refuse_detach(why);
                Poll::Ready(None)
            }
        }
    }
}

impl Future for SuspendableHandler {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            match self.poll_leaving(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(outcome)) => return Poll::Ready(outcome),
                Poll::Ready(None) => {}
            }
            let Some(handler) = &mut self.handler else {
                return Poll::Pending;
            };
            if let Poll::Ready(outcome) = handler.as_mut().poll(cx) {
                self.handler = None;
                return Poll::Ready(outcome);
            }
            if let Some(required) = self.pending.stopped(cx) {
                self.handler = None;
                return match self.stop.take() {
                    Some(stop) => Poll::Ready(stop(required)),
                    None => Poll::Pending,
                };
            }
            if !self.pending.wants_to_detach() {
                return Poll::Pending;
            }
            let this = &mut *self;
            let (Some(leave), Some(handler)) = (&mut this.leave, this.handler.take()) else {
                return Poll::Pending;
            };
            this.detaching = Some(leave(handler));
        }
    }
}

impl fmt::Debug for SuspendableHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SuspendableHandler")
            .field(&self.pending)
            .finish()
    }
}
