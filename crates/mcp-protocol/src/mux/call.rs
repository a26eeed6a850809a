//! Requests of this side, written into the pipe.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_types::method;

use super::Mux;
use crate::{Answer, CallError, Closed, SentId};

/// A call on a pipe: waits for room, writes the request, waits for the answer.
pub(super) struct MuxCall {
    mux: Arc<Mux>,
    method: &'static str,
    /// Wants to know the id.
    told: Option<SentId>,
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
        method: &'static str,
        params: Option<Vec<u8>>,
        told: Option<SentId>,
    ) -> Self {
        Self {
            mux,
            method,
            told,
            stage: Stage::Queued(params),
        }
    }

    fn send(&self, params: Option<&[u8]>) -> Result<i64, CallError> {
        let id = self.mux.outgoing.open()?;
        if let Some(told) = &self.told {
            told.set(id);
        }
        self.mux
            .outbox
            .push(|out| write_request(out, &RequestId::Number(id), self.method, params));
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
    /// Cancels on the wire, unless there is an answer; `initialize` may not be cancelled, and a
    /// server that is silent when it is asked what it is may not know what a cancellation is.
    fn drop(&mut self) {
        let Stage::Sent(id) = self.stage else {
            return;
        };
        let is_opening = matches!(self.method, method::INITIALIZE | method::SERVER_DISCOVER);
        if !self.mux.outgoing.withdraw(id) || is_opening {
            return;
        }
        let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
        self.mux.outbox.push(|out| {
            write_notification(
                out,
                method::NOTIFICATIONS_CANCELLED,
                Some(params.as_bytes()),
            );
        });
    }
}
