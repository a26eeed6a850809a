//! Calls whose handler is still running.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Response;
use mcp_protocol::Inbound as _;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use crate::permit::Permit;
use crate::server::response::body::{Body, event_stream};
use crate::server::response::text::JsonText;
use crate::server::running::items::{BatchItem, Items};
use crate::server::running::outcome::PostOutcome;
use crate::server::session::events::StreamBody;
use crate::server::session::stateless::RunningGuard;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::stream::Stream;

/// What happens to a call if its HTTP connection ends before the response has become a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDisconnect {
    /// The call continues in the background. The client receives the result when it resumes the stream.
    ///
    /// Specification: 2025-11-25, transports, sending messages to the server.
    Finish,
    /// The call is cancelled.
    ///
    /// Specification: 2026-07-28, streamable HTTP, cancellation.
    Cancel,
}

/// The requests of one POST while at least one handler is running.
///
/// The handlers are polled in the task of the HTTP connection. When the response becomes an event stream, they move to a separate
/// task, so that they do not depend on how fast the client reads.
pub(crate) struct PendingCall {
    items: Items,
    session: Arc<HttpSession>,
    stream: Arc<Stream>,
    limit: Option<Duration>,
    started: Instant,
    on_disconnect: OnDisconnect,
    guard: Option<CallGuard>,
    /// The permit for the memory of the parsed body.
    memory: Option<Permit>,
}

/// The guards and permits that a running call keeps until it ends.
enum CallGuard {
    Session {
        _activity: ActivityGuard,
        permit: Permit,
    },
    Stateless(RunningGuard),
}

impl CallGuard {
    /// Returns the permit of a call that has finished, and stops counting the call as running.
    fn into_permit(self) -> Option<Permit> {
        match self {
            Self::Session { permit, .. } => Some(permit),
            Self::Stateless(guard) => guard.into_permit(),
        }
    }
}

/// The reason why the task of the HTTP connection stops waiting for a call.
enum WaitResult {
    Finished,
    /// The response must become an event stream.
    Stream,
}

impl PendingCall {
    /// Creates the pending call for a single request in a session.
    pub(crate) fn single(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        item: BatchItem,
        permit: Permit,
    ) -> Self {
        Self::of_session(session, stream, Items::Single(item), permit)
    }

    /// Creates the pending call for a batch in a session.
    pub(crate) fn batch(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        items: Vec<BatchItem>,
        permit: Permit,
    ) -> Self {
        Self::of_session(session, stream, Items::Batch(items), permit)
    }

    fn of_session(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        items: Items,
        permit: Permit,
    ) -> Self {
        let guard = CallGuard::Session {
            _activity: session.activity_guard(),
            permit,
        };
        Self::new(session, stream, items, OnDisconnect::Finish, guard)
    }

    /// Creates the pending call for a request of the stateless revision.
    pub(crate) fn stateless(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        item: BatchItem,
        guard: RunningGuard,
    ) -> Self {
        let (items, guard) = (Items::Single(item), CallGuard::Stateless(guard));
        Self::new(session, stream, items, OnDisconnect::Cancel, guard)
    }

    fn new(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        items: Items,
        on_disconnect: OnDisconnect,
        guard: CallGuard,
    ) -> Self {
        Self {
            items,
            session: Arc::clone(session),
            stream,
            limit: session.inbound.deadline(),
            started: Instant::now(),
            on_disconnect,
            guard: Some(guard),
            memory: None,
        }
    }

    /// Keeps the permit for the memory of the request while the call runs.
    pub(crate) fn hold(&mut self, memory: Permit) {
        self.memory = Some(memory);
    }

    /// Waits for the result, and responds with JSON. If a handler sends a message before the result, or if a certain delay ends
    /// before the result, responds with an event stream instead, so that proxies keep the connection open.
    pub(crate) async fn respond(mut self) -> PostOutcome {
        // Only a call that waits needs a timer.
        let first = std::future::poll_fn(|cx| Poll::Ready(self.poll_result(cx))).await;
        let result = match first {
            Poll::Ready(result) => result,
            Poll::Pending => self.wait().await,
        };
        match result {
            WaitResult::Finished => self.into_outcome(),
            WaitResult::Stream => PostOutcome::Response(self.into_stream()),
        }
    }

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<WaitResult> {
        match self.poll(cx) {
            Poll::Ready(()) => Poll::Ready(WaitResult::Finished),
            Poll::Pending if self.stream.poll_started(cx) => Poll::Ready(WaitResult::Stream),
            Poll::Pending => Poll::Pending,
        }
    }

    async fn wait(&mut self) -> WaitResult {
        let options = &self.session.streams.options;
        let upgrade = self.started
            + match self.on_disconnect {
                OnDisconnect::Finish => options.streams.upgrade_delay,
                OnDisconnect::Cancel => options.streams.keep_alive_interval,
            };
        loop {
            let deadline = self.deadline();
            let until = deadline.map_or(upgrade, |deadline| deadline.min(upgrade));
            let result = std::future::poll_fn(|cx| self.poll_result(cx));
            if let Ok(result) = timeout_at(until, result).await {
                return result;
            }
            if self.deadline().is_some_and(|deadline| deadline <= until) {
                self.expire();
                return WaitResult::Finished;
            }
            if upgrade <= until {
                return WaitResult::Stream;
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_stateless = self.is_stateless();
        let mut is_pending = false;
        for item in self.items.as_mut_slice() {
            is_pending |= item
                .poll(&self.session, &self.stream, is_stateless, cx)
                .is_pending();
        }
        if is_pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// Returns the time at which the call must have finished. Returns `None` if there is no deadline. A running handler can
    /// remove its deadline: a subscription does this.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.limit?;
        let mut running = self
            .items
            .as_slice()
            .iter()
            .filter_map(|item| item.running.as_ref());
        let is_unlimited = running.any(|running| running.exchange().is_unlimited());
        (!is_unlimited).then(|| self.started + limit)
    }

    /// Ends the handlers that are still running after the deadline.
    fn expire(&mut self) {
        let is_stateless = self.is_stateless();
        for item in self.items.as_mut_slice() {
            item.expire(&self.session, &self.stream, is_stateless, self.limit);
        }
    }

    fn into_outcome(mut self) -> PostOutcome {
        let status = self.items.status();
        let result = self.items.take_result();
        let stream = Arc::clone(&self.stream);
        let mut outcome = PostOutcome::of_call(&self.session, stream, result, status);
        if let Some(permit) = self.guard.take().and_then(CallGuard::into_permit) {
            outcome.hold(permit);
        }
        outcome
    }

    fn into_stream(self) -> Response<Body> {
        self.stream.start();
        let mut events = StreamBody::new(&self.session, Arc::clone(&self.stream), 0);
        if let Some(CallGuard::Stateless(guard)) = &self.guard {
            // The end of the stream cancels the request.
            events.hold(guard.share());
        }
        tokio::spawn(self.finish());
        event_stream(Body::events(events))
    }

    /// Runs the call to its end in a separate task. If the call has a stream, sends the result on the stream.
    async fn finish(mut self) {
        self.on_disconnect = OnDisconnect::Cancel;
        loop {
            let Some(deadline) = self.deadline() else {
                std::future::poll_fn(|cx| self.poll(cx)).await;
                break;
            };
            let finished = std::future::poll_fn(|cx| self.poll(cx));
            if timeout_at(deadline, finished).await.is_ok() {
                break;
            }
            if self.deadline().is_some() {
                self.expire();
                break;
            }
        }
        if self.stream.is_started() {
            let result = self.items.take_result().map(JsonText::into_whole);
            self.stream.finish(result.as_deref());
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self.guard, Some(CallGuard::Stateless(_)))
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.on_disconnect == OnDisconnect::Finish
            && self.items.is_running()
            && let Ok(runtime) = Handle::try_current()
        {
            self.stream.detach(0);
            let call = Self {
                items: std::mem::replace(&mut self.items, Items::Batch(Vec::new())),
                session: Arc::clone(&self.session),
                stream: Arc::clone(&self.stream),
                limit: self.limit,
                started: self.started,
                on_disconnect: OnDisconnect::Cancel,
                guard: self.guard.take(),
                memory: self.memory.take(),
            };
            runtime.spawn(call.finish());
            return;
        }
        for item in self.items.as_slice() {
            if let Some(running) = &item.running {
                // The handler is dropped after this, and can see that it was cancelled.
                self.session.incoming.forget(running.exchange());
                running.exchange().cancel();
            }
        }
        // A reader of the stream must not wait for a result that will not be sent.
        if self.stream.is_started() {
            self.stream.finish(None);
        }
    }
}
