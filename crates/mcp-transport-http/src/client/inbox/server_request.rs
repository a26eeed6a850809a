//! Questions of the server, and their answers, each a POST of its own.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::client::outbox::deliver::{Undelivered, deliver};
use crate::client::session::current::Facts;
use crate::client::state::Core;
use bytes::Bytes;
use mcp_jsonrpc::{ErrorObject, Request, RequestId, write_error, write_result};
use mcp_protocol::{
    AdmissionError, BoxFuture, Exchange, Link, Outcome, Reply, Running, expired, guarded,
};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// One question, and where its answer goes.
struct Question {
    core: Arc<Core>,
    /// The session it was asked in; in another one nobody waits for the answer.
    facts: Arc<Facts>,
    exchange: Exchange,
    place: OwnedSemaphorePermit,
}

/// Answers a question: at once, or from a task.
pub(crate) fn ask(core: &Arc<Core>, facts: &Arc<Facts>, request: &Request<'_>) {
    let Some(place) = place(core) else {
        return;
    };
    match core.incoming.admit(request) {
        Ok(()) => {}
        Err(AdmissionError::Full(error)) => {
            return send_error(core, facts, place, &request.id, &error);
        }
        // An error with this id would be taken for the answer to the first.
        Err(refused) => {
            tracing::warn!(%refused, "dropped a question");
            return;
        }
    }
    let link: Arc<dyn Link> = Arc::<Core>::clone(core);
    let question = Question {
        core: Arc::clone(core),
        facts: Arc::clone(facts),
        exchange: Exchange::new(request.id.clone(), link),
        place,
    };
    let reply = guarded(|| core.inbound.request(request, question.exchange.clone()));
    match reply {
        Ok(Reply::Ready(outcome)) => question.settle(&outcome),
        Ok(Reply::Pending(handler)) => question.run(handler),
        Ok(Reply::Blocking(work)) => question.run_blocking(work),
        Ok(_) => question.settle(&Err(ErrorObject::internal("this cannot be answered"))),
        Err(panicked) => question.settle(&Err(panicked)),
    }
}

/// Answers something that is no request, but was meant as one.
pub(crate) fn refuse(core: &Arc<Core>, facts: &Arc<Facts>, id: &RequestId, error: &ErrorObject) {
    if let Some(place) = place(core).filter(|_| !core.incoming.contains(id)) {
        send_error(core, facts, place, id, error);
    }
}

/// A place among what is not answered yet; without one a server gets no answer.
fn place(core: &Core) -> Option<OwnedSemaphorePermit> {
    let place = Arc::clone(&core.places.questions).try_acquire_owned();
    if place.is_err() {
        tracing::warn!(
            limit = core.options.limits.incoming,
            "dropped a question, twice MuxLimits::incoming are not answered yet"
        );
    }
    place.ok()
}

fn send_error(
    core: &Arc<Core>,
    facts: &Arc<Facts>,
    place: OwnedSemaphorePermit,
    id: &RequestId,
    error: &ErrorObject,
) {
    let mut message = Vec::new();
    write_error(&mut message, Some(id), error);
    let (shared, facts) = (Arc::clone(core), Arc::clone(facts));
    core.tasks.spawn(async move {
        post(&shared, &facts, message.into()).await;
        drop(place);
    });
}

impl Question {
    /// Polls the handler in place; what waits becomes a task.
    fn run(self, handler: BoxFuture<'static, Outcome>) {
        let mut running = Running::new(self.exchange.clone(), handler);
        if let Poll::Ready(outcome) = running.poll_handler(&mut Context::from_waker(Waker::noop()))
        {
            return self.settle(&outcome);
        }
        self.wait(running);
    }

    fn run_blocking(self, work: Box<dyn FnOnce() -> Outcome + Send>) {
        let threads = &self.core.places.threads;
        let Some(thread) = threads.take() else {
            let limit = threads.limit;
            return self.settle(&Err(ErrorObject::internal(format!(
                "{limit} blocking handlers are under way, the limit of \
                 ClientOptions::with_blocking"
            ))));
        };
        let work = self.core.tasks.spawn_blocking(move || {
            let outcome = guarded(work);
            drop(thread);
            outcome
        });
        self.wait(async move {
            match work.await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(panicked)) => Err(panicked),
                Err(_) => Err(ErrorObject::internal("the handler was dropped")),
            }
        });
    }

    /// Waits for the outcome in a task, no longer than allowed.
    fn wait(self, handler: impl Future<Output = Outcome> + Send + 'static) {
        let core = Arc::clone(&self.core);
        core.incoming.insert(&self.exchange);
        if core.closed().is_some() {
            // Closing took the table before this one was on it.
            self.exchange.cancel();
        }
        core.tasks.spawn(async move {
            let deadline = self.core.inbound.deadline();
            let outcome = match deadline {
                None => handler.await,
                Some(limit) => match timeout(limit, handler).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(expired(deadline)),
                },
            };
            self.core.incoming.forget(&self.exchange);
            if let Some(message) = self.answer(&outcome) {
                post(&self.core, &self.facts, message).await;
            }
        });
    }

    /// Sends the outcome from a task: whoever reads the stream does not wait for it.
    fn settle(self, outcome: &Outcome) {
        if let Some(message) = self.answer(outcome) {
            let core = Arc::clone(&self.core);
            core.tasks.spawn(async move {
                post(&self.core, &self.facts, message).await;
                drop(self.place);
            });
        }
    }

    /// The message that answers, unless nobody wants it any more.
    fn answer(&self, outcome: &Outcome) -> Option<Bytes> {
        if !self.exchange.settle() {
            return None;
        }
        let id = self.exchange.id();
        let mut message = Vec::new();
        match outcome {
            Ok(payload) => write_result(&mut message, id, |out| payload.write(out)),
            Err(error) => write_error(&mut message, Some(id), error),
        }
        Some(message.into())
    }
}

async fn post(core: &Arc<Core>, facts: &Arc<Facts>, message: Bytes) {
    match deliver(core, facts, message).await {
        Ok(()) => {}
        Err(Undelivered::SessionLost) => {
            tracing::debug!("an answer was not delivered, the server forgot the session");
            core.session_lost(facts);
        }
        Err(Undelivered::Failed(error)) => {
            tracing::warn!(%error, "an answer was not delivered");
        }
    }
}
