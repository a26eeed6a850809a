//! A handler at work, behind a wall that panics do not pass.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;

use crate::{BoxFuture, Exchange, Outcome};

/// Runs code that may panic; a panic becomes an error without its text.
///
/// # Errors
/// It panicked.
pub fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, ErrorObject> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        discard(payload);
        tracing::error!("a handler panicked");
        ErrorObject::internal("the handler failed")
    })
}

/// Drops a panic payload, whose own `Drop` may panic.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// What a handler is told that overran its deadline.
pub fn expired(deadline: Option<Duration>) -> ErrorObject {
    let seconds = deadline.unwrap_or_default().as_secs_f64();
    ErrorObject::internal(format!(
        "the handler did not finish within its deadline of {seconds} s"
    ))
}

/// A handler at work. Completes with its outcome, or with an error nobody needs to hear if the
/// exchange ended first; panics of the handler and of what it drops are outcomes too.
///
/// # Cancel safety
/// Dropping it drops the handler.
pub struct Running {
    exchange: Exchange,
    future: Option<BoxFuture<'static, Outcome>>,
}

impl Running {
    /// `future` answers `exchange`.
    pub fn new(exchange: Exchange, future: BoxFuture<'static, Outcome>) -> Self {
        Self {
            exchange,
            future: Some(future),
        }
    }

    /// What is answered.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Whether it has not completed.
    pub fn is_pending(&self) -> bool {
        self.future.is_some()
    }

    /// Polls the handler alone: the end of the exchange is neither looked at nor waited for.
    pub fn poll_handler(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(Err(ErrorObject::internal("the handler has finished")));
        };
        match guarded(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => Poll::Ready(self.end(outcome)),
            Err(panicked) => Poll::Ready(self.end(Err(panicked))),
        }
    }

    /// Ends the handler; `outcome` is what that makes of the request, unless dropping what the
    /// handler held panics: then that is the outcome.
    pub fn end(&mut self, outcome: Outcome) -> Outcome {
        let future = self.future.take();
        guarded(|| drop(future)).and(outcome)
    }
}

impl Future for Running {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        if self.exchange.poll_ended(cx) {
            let ended = Err(ErrorObject::internal("the request has ended"));
            return Poll::Ready(self.end(ended));
        }
        self.poll_handler(cx)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.future.is_some() {
            let _ = self.end(Err(ErrorObject::internal("the handler was dropped")));
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Running").field(&self.exchange).finish()
    }
}
