//! One request of the peer and its state.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use mcp_jsonrpc::RequestId;

use super::RateLimit;
use crate::Link;
use crate::sync::lock;

/// Rate limit of the progress notifications of one request: burst, then per second.
const PROGRESS_BURST: f64 = 64.0;
const PROGRESS_PER_SECOND: f64 = 50.0;

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
    endless: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    progress: Mutex<f64>,
    rate_limit: RateLimit,
}

impl Exchange {
    /// Creates a running exchange whose notifications and requests are sent on `link`.
    pub fn new(id: RequestId, link: Arc<dyn Link>) -> Self {
        Self(Arc::new(Inner {
            id,
            link,
            state: AtomicU8::new(RUNNING),
            endless: AtomicBool::new(false),
            wakers: Mutex::new(Vec::new()),
            progress: Mutex::new(f64::NEG_INFINITY),
            rate_limit: RateLimit::new(PROGRESS_BURST, PROGRESS_PER_SECOND),
        }))
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// Returns whether `other` is the same exchange, not only one with the same id.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the link for notifications and requests that belong to this request.
    pub fn link(&self) -> &Arc<dyn Link> {
        &self.0.link
    }

    /// Returns whether the exchange was neither answered nor cancelled.
    pub fn is_running(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == RUNNING
    }

    /// Returns whether the peer cancelled the request or disconnected.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Removes the deadline, for a subscription. The end of such an exchange is announced to the
    /// peer.
    pub fn set_endless(&self) {
        self.0.endless.store(true, Ordering::Release);
    }

    /// Returns whether the exchange has no deadline.
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

    /// Registers the waker for the end of the exchange; returns `true` if it has already ended.
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

    /// Admits a progress value: only while the exchange is running, only above the last value, and
    /// within the rate limit. A `last_step` is not rate limited.
    pub fn advance(&self, progress: f64, last_step: bool, now: Instant) -> bool {
        let mut last = lock(&self.0.progress);
        if !self.is_running() || !progress.is_finite() || progress <= *last {
            return false;
        }
        if !self.0.rate_limit.take(now) && !last_step {
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

/// Future returned by [`Exchange::cancelled`]. It is cancel safe.
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
