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
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::response::refusal::Refusal;
use crate::server::response::text::JsonText;
use crate::server::running::items::{BatchItem, render, status};
use crate::server::running::outcome::PostOutcome;
use crate::server::running::pending::PendingCall;
use crate::server::session::HttpSession;
use crate::server::standard_headers::{check_param_headers, standard_headers};
use crate::server::state::{EndpointState, SUBSCRIPTION};
use crate::server::stream::Stream;

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
/// [`AdmissionError::Duplicate`] if the request id is in use, [`AdmissionError::Full`] if the session already has the maximum
/// number of running requests.
pub(crate) fn start(
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
    threads: &Capacity,
) -> Result<Progress<JsonText, BatchItem>, AdmissionError> {
    if session.has_id() {
        session.incoming.admit(request)?;
    }
    let link: Arc<dyn Link> = Arc::<Stream>::clone(stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.answer(request, exchange.clone()));
    let done = |outcome: &Outcome| {
        // Nothing else can have ended this exchange.
        exchange.settle();
        Ok(Progress::Done(render(stream, exchange.id(), outcome)))
    };
    // Borrowed, because an outcome is large and moving it costs more than rendering a short one.
    let future = match &reply {
        Ok(Reply::Ready(outcome)) => return done(outcome),
        _ => match progress_of(reply, &exchange, threads) {
            Progress::Done(outcome) => return done(&outcome),
            Progress::Running(future) => future,
        },
    };
    if session.has_id() && !session.incoming.insert(&exchange) {
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
    state: &EndpointState,
    request: &Request<'_>,
    raw: &RawRequestMeta<'_>,
    headers: &HeaderMap,
    mcp_headers: &McpHeaders<'_>,
) -> Result<RequestMeta, Refusal> {
    let repeated = standard_headers(mcp_headers);
    let admitted = guarded(|| {
        let inbound = &state.stateless.session.inbound;
        let meta = inbound.admit(request, raw, Some(&repeated))?;
        check_param_headers(&*state.service, request, headers, repeated.name)?;
        Ok(meta)
    });
    admitted.and_then(|checked| checked).map_err(|error| {
        let status = status(http_headers::admission_status(error.code));
        Refusal::with_error(status, error).with_id(Some(request.id.clone()))
    })
}

/// Calls the handler of a request that [`admit_stateless`] has checked.
///
/// # Errors
/// A limit is reached.
pub(crate) fn start_stateless(
    state: &EndpointState,
    request: &Request<'_>,
    meta: RequestMeta,
    head: Box<RequestHead>,
) -> Result<Progress<PostOutcome, PendingCall>, Refusal> {
    let session = &state.stateless.session;
    let busy = |refusal: Refusal| refusal.with_id(Some(request.id.clone()));
    let permit = state.request_permit(&head).map_err(busy)?;
    let principal = head.extensions.get::<Principal>().cloned();
    let stream = Stream::for_request(&session.streams, head, principal, None, false);
    let link: Arc<dyn Link> = Arc::<Stream>::clone(&stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let client = Arc::clone(&meta.client);
    let reply = guarded(|| session.inbound.serve(request, meta, exchange.clone()));
    match progress_of(reply, &exchange, &state.threads) {
        Progress::Done(outcome) => {
            exchange.settle();
            let text = render(&stream, exchange.id(), &outcome);
            let status = outcome_status(&outcome);
            let mut outcome = PostOutcome::of_call(session, stream, Some(text), status);
            outcome.hold(permit);
            Ok(Progress::Done(outcome))
        }
        Progress::Running(future) => {
            let (permit, memory) = if exchange.is_endless() || exchange.is_unlimited() {
                let permit = state.subscription_permit(stream.owner()).map_err(busy)?;
                let bytes = SUBSCRIPTION + client.memory();
                let memory = stream.head().map(|head| state.stream_permit(head, bytes));
                (permit, memory.transpose().map_err(busy)?)
            } else {
                (permit, None)
            };
            let guard = state.stateless.running.insert(&exchange, permit, memory);
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

/// Returns the state of a request whose handler returned `reply` or panicked.
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
            tracing::error!(?other, "a handler returned an unknown kind of reply");
            let error = ErrorObject::internal("this transport cannot run the handler");
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
            "{} blocking handlers are running, the limit of RequestLimits::max_blocking_handlers",
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
