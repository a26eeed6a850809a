//! Running requests. Each request is answered exactly once.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, text_of, write_error, write_notification, write_result};
use mcp_types::method;
use serde_json::json;

use super::Mux;
use super::outbox::BatchState;
use crate::{BoxFuture, Exchange, Outcome};
use crate::{Running, expired, guarded};

/// A guard for a request that must be answered. If the guard is dropped before a response was sent, it sends an error response.
pub(super) struct ResponseGuard {
    mux: Arc<Mux>,
    exchange: Exchange,
    batch: Option<Arc<BatchState>>,
    done: bool,
}

impl ResponseGuard {
    pub(super) fn new(mux: Arc<Mux>, exchange: Exchange, batch: Option<Arc<BatchState>>) -> Self {
        Self {
            mux,
            exchange,
            batch,
            done: false,
        }
    }

    pub(super) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Sends the response, unless the exchange has already ended.
    pub(super) fn settle(&mut self, outcome: &Outcome) {
        self.done = true;
        if !self.exchange.settle() {
            return;
        }
        let id = self.exchange.id();
        let write = |out: &mut Vec<u8>| match outcome {
            Ok(payload) => write_result(out, id, |out| payload.write(out)),
            Err(error) => write_error(out, Some(id), error),
        };
        match &self.batch {
            Some(batch) => batch.push(write),
            None if outcome.as_ref().is_ok_and(crate::Payload::is_one_line) => {
                self.mux.outbox.push_line(write);
            }
            None => self.mux.outbox.push(write),
        }
        if self.exchange.is_endless() && outcome.is_ok() {
            self.announce_end();
        }
        // Last: when the table is empty, all responses must be queued.
        self.mux.forget(&self.exchange);
    }

    /// Sends `notifications/cancelled` after the result of a subscription, because a pipe has no
    /// stream whose end the client could see (2026-07-28, basic/patterns/cancellation).
    fn announce_end(&self) {
        let params = text_of(&json!({ "requestId": self.exchange.id() }));
        let params = Some(params.as_bytes());
        self.mux
            .outbox
            .push(|out| write_notification(out, method::NOTIFICATIONS_CANCELLED, params));
    }

    /// Rejects a request whose id is in use. The error has no id. Otherwise the peer would take it for the response to the other
    /// request with this id.
    pub(super) fn abandon(&mut self, error: &ErrorObject) {
        self.done = true;
        self.exchange.settle();
        match &self.batch {
            Some(batch) => batch.push(|out| write_error(out, None, error)),
            None => self.mux.reject(error),
        }
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        if !self.done {
            self.settle(&Err(ErrorObject::internal("the handler was dropped")));
        }
    }
}

/// A request whose handler is not yet done.
#[derive(Debug)]
#[non_exhaustive]
pub enum PendingHandler {
    /// An asynchronous handler. Spawn it as a task.
    Async(Run),
    /// A blocking handler. Run it on a thread for blocking work.
    Blocking(BlockingRun),
}

impl PendingHandler {
    pub(super) fn exchange(&self) -> &Exchange {
        match self {
            Self::Async(run) => &run.guard.exchange,
            Self::Blocking(run) => &run.guard.exchange,
        }
    }
}

/// A running asynchronous handler. Completes when the request is answered or cancelled. Dropping it
/// answers with an internal error.
pub struct Run {
    // Dropped before the guard, because the guard answers the request.
    handler: Running,
    guard: ResponseGuard,
}

impl Run {
    pub(super) fn new(guard: ResponseGuard, future: BoxFuture<'static, Outcome>) -> Self {
        Self {
            handler: Running::new(guard.exchange.clone(), future),
            guard,
        }
    }

    /// Polls the handler once. Returns the handler if it is still pending. This poll registers no waker, so the executor must
    /// poll the handler again at once.
    pub(super) fn poll_once(mut self) -> Option<Self> {
        match self
            .handler
            .poll_handler(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Pending => Some(self),
            Poll::Ready(outcome) => {
                self.guard.settle(&outcome);
                None
            }
        }
    }

    /// Returns the deadline from [`Inbound::deadline`](crate::Inbound::deadline). Returns `None` for a request without a
    /// deadline, such as a subscription.
    pub fn deadline(&self) -> Option<Duration> {
        let deadline = self.guard.mux.inbound.deadline();
        deadline.filter(|_| !self.guard.exchange.is_unlimited())
    }

    /// Ends the handler because its deadline has passed.
    pub fn expire(mut self) {
        let outcome = self.handler.end(Err(expired(self.deadline())));
        self.guard.settle(&outcome);
    }
}

impl Future for Run {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.handler.is_pending() {
            return Poll::Ready(());
        }
        match Pin::new(&mut self.handler).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(outcome) => {
                self.guard.settle(&outcome);
                Poll::Ready(())
            }
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Run").field(&self.guard.exchange).finish()
    }
}

/// A blocking handler that has not started.
pub struct BlockingRun {
    work: Box<dyn FnOnce() -> Outcome + Send>,
    guard: ResponseGuard,
}

impl BlockingRun {
    pub(super) fn new(guard: ResponseGuard, work: Box<dyn FnOnce() -> Outcome + Send>) -> Self {
        Self { work, guard }
    }

    /// Runs the handler on this thread, unless the request has already ended.
    pub fn run(mut self) {
        if self.guard.exchange.is_running() {
            let outcome = guarded(self.work).and_then(|outcome| outcome);
            self.guard.settle(&outcome);
        } else {
            self.guard.done = true;
        }
    }

    /// Answers with `error` instead of running the handler.
    pub fn refuse(mut self, error: ErrorObject) {
        self.guard.settle(&Err(error));
    }

    /// Returns the deadline of the handler.
    pub fn deadline(&self) -> Option<Duration> {
        self.guard.mux.inbound.deadline()
    }

    /// Returns a handle that answers the request with an error when the deadline passes. Blocking handlers need this handle,
    /// because their threads cannot be stopped.
    pub fn expiry(&self) -> Expiry {
        Expiry {
            mux: Arc::clone(&self.guard.mux),
            exchange: self.guard.exchange.clone(),
            batch: self.guard.batch.clone(),
        }
    }
}

impl fmt::Debug for BlockingRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockingRun")
            .field(&self.guard.exchange)
            .finish()
    }
}

/// A handle that answers the request of a blocking handler when the handler exceeds its deadline.
pub struct Expiry {
    mux: Arc<Mux>,
    exchange: Exchange,
    batch: Option<Arc<BatchState>>,
}

impl Expiry {
    /// Completes when the request has ended.
    pub fn ended(&self) -> crate::Cancelled {
        self.exchange.cancelled()
    }

    /// Answers the request with a deadline error. If the handler finishes later, its result is dropped.
    pub fn expire(self) {
        let deadline = self.mux.inbound.deadline();
        ResponseGuard::new(self.mux, self.exchange, self.batch).settle(&Err(expired(deadline)));
    }
}

impl fmt::Debug for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expiry").field(&self.exchange).finish()
    }
}
