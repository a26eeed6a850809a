//! The timer entry of a connection, and the future that serves the connection until it ends or a timeout passes.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::pin::Pin;
#[cfg(feature = "http2")]
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};

use crate::server::listener::timers::{ConnectionLimits, ConnectionTimer};
use crate::sync::lock;

/// The timer entry of a connection. It is removed on drop.
pub(crate) struct TimerGuard {
    pub(super) timer: Arc<ConnectionTimer>,
    pub(super) number: u64,
}

impl Drop for TimerGuard {
    fn drop(&mut self) {
        let all = &self.timer.all;
        lock(&all.timers).entries.remove(&self.number);
        all.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TimerGuard {
    /// Returns the limits of the connection.
    pub(crate) fn limits(&self) -> &ConnectionLimits {
        &self.timer.all.limits
    }

    /// Returns the timers of the connection.
    pub(crate) fn timer(&self) -> &Arc<ConnectionTimer> {
        &self.timer
    }

    /// Marks the connection as HTTP/2. After the idle timeout, an HTTP/2 connection is first shut down gracefully, because a
    /// request may be in transit.
    #[cfg(feature = "http2")]
    pub(crate) fn expect_streams(&self) {
        self.timer.has_streams.store(true, Ordering::Release);
        self.timer.start_head_timer();
    }

    /// Waits for `future` until the timeout for a request head has passed. Returns `None` if the timeout passes first.
    #[cfg(feature = "http2")]
    pub(crate) async fn within_head<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            *lock(&self.timer.waker) = Some(cx.waker().clone());
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if self.timer.is_head_overdue() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Serves the connection. At shutdown, `close` is called to end the connection after its current request.
    ///
    /// # Errors
    /// The error of the connection, or an error that the timeout for a request head has passed.
    pub(crate) async fn serve<C, E>(
        &self,
        mut connection: Pin<&mut C>,
        close: fn(Pin<&mut C>),
    ) -> Result<(), Failure>
    where
        C: Future<Output = Result<(), E>>,
        E: Into<Failure>,
    {
        let mut is_closing = false;
        let mut registered: Option<Waker> = None;
        poll_fn(|cx| {
            // The waker is set before the state is read. A tick changes the state before it wakes the task, so no change is
            // missed.
            if !registered
                .as_ref()
                .is_some_and(|waker| waker.will_wake(cx.waker()))
            {
                registered = Some(cx.waker().clone());
                lock(&self.timer.waker).clone_from(&registered);
            }
            if !is_closing && self.timer.all.closing.load(Ordering::Acquire) {
                is_closing = true;
                close(connection.as_mut());
            }
            let mut progress = connection.as_mut().poll(cx);
            if progress.is_pending()
                && !is_closing
                && self.timer.has_streams.load(Ordering::Acquire)
                && self.timer.is_head_overdue()
            {
                is_closing = true;
                self.timer.start_head_timer();
                close(connection.as_mut());
                progress = connection.as_mut().poll(cx);
            }
            #[cfg(feature = "http2")]
            if progress.is_pending() && self.timer.is_flooded() {
                if !is_closing {
                    close(connection.as_mut());
                    // Sends GOAWAY.
                    progress = connection.as_mut().poll(cx);
                }
                if progress.is_pending() {
                    return Poll::Ready(Err(
                        "the client sent too many HTTP/2 control frames".into()
                    ));
                }
            }
            match progress {
                Poll::Ready(ended) => Poll::Ready(ended.map_err(Into::into)),
                Poll::Pending if self.timer.is_head_overdue() => {
                    Poll::Ready(Err("no request head within ServerTimeouts::head".into()))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

type Failure = Box<dyn StdError + Send + Sync>;
