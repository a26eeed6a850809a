//! A request that waits for its answer.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::client::call::failure::Failure;
use crate::client::call::read::read;
use crate::client::call::response::Asked;
use crate::client::outbox::deliver;
use crate::client::outbox::queue::Note;
use crate::client::session::current::Facts;
use crate::client::state::Core;
use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_protocol::{Answer, Delivery};
use mcp_types::method;

/// Sends a request once and waits for its answer.
pub(crate) async fn attempt(
    core: &Arc<Core>,
    facts: &Arc<Facts>,
    method: &'static str,
    params: Option<&[u8]>,
) -> Result<Answer, Failure> {
    let pending = Pending::open(core, facts, method)?;
    let mut message = Vec::with_capacity(params.map_or(0, <[u8]>::len) + 128);
    write_request(&mut message, &RequestId::Number(pending.id), method, params);
    let asked = Asked {
        core,
        facts,
        method,
        id: pending.id,
    };
    let exchange = async {
        let response = core.post(facts, message.into()).await?;
        read(&asked, response).await
    };
    pending.answered_by(exchange).await
}

/// A request that may have an answer coming. Dropping it cancels the request.
pub(crate) struct Pending<'a> {
    core: &'a Arc<Core>,
    facts: &'a Arc<Facts>,
    method: &'static str,
    pub(crate) id: i64,
    wanted: bool,
}

impl<'a> Pending<'a> {
    pub(crate) fn open(
        core: &'a Arc<Core>,
        facts: &'a Arc<Facts>,
        method: &'static str,
    ) -> Result<Self, Failure> {
        Ok(Self {
            core,
            facts,
            method,
            id: core.outgoing.open().map_err(Failure::Final)?,
            wanted: true,
        })
    }

    /// Waits for the answer, which may come on the stream of another call too, or for the end of
    /// the connection.
    pub(crate) async fn answered_by(
        mut self,
        exchange: impl Future<Output = Result<Answer, Failure>>,
    ) -> Result<Answer, Failure> {
        let mut exchange = pin!(exchange);
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = self.core.outgoing.poll(self.id, cx) {
                return Poll::Ready(answer.map_err(Failure::Final));
            }
            exchange.as_mut().poll(cx)
        })
        .await;
        self.wanted = false;
        answer
    }
}

impl Drop for Pending<'_> {
    /// Cancels on the wire, unless there is an answer or the request is `initialize`, which may
    /// not be cancelled. What belongs to no session is cancelled by the end of its stream.
    fn drop(&mut self) {
        let waited = self.core.outgoing.withdraw(self.id);
        let has_session = !self.facts.claims && self.method != method::INITIALIZE;
        if !waited || !self.wanted || !has_session {
            return;
        }
        let params = format!(
            "{{\"requestId\":{},\"reason\":\"the caller gave up\"}}",
            self.id
        );
        let mut message = Vec::new();
        let params = Some(params.as_bytes());
        write_notification(&mut message, method::NOTIFICATIONS_CANCELLED, params);
        let note = Note {
            message: message.into(),
            session: Some(Arc::clone(self.facts)),
            opens: false,
        };
        deliver::enqueue(self.core, |core| &core.cancels, note, Delivery::Always);
    }
}
