//! Requests of this side, sent over the pipe.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_types::method;

use super::Mux;
use crate::{Answer, CallError, Closed, Extras, Kept, MethodName, SentId};

/// A call over a pipe. It waits until the output queue is not full, queues the request, and waits for the response.
pub(super) struct MuxCall {
    mux: Arc<Mux>,
    method: MethodName,
    /// Receives the id of the request when the request is sent.
    sent_id: Option<SentId>,
    /// A value that is kept until the request is written.
    kept: Option<Kept>,
    stage: Stage,
}

enum Stage {
    Queued(Option<Vec<u8>>),
    Sent(i64),
    Done,
}

impl MuxCall {
    pub(super) fn new(
        mux: Arc<Mux>,
        method: MethodName,
        params: Option<Vec<u8>>,
        extras: Extras,
    ) -> Self {
        Self {
            mux,
            method,
            sent_id: extras.id,
            kept: extras.kept,
            stage: Stage::Queued(params),
        }
    }

    fn send(&mut self, params: Option<&[u8]>) -> Result<i64, CallError> {
        let id = self.mux.outgoing.open()?;
        if let Some(sent_id) = &self.sent_id {
            sent_id.set(id);
        }
        let method = &self.method;
        let write = |out: &mut Vec<u8>| write_request(out, &RequestId::Number(id), method, params);
        self.mux.outbox.push_keeping(self.kept.take(), write);
        Ok(id)
    }
}

impl Future for MuxCall {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::Queued(_) = self.stage {
            if self.mux.outbox.poll_room(cx).is_pending() {
                return Poll::Pending;
            }
            let Stage::Queued(params) = std::mem::replace(&mut self.stage, Stage::Done) else {
                return Poll::Pending;
            };
            match self.send(params.as_deref()) {
                Ok(id) => self.stage = Stage::Sent(id),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Stage::Sent(id) = self.stage else {
            return Poll::Ready(Err(CallError::Closed(Closed::local())));
        };
        let answer = self.mux.outgoing.poll(id, cx);
        if answer.is_ready() {
            self.stage = Stage::Done;
        }
        answer
    }
}

impl Drop for MuxCall {
    /// Sends a cancellation, unless the response was received. Sends no cancellation for `initialize`, which must not be
    /// cancelled. Also sends no cancellation for `server/discover`, because a server that does not answer this request may not
    /// support cancellations.
    fn drop(&mut self) {
        let Stage::Sent(id) = self.stage else {
            return;
        };
        let is_opening = matches!(&*self.method, method::INITIALIZE | method::SERVER_DISCOVER);
        if !self.mux.outgoing.withdraw(id) {
            return;
        }
        if let Some(sent_id) = &self.sent_id {
            sent_id.set_problem(self.mux.outgoing.problem(id));
        }
        if is_opening {
            return;
        }
        let params = format!(
            "{{\"requestId\":{id},\"reason\":\"the caller no longer waits for the response\"}}"
        );
        self.mux.outbox.push(|out| {
            write_notification(
                out,
                method::NOTIFICATIONS_CANCELLED,
                Some(params.as_bytes()),
            );
        });
    }
}
