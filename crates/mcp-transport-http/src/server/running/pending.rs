//! Calls whose handler is still running.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::http_headers;
use mcp_protocol::{Inbound as _, Outcome, Running, expired};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use crate::permit::Permit;
use crate::server::response::body::{Body, event_stream};
use crate::server::response::text::{JsonText, json, render};
use crate::server::running::table::RunningGuard;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::stream::Stream;
use crate::server::stream::events::StreamBody;

/// What the end of the HTTP connection means for a call whose response is not yet a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDisconnect {
    /// The call goes on in the background, and the client can fetch the result when it resumes the
    /// stream.
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
/// They are polled in the task of the HTTP connection. Once the response becomes an event stream
/// they get a task of their own, because a handler must not depend on how fast its client reads.
pub(crate) struct PendingCall {
    items: Items,
    session: Arc<HttpSession>,
    stream: Arc<Stream>,
    limit: Option<Duration>,
    started: Instant,
    on_disconnect: OnDisconnect,
    guard: Option<Guard>,
}

/// What a call holds while it is running.
enum Guard {
    Session {
        _activity: ActivityGuard,
        _permit: Permit,
    },
    Stateless(RunningGuard),
}

enum Items {
    Single(BatchItem),
    Batch(Vec<BatchItem>),
}

/// One request of a POST.
pub(crate) struct BatchItem {
    running: Option<Running>,
    /// The response, unless the request was cancelled.
    result: Option<JsonText>,
    status: StatusCode,
}

/// What ends the wait in the task of the HTTP connection.
enum Turn {
    Finished,
    /// The response becomes an event stream.
    Stream,
}

impl PendingCall {
    /// A single request of a session.
    pub(crate) fn single(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        item: BatchItem,
        permit: Permit,
    ) -> Self {
        Self::of_session(session, stream, Items::Single(item), permit)
    }

    /// A batch of a session.
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
        let guard = Guard::Session {
            _activity: session.activity_guard(),
            _permit: permit,
        };
        Self::new(session, stream, items, OnDisconnect::Finish, guard)
    }

    /// A request of the stateless revision.
    pub(crate) fn stateless(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        item: BatchItem,
        guard: RunningGuard,
    ) -> Self {
        let (items, guard) = (Items::Single(item), Guard::Stateless(guard));
        Self::new(session, stream, items, OnDisconnect::Cancel, guard)
    }

    fn new(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        items: Items,
        on_disconnect: OnDisconnect,
        guard: Guard,
    ) -> Self {
        Self {
            items,
            session: Arc::clone(session),
            stream,
            limit: session.inbound.deadline(),
            started: Instant::now(),
            on_disconnect,
            guard: Some(guard),
        }
    }

    /// Waits for the result, and responds with JSON. The response becomes an event stream if a
    /// handler sends a message first, or after a delay, so that proxies keep the connection open.
    pub(crate) async fn respond(mut self) -> Response<Body> {
        // Only a call that waits needs a timer.
        let first = std::future::poll_fn(|cx| Poll::Ready(self.poll_turn(cx))).await;
        let turn = match first {
            Poll::Ready(turn) => turn,
            Poll::Pending => self.wait().await,
        };
        match turn {
            Turn::Finished => self.into_json(),
            Turn::Stream => self.into_stream(),
        }
    }

    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        match self.poll(cx) {
            Poll::Ready(()) => Poll::Ready(Turn::Finished),
            Poll::Pending if self.stream.poll_started(cx) => Poll::Ready(Turn::Stream),
            Poll::Pending => Poll::Pending,
        }
    }

    async fn wait(&mut self) -> Turn {
        let options = &self.session.streams.options;
        let upgrade = self.started
            + match self.on_disconnect {
                OnDisconnect::Finish => options.sse_upgrade_delay,
                OnDisconnect::Cancel => options.keep_alive_interval,
            };
        loop {
            let deadline = self.deadline();
            let until = deadline.map_or(upgrade, |deadline| deadline.min(upgrade));
            let turn = std::future::poll_fn(|cx| self.poll_turn(cx));
            if let Ok(turn) = timeout_at(until, turn).await {
                return turn;
            }
            if self.deadline().is_some_and(|deadline| deadline <= until) {
                self.expire();
                return Turn::Finished;
            }
            if upgrade <= until {
                return Turn::Stream;
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_stateless = self.is_stateless();
        let mut is_pending = false;
        for item in self.items.as_mut_slice() {
            is_pending |= item.poll(&self.session, is_stateless, cx).is_pending();
        }
        if is_pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// When the call has to be finished. A handler can lift its deadline while it is running, as a
    /// subscription does.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.limit?;
        let mut running = self
            .items
            .as_slice()
            .iter()
            .filter_map(|item| item.running.as_ref());
        let is_endless = running.any(|running| running.exchange().is_endless());
        (!is_endless).then(|| self.started + limit)
    }

    /// Ends the handlers that are still running after the deadline.
    fn expire(&mut self) {
        let is_stateless = self.is_stateless();
        for item in self.items.as_mut_slice() {
            if let Some(running) = &mut item.running {
                let outcome = running.end(Err(expired(self.limit)));
                item.end(&self.session, is_stateless, &outcome);
            }
        }
    }

    fn into_json(mut self) -> Response<Body> {
        let status = self.items.status();
        let result = self.items.take_result();
        respond(&self.session, Arc::clone(&self.stream), result, status)
    }

    fn into_stream(self) -> Response<Body> {
        self.stream.start();
        let mut events = StreamBody::new(&self.session, Arc::clone(&self.stream), 0);
        if let Some(Guard::Stateless(guard)) = &self.guard {
            // The end of the stream cancels the request.
            events.hold(guard.share());
        }
        tokio::spawn(self.finish());
        event_stream(Body::events(events))
    }

    /// Runs to the end in a task of its own. The result is sent on the stream, if there is one.
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

    fn is_stateless(&self) -> bool {
        matches!(self.guard, Some(Guard::Stateless(_)))
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

impl Items {
    fn as_slice(&self) -> &[BatchItem] {
        match self {
            Self::Single(item) => std::slice::from_ref(item),
            Self::Batch(items) => items,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [BatchItem] {
        match self {
            Self::Single(item) => std::slice::from_mut(item),
            Self::Batch(items) => items,
        }
    }

    fn is_running(&self) -> bool {
        self.as_slice().iter().any(|item| item.running.is_some())
    }

    /// The status of the response: a batch is always answered with 200.
    fn status(&self) -> StatusCode {
        match self {
            Self::Single(item) => item.status,
            Self::Batch(_) => StatusCode::OK,
        }
    }

    /// The result of the request, or an array of the results of a batch. None if all requests were
    /// cancelled.
    fn take_result(&mut self) -> Option<JsonText> {
        let items = match self {
            Self::Single(item) => return item.result.take(),
            Self::Batch(items) => items,
        };
        let mut results = items.iter_mut().filter_map(|item| item.result.take());
        let first = results.next()?;
        let mut out = vec![b'['];
        out.extend_from_slice(&first.into_whole());
        for result in results {
            out.push(b',');
            out.extend_from_slice(&result.into_whole());
        }
        out.push(b']');
        Some(out.into())
    }
}

impl BatchItem {
    pub(crate) fn running(running: Running) -> Self {
        Self {
            running: Some(running),
            result: None,
            status: StatusCode::OK,
        }
    }

    /// A request that was answered at once.
    pub(crate) fn done(result: JsonText) -> Self {
        Self {
            running: None,
            result: Some(result),
            status: StatusCode::OK,
        }
    }

    fn poll(
        &mut self,
        session: &HttpSession,
        is_stateless: bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(());
        };
        let outcome = match Pin::new(running).poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(outcome) => outcome,
        };
        self.end(session, is_stateless, &outcome);
        Poll::Ready(())
    }

    fn end(&mut self, session: &HttpSession, is_stateless: bool, outcome: &Outcome) {
        let Some(running) = self.running.take() else {
            return;
        };
        let exchange = running.exchange();
        session.incoming.forget(exchange);
        if exchange.settle() {
            self.result = Some(render(exchange.id(), outcome));
            if let (true, Err(error)) = (is_stateless, outcome) {
                self.status = status(http_headers::response_status(error.code));
            }
        } else if is_stateless {
            // Its client is still connected, so the server cancelled it.
            let error = ErrorObject::internal("the server is shutting down");
            self.result = Some(render(exchange.id(), &Err(error)));
            self.status = StatusCode::SERVICE_UNAVAILABLE;
        }
    }
}

/// The response to a call that has finished: JSON, or an event stream if the handler sent messages
/// before.
pub(crate) fn respond(
    session: &Arc<HttpSession>,
    stream: Arc<Stream>,
    result: Option<JsonText>,
    status: StatusCode,
) -> Response<Body> {
    match result {
        Some(result) if !stream.is_started() => {
            let mut response = json(result);
            *response.status_mut() = status;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                let retry = HeaderValue::from_static("1");
                response.headers_mut().insert(RETRY_AFTER, retry);
            }
            response
        }
        result => {
            stream.finish(result.map(JsonText::into_whole).as_deref());
            event_stream(Body::events(StreamBody::new(session, stream, 0)))
        }
    }
}

pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST)
}
