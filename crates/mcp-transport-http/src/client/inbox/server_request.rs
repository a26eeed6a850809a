//! Questions of the server, and their answers, each a POST of its own.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::client::outbox::deliver::{DeliveryError, deliver};
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use bytes::Bytes;
use mcp_jsonrpc::{ErrorObject, Request, RequestId, write_error, write_result};
use mcp_protocol::{
    AdmissionError, BoxFuture, Exchange, Link, Outcome, Reply, Running, expired, guarded,
};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// One question, and where its answer goes.
struct ServerRequest {
    state: Arc<ClientState>,
    /// The session it was asked in; in another one nobody waits for the answer.
    session: Arc<Session>,
    exchange: Exchange,
    permit: OwnedSemaphorePermit,
}

/// Answers a question: at once, or from a task.
pub(crate) fn ask(state: &Arc<ClientState>, session: &Arc<Session>, request: &Request<'_>) {
    let Some(permit) = permit(state) else {
        return;
    };
    match state.incoming.admit(request) {
        Ok(()) => {}
        Err(AdmissionError::Full(error)) => {
            return send_error(state, session, permit, &request.id, &error);
        }
        // An error with this id would be taken for the answer to the first.
        Err(refused) => {
            tracing::warn!(%refused, "dropped a question");
            return;
        }
    }
    let link: Arc<dyn Link> = Arc::<ClientState>::clone(state);
    let question = ServerRequest {
        state: Arc::clone(state),
        session: Arc::clone(session),
        exchange: Exchange::new(request.id.clone(), link),
        permit,
    };
    let reply = guarded(|| state.inbound.request(request, question.exchange.clone()));
    match reply {
        Ok(Reply::Ready(outcome)) => question.settle(&outcome),
        Ok(Reply::Pending(handler)) => question.run(handler),
        Ok(Reply::Blocking(work)) => question.run_blocking(work),
        Ok(_) => question.settle(&Err(ErrorObject::internal("this cannot be answered"))),
        Err(panicked) => question.settle(&Err(panicked)),
    }
}

/// Answers something that is no request, but was meant as one.
pub(crate) fn refuse(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    id: &RequestId,
    error: &ErrorObject,
) {
    if let Some(permit) = permit(state).filter(|_| !state.incoming.contains(id)) {
        send_error(state, session, permit, id, error);
    }
}

/// A permit among what is not answered yet; without one a server gets no answer.
fn permit(state: &ClientState) -> Option<OwnedSemaphorePermit> {
    let permit = Arc::clone(&state.permits.server_requests).try_acquire_owned();
    if permit.is_err() {
        tracing::warn!(
            limit = state.options.limits.incoming,
            "dropped a question, twice MuxLimits::incoming are not answered yet"
        );
    }
    permit.ok()
}

fn send_error(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    permit: OwnedSemaphorePermit,
    id: &RequestId,
    error: &ErrorObject,
) {
    let mut message = Vec::new();
    write_error(&mut message, Some(id), error);
    let (shared, session) = (Arc::clone(state), Arc::clone(session));
    state.tasks.spawn(async move {
        post(&shared, &session, message.into()).await;
        drop(permit);
    });
}

impl ServerRequest {
    /// Polls the handler in permit; what waits becomes a task.
    fn run(self, handler: BoxFuture<'static, Outcome>) {
        let mut running = Running::new(self.exchange.clone(), handler);
        if let Poll::Ready(outcome) = running.poll_handler(&mut Context::from_waker(Waker::noop()))
        {
            return self.settle(&outcome);
        }
        self.wait(running);
    }

    fn run_blocking(self, work: Box<dyn FnOnce() -> Outcome + Send>) {
        let threads = &self.state.permits.threads;
        let Some(thread) = threads.try_acquire() else {
            let limit = threads.limit();
            return self.settle(&Err(ErrorObject::internal(format!(
                "{limit} blocking handlers are under way, the limit of \
                 ClientOptions::with_max_blocking_handlers"
            ))));
        };
        let work = self.state.tasks.spawn_blocking(move || {
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
        let state = Arc::clone(&self.state);
        state.incoming.insert(&self.exchange);
        if state.closed().is_some() {
            // Closing took the table before this one was on it.
            self.exchange.cancel();
        }
        state.tasks.spawn(async move {
            let deadline = self.state.inbound.deadline();
            let outcome = match deadline {
                None => handler.await,
                Some(limit) => match timeout(limit, handler).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(expired(deadline)),
                },
            };
            self.state.incoming.forget(&self.exchange);
            if let Some(message) = self.answer(&outcome) {
                post(&self.state, &self.session, message).await;
            }
        });
    }

    /// Sends the outcome from a task: whoever reads the stream does not wait for it.
    fn settle(self, outcome: &Outcome) {
        if let Some(message) = self.answer(outcome) {
            let state = Arc::clone(&self.state);
            state.tasks.spawn(async move {
                post(&self.state, &self.session, message).await;
                drop(self.permit);
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

async fn post(state: &Arc<ClientState>, session: &Arc<Session>, message: Bytes) {
    match deliver(state, session, message).await {
        Ok(()) => {}
        Err(DeliveryError::SessionLost) => {
            tracing::debug!("an answer was not delivered, the server forgot the session");
            state.session_lost(session);
        }
        Err(DeliveryError::Failed(error)) => {
            tracing::warn!(%error, "an answer was not delivered");
        }
    }
}
