//! A handler that may stop to ask, or leave its request.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::detach::{DetachFn, DetachOutcome};
use super::{InputRequired, PendingInput, PendingInputError};
use crate::{BoxFuture, Outcome};

/// What a run that stopped is answered with.
type Stop = Box<dyn FnOnce(Result<InputRequired, PendingInputError>) -> Outcome + Send>;

/// A handler that may stop to ask: completes with its outcome, or with what `stop` makes of its
/// questions. It may also [leave](PendingInput::detach) its request, where somebody takes it.
///
/// # Cancel safety
/// Dropping it drops the handler.
pub struct SuspendableHandler {
    handler: Option<BoxFuture<'static, Outcome>>,
    pending: Arc<PendingInput>,
    stop: Option<Stop>,
    leave: Option<DetachFn>,
    leaving: Option<BoxFuture<'static, DetachOutcome>>,
}

impl SuspendableHandler {
    /// `handler` asks through `pending input`.
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
            leaving: None,
        }
    }

    /// Lets the handler leave its request: `leave` takes it then, and tells what the request is
    /// answered with.
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

    /// Sees whether the handler that leaves has gone.
    fn poll_leaving(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let Some(leaving) = &mut self.leaving else {
            return Poll::Ready(None);
        };
        let Poll::Ready(left) = leaving.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        self.leaving = None;
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
            this.leaving = Some(leave(handler));
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
