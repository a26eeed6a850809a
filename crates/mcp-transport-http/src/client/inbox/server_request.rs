//! Server requests. The response to each of them is a separate POST.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::client::deliver::{DeliveryError, deliver};
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use bytes::Bytes;
use mcp_jsonrpc::{ErrorObject, Request, RequestId, write_error, write_result};
use mcp_protocol::{
    AdmissionError, BoxFuture, Exchange, Link, Outcome, Reply, Running, expired, guarded,
};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

struct ServerRequest {
    state: Arc<ClientState>,
    /// The session in which the server sent the request. The response is sent only in this session.
    session: Arc<Session>,
    exchange: Exchange,
    permit: OwnedSemaphorePermit,
}

/// Runs the handler of a server request. A task sends the response.
pub(crate) fn handle(state: &Arc<ClientState>, session: &Arc<Session>, request: &Request<'_>) {
    let Some(permit) = take_permit(state) else {
        return;
    };
    match state.incoming.admit(request) {
        Ok(()) => {}
        Err(AdmissionError::Full(error)) => {
            return send_error(state, session, permit, &request.id, &error);
        }
        // A running request has this id. The server would take an error with the id as the response to that request.
        Err(refused) => {
            tracing::warn!(%refused, "dropped a server request");
            return;
        }
    }
    let link: Arc<dyn Link> = Arc::<ClientState>::clone(state);
    let server_request = ServerRequest {
        state: Arc::clone(state),
        session: Arc::clone(session),
        exchange: Exchange::new(request.id.clone(), link),
        permit,
    };
    let reply = guarded(|| {
        state
            .inbound
            .request(request, server_request.exchange.clone())
    });
    match reply {
        Ok(Reply::Ready(outcome)) => server_request.settle(&outcome),
        Ok(Reply::Pending(handler)) => server_request.run(handler),
        Ok(Reply::Blocking(work)) => server_request.run_blocking(work),
        Ok(_) => server_request.settle(&Err(ErrorObject::internal(
            "the handler returned an unknown \
         kind of reply",
        ))),
        Err(panicked) => server_request.settle(&Err(panicked)),
    }
}

/// Sends an error response for a message that was meant as a request but is invalid.
pub(crate) fn refuse(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    id: &RequestId,
    error: &ErrorObject,
) {
    if let Some(permit) = take_permit(state).filter(|_| !state.incoming.contains(id)) {
        send_error(state, session, permit, id, error);
    }
}

/// Takes a permit for one server request. If there is no permit, the request gets no response.
fn take_permit(state: &ClientState) -> Option<OwnedSemaphorePermit> {
    let permit = Arc::clone(&state.permits.server_requests).try_acquire_owned();
    if permit.is_err() {
        tracing::warn!(
            limit = state.options.limits.incoming,
            "dropped a server request: too many server requests have no response yet, the limit is twice MuxLimits::incoming"
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
    /// Polls the handler once. If it is still pending, continues it in a task.
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
                "{limit} blocking handlers are running, the limit of \
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

    /// Waits for the outcome in a task, up to the deadline.
    fn wait(self, handler: impl Future<Output = Outcome> + Send + 'static) {
        let state = Arc::clone(&self.state);
        state.incoming.insert(&self.exchange);
        if state.closed().is_some() {
            // The connection was closed before the exchange was in the table.
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

    /// Sends the response in a task. Meanwhile, the stream can be read.
    fn settle(self, outcome: &Outcome) {
        if let Some(message) = self.answer(outcome) {
            let state = Arc::clone(&self.state);
            state.tasks.spawn(async move {
                post(&self.state, &self.session, message).await;
                drop(self.permit);
            });
        }
    }

    /// Returns the response as a message. Returns `None` if the request was cancelled.
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
            tracing::debug!("a response was not delivered: the server has lost the session");
            state.session_lost(session);
        }
        Err(DeliveryError::Failed(error)) => {
            tracing::warn!(%error, "a response was not delivered");
        }
    }
}
