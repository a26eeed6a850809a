//! Starts the handler of a request.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, Request};
use mcp_protocol::{AdmissionError, BoxFuture, Exchange, Link, Outcome, Reply, Running, guarded};

use crate::permit::Capacity;
use crate::server::response::text::{Text, render};
use crate::server::running::pending::Member;
use crate::server::session::HttpSession;
use crate::server::stream::Stream;

/// What a request has come to after its handler was called.
pub(crate) enum Begun {
    /// This is the answer.
    Answer(Text),
    /// It runs.
    Runs(Member),
}

/// Calls the handler of one request.
///
/// # Errors
/// It may not start.
pub(crate) fn begin(
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
    threads: &Capacity,
) -> Result<Begun, AdmissionError> {
    if session.is_kept() {
        session.incoming.admit(request)?;
    }
    let link: Arc<dyn Link> = Arc::<Stream>::clone(stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.answer(request, exchange.clone()));
    let future = match handle(reply, &exchange, threads) {
        Handled::Ended(outcome) => return Ok(Begun::Answer(settle(&exchange, &outcome))),
        Handled::Waits(future) => future,
    };
    if session.is_kept() && !session.incoming.insert(&exchange) {
        // Another request took the id between the two looks at the table.
        return Err(AdmissionError::Duplicate(ErrorObject::invalid_request(
            format!(
                "request id {} is in use by a request that is still running",
                exchange.id()
            ),
        )));
    }
    if session.streams.closed().is_some() {
        // The session ended before this one was on the table.
        exchange.cancel();
    }
    Ok(Begun::Runs(Member::running(Running::new(exchange, future))))
}

/// What a handler has come to after it was called.
pub(crate) enum Handled {
    Ended(Outcome),
    Waits(BoxFuture<'static, Outcome>),
}

/// Whatever kind of reply it is, and one that panicked: an outcome, or a future of it.
pub(crate) fn handle(
    reply: Result<Reply, ErrorObject>,
    exchange: &Exchange,
    threads: &Capacity,
) -> Handled {
    match reply {
        Ok(Reply::Ready(outcome)) => Handled::Ended(outcome),
        Ok(Reply::Pending(future)) => Handled::Waits(future),
        Ok(Reply::Blocking(work)) => match run_blocking(work, exchange, threads) {
            Ok(future) => Handled::Waits(future),
            Err(error) => Handled::Ended(Err(error)),
        },
        Ok(other) => {
            tracing::error!(?other, "unknown kind of reply");
            let error = ErrorObject::internal("the handler cannot be run here");
            Handled::Ended(Err(error))
        }
        Err(panicked) => Handled::Ended(Err(panicked)),
    }
}

fn run_blocking(
    work: Box<dyn FnOnce() -> Outcome + Send>,
    exchange: &Exchange,
    threads: &Capacity,
) -> Result<BoxFuture<'static, Outcome>, ErrorObject> {
    let Some(thread) = threads.try_acquire() else {
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
        drop(thread);
        outcome
    });
    Ok(Box::pin(async move {
        let lost = |_| Err(ErrorObject::internal("the handler was dropped"));
        task.await.unwrap_or_else(lost)
    }))
}

/// The answer, for an exchange that nothing else can have ended.
fn settle(exchange: &Exchange, outcome: &Outcome) -> Text {
    exchange.settle();
    render(exchange.id(), outcome)
}
