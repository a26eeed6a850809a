//! Running handlers, with isolation of panics.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;

use crate::{BoxFuture, Exchange, Outcome};

/// Runs code that may panic, and turns a panic into an error without the panic text.
///
/// # Errors
/// The code panicked.
pub fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, ErrorObject> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        discard(payload);
        tracing::error!("a handler panicked");
        ErrorObject::internal("the handler failed")
    })
}

/// Drops a panic payload, whose `Drop` may panic too.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// Returns the error for a handler that exceeded its deadline.
pub fn expired(deadline: Option<Duration>) -> ErrorObject {
    let seconds = deadline.unwrap_or_default().as_secs_f64();
    ErrorObject::internal(format!(
        "the handler did not finish within its deadline of {seconds} s"
    ))
}

/// A running handler. Completes with the outcome of the handler, or with an error, which need not be
/// sent, if the exchange ended first. A panic of the handler or of its destructors is an error too.
///
/// # Cancel safety
/// Dropping it drops the handler.
pub struct Running {
    exchange: Exchange,
    future: Option<BoxFuture<'static, Outcome>>,
}

impl Running {
    /// Creates a running handler. `future` produces the response of `exchange`.
    pub fn new(exchange: Exchange, future: BoxFuture<'static, Outcome>) -> Self {
        Self {
            exchange,
            future: Some(future),
        }
    }

    /// Returns the exchange of the handler.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns whether the handler has not completed.
    pub fn is_pending(&self) -> bool {
        self.future.is_some()
    }

    /// Polls only the handler, without checking whether the exchange has ended.
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

    /// Drops the handler and returns `outcome`, or an error if a destructor of the handler panics.
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
