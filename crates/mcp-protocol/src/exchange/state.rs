//! One request of the peer: its state, and its running handler. A panic of the handler does not affect other requests.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_jsonrpc::{ErrorObject, RequestId};

use crate::sync::lock;
use crate::{BoxFuture, Link, Outcome, Rate, TokenBucket};

/// Rate limit of the progress notifications of one request.
const PROGRESS_RATE: Rate = Rate {
    burst: 64.0,
    per_second: 50.0,
};

const RUNNING: u8 = 0;
const CANCELLED: u8 = 1;
const ANSWERED: u8 = 2;

/// One request of the peer: its id, the link for messages to the peer, and its state.
///
/// Cloning shares the state. An exchange ends exactly once, by a response or by cancellation; a
/// second attempt to end it returns `false`.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    id: RequestId,
    link: Arc<dyn Link>,
    state: AtomicU8,
    is_unlimited: AtomicBool,
    endless: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    progress: Mutex<f64>,
    bucket: Mutex<TokenBucket>,
}

impl Exchange {
    /// Creates a running exchange whose notifications and requests are sent on `link`.
    pub fn new(id: RequestId, link: Arc<dyn Link>) -> Self {
        Self(Arc::new(Inner {
            id,
            link,
            state: AtomicU8::new(RUNNING),
            is_unlimited: AtomicBool::new(false),
            endless: AtomicBool::new(false),
            wakers: Mutex::new(Vec::new()),
            progress: Mutex::new(f64::NEG_INFINITY),
            bucket: Mutex::default(),
        }))
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// Returns whether `other` is the same exchange. An exchange of another request with the same id is not the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the link for notifications and requests that belong to this request.
    pub fn link(&self) -> &Arc<dyn Link> {
        &self.0.link
    }

    /// Returns whether the exchange was neither answered nor cancelled yet.
    pub fn is_running(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == RUNNING
    }

    /// Returns whether the peer cancelled the request or disconnected.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Removes the deadline of the exchange, because its response can take any time.
    pub fn set_unlimited(&self) {
        self.0.is_unlimited.store(true, Ordering::Release);
    }

    /// Returns whether the exchange has no deadline.
    pub fn is_unlimited(&self) -> bool {
        self.0.is_unlimited.load(Ordering::Acquire)
    }

    /// Marks the exchange as a subscription that is not open yet, for example while the right to subscribe is checked. It counts
    /// as a subscription, but has a deadline. Call this method before the handler returns its reply.
    pub fn set_subscribing(&self) {
        self.0.endless.store(true, Ordering::Release);
    }

    /// Marks the exchange as an open subscription. A subscription has no deadline, and it ends when the input of its connection
    /// ends. The peer is notified of the end of a subscription.
    pub fn set_endless(&self) {
        self.set_unlimited();
        self.set_subscribing();
    }

    /// Returns whether the exchange is a subscription, open or not.
    pub fn is_endless(&self) -> bool {
        self.0.endless.load(Ordering::Acquire)
    }

    /// Completes when the exchange has ended: by a response, by cancellation, or because the peer
    /// disconnected.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(self.clone())
    }

    /// Ends the exchange by cancellation. Returns `false` if it had already ended.
    pub fn cancel(&self) -> bool {
        self.end(CANCELLED)
    }

    /// Ends the exchange by a response. Returns `false` if it had already ended; the response must
    /// then be dropped.
    pub fn settle(&self) -> bool {
        self.end(ANSWERED)
    }

    fn end(&self, state: u8) -> bool {
        let first = self
            .0
            .state
            .compare_exchange(RUNNING, state, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if first {
            // Release the lock before waking: a waker may run code that uses this exchange.
            let wakers = std::mem::take(&mut *lock(&self.0.wakers));
            wakers.into_iter().for_each(Waker::wake);
        }
        first
    }

    /// Registers a waker for the end of the exchange. Returns `true` if the exchange has already ended.
    pub(crate) fn poll_ended(&self, cx: &Context<'_>) -> bool {
        let mut wakers = lock(&self.0.wakers);
        if !self.is_running() {
            return true;
        }
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        false
    }

    /// Returns whether a progress value may be sent: the exchange is running, the value is above the last value, and the rate
    /// limit allows it. If `last_step` is `true`, the rate limit does not apply.
    pub fn advance(&self, progress: f64, last_step: bool, now: Instant) -> bool {
        let mut last = lock(&self.0.progress);
        if !self.is_running() || !progress.is_finite() || progress <= *last {
            return false;
        }
        let taken = lock(&self.0.bucket).take(1.0, PROGRESS_RATE, now);
        if taken.is_err() && !last_step {
            return false;
        }
        *last = progress;
        true
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("id", &self.0.id)
            .field("running", &self.is_running())
            .finish_non_exhaustive()
    }
}

/// Future returned by `Exchange::cancelled` and `Ctx::cancelled`. It is cancel safe.
#[derive(Debug)]
pub struct Cancelled(Exchange);

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.poll_ended(cx) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Runs code that may panic. Converts a panic into an error that does not contain the panic text.
///
/// # Errors
/// The code panicked.
pub fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, ErrorObject> {
    catch_unwind(AssertUnwindSafe(code)).map_err(panicked)
}

#[cold]
fn panicked(payload: Box<dyn Any + Send>) -> ErrorObject {
    log_panic(payload);
    ErrorObject::internal("the handler failed")
}

/// Runs code that may panic. Logs a panic in the current span, and then resumes the panic, so that [`guarded`] catches it outside
/// of the span. [`guarded`] does not log this panic again.
pub fn log_panics<T>(code: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|payload| {
        log_panic(payload);
        resume_unwind(Box::new(LoggedPanic))
    })
}

/// The payload of a panic that is already logged.
struct LoggedPanic;

fn log_panic(payload: Box<dyn Any + Send>) {
    if !payload.is::<LoggedPanic>() {
        tracing::error!("a handler panicked");
    }
    discard(payload);
}

/// Drops a panic payload. Catches a panic of the payload's destructor.
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

/// A running handler. Completes with the outcome of the handler. If the exchange ends first, completes with an error, which need
/// not be sent. If the handler or one of its destructors panics, the outcome is also an error.
///
/// # Cancel safety
/// Dropping this value drops the handler.
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

    /// Drops the handler and returns `outcome`. If a destructor of the handler panics, returns an error instead.
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
