//! One request of the peer and all that belongs to it.

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

/// Progress notifications a request may send at once, and then each second.
const PROGRESS_BURST: f64 = 64.0;
const PROGRESS_PER_SECOND: f64 = 50.0;

const RUNNING: u8 = 0;
const CANCELLED: u8 = 1;
const ANSWERED: u8 = 2;

/// One request of the peer: its id, the way back, and whether it still wants an answer.
///
/// Cloning shares it. An exchange ends exactly once, by an answer or by cancellation; whoever
/// comes second is told so.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    id: RequestId,
    link: Arc<dyn Link>,
    state: AtomicU8,
    endless: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    progress: Mutex<f64>,
    pace: RateLimit,
}

impl Exchange {
    /// A running exchange whose notifications and questions travel on `link`.
    pub fn new(id: RequestId, link: Arc<dyn Link>) -> Self {
        Self(Arc::new(Inner {
            id,
            link,
            state: AtomicU8::new(RUNNING),
            endless: AtomicBool::new(false),
            wakers: Mutex::new(Vec::new()),
            progress: Mutex::new(f64::NEG_INFINITY),
            pace: RateLimit::new(PROGRESS_BURST, PROGRESS_PER_SECOND),
        }))
    }

    /// The id of the request.
    pub fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// Whether the other is the same exchange, not just one of the same id.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where notifications and questions of this request go.
    pub fn link(&self) -> &Arc<dyn Link> {
        &self.0.link
    }

    /// Whether it was neither answered nor cancelled.
    pub fn is_running(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == RUNNING
    }

    /// Whether the peer cancelled it, or went away.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Lifts the deadline: it is meant to last, as subscriptions are, and its end is news.
    pub fn set_endless(&self) {
        self.0.endless.store(true, Ordering::Release);
    }

    /// Whether no deadline counts for it.
    pub fn is_endless(&self) -> bool {
        self.0.endless.load(Ordering::Acquire)
    }

    /// Completes when the exchange has ended: cancelled, answered, or its peer gone.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(self.clone())
    }

    /// Ends it by cancellation; `false` if it had ended before.
    pub fn cancel(&self) -> bool {
        self.end(CANCELLED)
    }

    /// Ends it by an answer; `false` if it had ended before and the answer must be dropped.
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
            // The list is taken first: a waker may run code that looks at this exchange.
            let wakers = std::mem::take(&mut *lock(&self.0.wakers));
            wakers.into_iter().for_each(Waker::wake);
        }
        first
    }

    /// Registers interest in the end; `true` if it has come already.
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

    /// Admits a progress value: only while running, only above the last one, and not faster
    /// than a client can show it. A `last_step` is never too fast.
    pub fn advance(&self, progress: f64, last_step: bool, now: Instant) -> bool {
        let mut last = lock(&self.0.progress);
        if !self.is_running() || !progress.is_finite() || progress <= *last {
            return false;
        }
        if !self.0.pace.take(now) && !last_step {
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

/// Future of [`Exchange::cancelled`]. Cancel safe.
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
