//! A request that waits for its response.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::client::call::failure::{CallFailure, ResponseContext};
use crate::client::call::read::read;
use crate::client::deliver;
use crate::client::outbox::QueuedMessage;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::connection::RequestKind;
use mcp_jsonrpc::write_notification;
use mcp_protocol::{Answer, Delivery, SentId};
use mcp_types::method;

/// Sends a request once and waits for its response. `sent` receives the id of the request.
pub(crate) async fn attempt(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    method: &str,
    params: Option<&[u8]>,
    sent: Option<&SentId>,
) -> Result<Answer, CallFailure> {
    let pending = PendingRequest::open(state, session, method, sent)?;
    let context = pending.context;
    let message = context.message(params);
    let exchange = async {
        let response = state.send(session, RequestKind::Post(message)).await?;
        read(&context, response).await
    };
    pending.answered_by(exchange).await
}

/// A request in flight. Dropping it cancels the request.
pub(crate) struct PendingRequest<'a> {
    pub(crate) context: ResponseContext<'a>,
    wanted: bool,
}

impl<'a> PendingRequest<'a> {
    pub(crate) fn open(
        state: &'a Arc<ClientState>,
        session: &'a Arc<Session>,
        method: &'a str,
        sent: Option<&'a SentId>,
    ) -> Result<Self, CallFailure> {
        let context = ResponseContext {
            state,
            session,
            method,
            id: state.outgoing.open().map_err(CallFailure::Final)?,
            sent,
        };
        if let Some(sent) = sent {
            sent.set(context.id);
        }
        Ok(Self {
            context,
            wanted: true,
        })
    }

    /// Waits for the response or for the end of the connection. The response can also arrive on the event stream of another call.
    pub(crate) async fn answered_by(
        mut self,
        exchange: impl Future<Output = Result<Answer, CallFailure>>,
    ) -> Result<Answer, CallFailure> {
        let mut exchange = pin!(exchange);
        let ResponseContext { state, id, .. } = self.context;
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = state.outgoing.poll(id, cx) {
                return Poll::Ready(answer.map_err(CallFailure::Final));
            }
            exchange.as_mut().poll(cx)
        })
        .await;
        self.wanted = false;
        answer
    }
}

impl Drop for PendingRequest<'_> {
    /// Sends `notifications/cancelled` if the response has not arrived. Sends nothing for `initialize`, which cannot be
    /// cancelled. Also sends nothing for a request of the stateless revision, which is cancelled by closing its stream.
    fn drop(&mut self) {
        let ResponseContext {
            state,
            session,
            method,
            id,
            sent,
        } = self.context;
        let waited = state.outgoing.withdraw(id);
        if let (true, Some(sent), Some(problem)) = (waited, sent, state.outgoing.problem(id)) {
            sent.set_problem(Some(problem));
        }
        let has_session = !session.is_stateless && method != method::INITIALIZE;
        if !waited || !self.wanted || !has_session {
            return;
        }
        let params = format!("{{\"requestId\":{id},\"reason\":\"the caller cancelled the call\"}}");
        let mut message = Vec::new();
        let params = Some(params.as_bytes());
        write_notification(&mut message, method::NOTIFICATIONS_CANCELLED, params);
        let note = QueuedMessage {
            message: message.into(),
            session: Some(Arc::clone(session)),
            is_initialized: false,
        };
        deliver::enqueue(state, |state| &state.cancels, note, Delivery::Always);
    }
}
