//! Starts the handler of a request.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use mcp_jsonrpc::{ErrorObject, Request};
use mcp_protocol::http_headers;
use mcp_protocol::modern::{RawRequestMeta, RequestMeta};
use mcp_protocol::{
    AdmissionError, BoxFuture, Exchange, Link, Outcome, Principal, Reply, Running, guarded,
};

use crate::permit::Capacity;
use crate::server::request::head::{Asked, Heads};
use crate::server::request::revision::{check_params, standard};
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;
use crate::server::response::text::{Text, render};
use crate::server::running::pending::{BatchItem, PendingCall, respond, status};
use crate::server::session::HttpSession;
use crate::server::state::Shared;
use crate::server::stream::Stream;
use http::Response;

/// State of a request after its handler was called.
pub(crate) enum Progress<T, P> {
    /// The handler has finished.
    Done(T),
    /// The handler is still running.
    Running(P),
}

/// Calls the handler of one request of a session.
///
/// # Errors
/// [`AdmissionError::Duplicate`] if the request id is in use, [`AdmissionError::Full`] if the session already
/// has as many running requests as it may.
pub(crate) fn start(
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
    threads: &Capacity,
) -> Result<Progress<Text, BatchItem>, AdmissionError> {
    if session.is_kept() {
        session.incoming.admit(request)?;
    }
    let link: Arc<dyn Link> = Arc::<Stream>::clone(stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.answer(request, exchange.clone()));
    let future = match progress_of(reply, &exchange, threads) {
        Progress::Done(outcome) => {
            // Nothing else can have ended this exchange.
            exchange.settle();
            return Ok(Progress::Done(render(exchange.id(), &outcome)));
        }
        Progress::Running(future) => future,
    };
    if session.is_kept() && !session.incoming.insert(&exchange) {
        // Another request took the id after `admit`.
        return Err(AdmissionError::Duplicate(ErrorObject::invalid_request(
            format!(
                "request id {} is in use by a request that is still running",
                exchange.id()
            ),
        )));
    }
    if session.streams.closed().is_some() {
        // The session ended before this request was in the table.
        exchange.cancel();
    }
    let running = Running::new(exchange, future);
    Ok(Progress::Running(BatchItem::running(running)))
}

/// Checks a request of the stateless revision.
///
/// # Errors
/// The first check that fails.
pub(crate) fn admit_stateless(
    shared: &Shared,
    request: &Request<'_>,
    claim: &RawRequestMeta<'_>,
    headers: &HeaderMap,
    heads: &Heads<'_>,
) -> Result<RequestMeta, Refusal> {
    let repeated = standard(heads);
    let admitted = guarded(|| {
        let inbound = &shared.modern.session.inbound;
        let envelope = inbound.admit(request, claim, Some(&repeated))?;
        check_params(&*shared.service, request, headers, repeated.name)?;
        Ok(envelope)
    });
    admitted.and_then(|checked| checked).map_err(|error| {
        let status = status(http_headers::admission_status(error.code));
        Refusal::with_error(status, error).answering(Some(request.id.clone()))
    })
}

/// Calls the handler of a request that passed [`admit_stateless`].
///
/// # Errors
/// A limit is reached.
pub(crate) fn start_stateless(
    shared: &Shared,
    request: &Request<'_>,
    envelope: RequestMeta,
    parts: Box<Asked>,
) -> Result<Progress<Response<Body>, PendingCall>, Refusal> {
    let session = &shared.modern.session;
    let busy = |refusal: Refusal| refusal.answering(Some(request.id.clone()));
    let permit = shared.slot().map_err(busy)?;
    let principal = parts.extensions.get::<Principal>().cloned();
    let stream = Stream::of_request(&session.streams, parts, principal, false);
    let link: Arc<dyn Link> = Arc::<Stream>::clone(&stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.serve(request, envelope, exchange.clone()));
    match progress_of(reply, &exchange, &shared.threads) {
        Progress::Done(outcome) => {
            exchange.settle();
            let text = render(exchange.id(), &outcome);
            let status = outcome_status(&outcome);
            Ok(Progress::Done(respond(session, stream, Some(text), status)))
        }
        Progress::Running(future) => {
            let permit = if exchange.is_endless() {
                shared.lasting_slot().map_err(busy)?
            } else {
                permit
            };
            let guard = shared.modern.live.enter(&exchange, permit);
            if session.streams.closed().is_some() {
                // The endpoint was closed before this request was in the table.
                exchange.cancel();
            }
            let item = BatchItem::running(Running::new(exchange, future));
            Ok(Progress::Running(PendingCall::stateless(
                session, stream, item, guard,
            )))
        }
    }
}

/// The state of a handler that returned `reply`, or panicked.
fn progress_of(
    reply: Result<Reply, ErrorObject>,
    exchange: &Exchange,
    threads: &Capacity,
) -> Progress<Outcome, BoxFuture<'static, Outcome>> {
    match reply {
        Ok(Reply::Ready(outcome)) => Progress::Done(outcome),
        Ok(Reply::Pending(future)) => Progress::Running(future),
        Ok(Reply::Blocking(work)) => match run_blocking(work, exchange, threads) {
            Ok(future) => Progress::Running(future),
            Err(error) => Progress::Done(Err(error)),
        },
        Ok(other) => {
            tracing::error!(?other, "unknown kind of reply");
            let error = ErrorObject::internal("the handler cannot be run here");
            Progress::Done(Err(error))
        }
        Err(panicked) => Progress::Done(Err(panicked)),
    }
}

fn run_blocking(
    work: Box<dyn FnOnce() -> Outcome + Send>,
    exchange: &Exchange,
    threads: &Capacity,
) -> Result<BoxFuture<'static, Outcome>, ErrorObject> {
    let Some(permit) = threads.try_acquire() else {
        return Err(ErrorObject::internal(format!(
            "{} blocking handlers are under way, the limit of Options::with_blocking",
            threads.limit()
        )));
    };
    let exchange = exchange.clone();
    let task = tokio::task::spawn_blocking(move || {
        let outcome = if exchange.is_running() {
            guarded(work).and_then(|outcome| outcome)
        } else {
            Err(ErrorObject::internal("the request has ended"))
        };
        drop(permit);
        outcome
    });
    Ok(Box::pin(async move {
        let lost = |_| Err(ErrorObject::internal("the handler was dropped"));
        task.await.unwrap_or_else(lost)
    }))
}

fn outcome_status(outcome: &Outcome) -> StatusCode {
    outcome.as_ref().err().map_or(StatusCode::OK, |error| {
        status(http_headers::response_status(error.code))
    })
}
