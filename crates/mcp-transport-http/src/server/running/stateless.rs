//! One request at work.
//!
//! The handler is polled in the task of the HTTP connection, and what it answers is the JSON body
//! of the response. If it speaks first, or takes as long as proxies wait, the response becomes a
//! stream and the handler gets a task of its own: others may wait for what it holds, so it must
//! not depend on how fast its client reads. Either way it ends with the response: there is no
//! coming back for the rest.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, Request, RequestId};
use mcp_protocol::http_headers;
use mcp_protocol::modern::{RawRequestMeta, RequestMeta};
use mcp_protocol::{Exchange, Inbound as _, Link, Outcome, Principal, Running, expired, guarded};
use tokio::time::{Instant, timeout_at};

use crate::server::request::head::{Asked, Heads};
use crate::server::request::revision::{check_params, standard};
use crate::server::response::body::{Body, event_stream};
use crate::server::response::refusal::Refusal;
use crate::server::response::text::{json, render};
use crate::server::running::start::{Handled, handle};
use crate::server::running::table::Seat;
use crate::server::session::HttpSession;
use crate::server::state::Shared;
use crate::server::stream::Stream;
use crate::server::stream::events::Events;

/// What a request has come to after its handler was called.
pub(crate) enum Begun {
    Answered(Response<Body>),
    Runs(Call),
}

/// Admits a request.
///
/// # Errors
/// It is not admitted: the first check it fails says why.
pub(crate) fn admit(
    shared: &Shared,
    request: &Request<'_>,
    claim: &RawRequestMeta<'_>,
    headers: &HeaderMap,
    heads: &Heads<'_>,
) -> Result<RequestMeta, Refusal> {
    let session = &shared.modern.session;
    let repeated = standard(heads);
    let admitted = guarded(|| {
        let envelope = session.inbound.admit(request, claim, Some(&repeated))?;
        check_params(&*shared.service, request, headers, repeated.name)?;
        Ok(envelope)
    });
    admitted.and_then(|it| it).map_err(|error| {
        let status = status(http_headers::admission_status(error.code));
        Refusal::with_error(status, error).answering(Some(request.id.clone()))
    })
}

/// Calls the handler of a request that was admitted.
///
/// # Errors
/// There is no place for it.
pub(crate) fn serve(
    shared: &Arc<Shared>,
    request: &Request<'_>,
    envelope: RequestMeta,
    parts: Box<Asked>,
) -> Result<Begun, Refusal> {
    let session = &shared.modern.session;
    let busy = |refusal: Refusal| refusal.answering(Some(request.id.clone()));
    let slot = shared.slot().map_err(busy)?;
    let principal = parts.extensions.get::<Principal>().cloned();
    let stream = Stream::of_request(&session.streams, parts, principal, false);
    let link: Arc<dyn Link> = Arc::<Stream>::clone(&stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.serve(request, envelope, exchange.clone()));
    match handle(reply, &exchange, &shared.threads) {
        Handled::Ended(outcome) => {
            exchange.settle();
            let response = respond(session, stream, exchange.id(), &outcome);
            Ok(Begun::Answered(response))
        }
        Handled::Waits(future) => {
            let slot = match exchange.is_endless() {
                true => shared.lasting_slot().map_err(busy)?,
                false => slot,
            };
            let seat = shared.modern.live.enter(&exchange, slot);
            if session.streams.closed().is_some() {
                // The end came before this one was on the table.
                exchange.cancel();
            }
            Ok(Begun::Runs(Call {
                seat,
                running: Running::new(exchange, future),
                stream,
                session: Arc::clone(session),
                limit: session.inbound.deadline(),
                began: Instant::now(),
            }))
        }
    }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST)
}

/// The response to something that has ended: JSON, unless something was said before; then a
/// stream, whole.
fn respond(
    session: &Arc<HttpSession>,
    stream: Arc<Stream>,
    id: &RequestId,
    outcome: &Outcome,
) -> Response<Body> {
    let answer = render(id, outcome);
    if stream.is_started() {
        stream.finish(Some(&answer.into_whole()));
        return event_stream(Body::events(Events::new(session, stream, 0)));
    }
    let mut response = json(answer);
    if let Err(error) = outcome {
        *response.status_mut() = status(http_headers::response_status(error.code));
    }
    response
}

/// A request whose handler waits for something. Dropping it cancels the request.
///
/// Specification: streamable HTTP, cancellation.
pub(crate) struct Call {
    /// First, so that the handler is dropped as one that was cancelled.
    seat: Seat,
    running: Running,
    stream: Arc<Stream>,
    session: Arc<HttpSession>,
    limit: Option<Duration>,
    began: Instant,
}

enum Turn {
    Ended(Outcome),
    /// The response becomes a stream.
    Streams,
}

impl Call {
    /// Waits for the answer, for the first thing that is said before it, or until it takes too
    /// long.
    pub(crate) async fn attend(mut self, keep_alive: Duration) -> Response<Body> {
        // Only what waits needs a timer.
        let first = std::future::poll_fn(|cx| Poll::Ready(self.poll(cx))).await;
        let turn = match first {
            Poll::Ready(turn) => turn,
            Poll::Pending => self.wait(keep_alive).await,
        };
        match turn {
            Turn::Streams => self.stream(),
            Turn::Ended(outcome) => self.answer(&outcome),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        match Pin::new(&mut self.running).poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Turn::Ended(outcome)),
            Poll::Pending if self.stream.poll_started(cx) => Poll::Ready(Turn::Streams),
            Poll::Pending => Poll::Pending,
        }
    }

    async fn wait(&mut self, keep_alive: Duration) -> Turn {
        let quiet = self.began + keep_alive;
        loop {
            let until = self
                .deadline()
                .map_or(quiet, |deadline| deadline.min(quiet));
            let turn = std::future::poll_fn(|cx| self.poll(cx));
            if let Ok(turn) = timeout_at(until, turn).await {
                return turn;
            }
            if self.deadline().is_some_and(|deadline| deadline <= until) {
                return Turn::Ended(self.expire());
            }
            if quiet <= until {
                return Turn::Streams;
            }
        }
    }

    /// When it has to be answered. That may change: what is meant to last says so once it runs.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.limit?;
        let is_endless = self.running.exchange().is_endless();
        (!is_endless).then(|| self.began + limit)
    }

    fn expire(&mut self) -> Outcome {
        self.running.end(Err(expired(self.limit)))
    }

    fn answer(self, outcome: &Outcome) -> Response<Body> {
        let exchange = self.running.exchange();
        if !exchange.settle() {
            // Its client is there, so it was not who cancelled it.
            let refusal = Refusal::busy("the server is shutting down");
            return refusal
                .answering(Some(exchange.id().clone()))
                .into_response();
        }
        respond(
            &self.session,
            Arc::clone(&self.stream),
            exchange.id(),
            outcome,
        )
    }

    fn stream(self) -> Response<Body> {
        self.stream.start();
        let mut events = Events::new(&self.session, Arc::clone(&self.stream), 0);
        events.hold(self.seat.share());
        tokio::spawn(self.finish());
        event_stream(Body::events(events))
    }

    /// Runs to the end, whoever ends it.
    async fn finish(mut self) {
        let outcome = loop {
            let Some(deadline) = self.deadline() else {
                break (&mut self.running).await;
            };
            match timeout_at(deadline, &mut self.running).await {
                Ok(outcome) => break outcome,
                Err(_) if self.deadline().is_some() => break self.expire(),
                Err(_) => {}
            }
        };
        let exchange = self.running.exchange();
        let outcome = if exchange.settle() {
            outcome
        } else {
            // Whoever went away does not read this.
            Err(ErrorObject::internal("the server is shutting down"))
        };
        let answer = render(exchange.id(), &outcome).into_whole();
        self.stream.finish(Some(&answer));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Whoever reads the stream must not wait for what will not come.
        if self.stream.is_started() {
            self.stream.finish(None);
        }
    }
}
