//! Questions of a handler to its client.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_protocol::{
    Answer, Call, CallError, Closed, Delivery, Grant, Link, Principal, TransportError,
};
use mcp_types::method;

use super::Stream;

impl Link for Stream {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        self.push(delivery, |out| write_notification(out, method, params))
    }

    fn request(&self, method: &'static str, params: Option<Vec<u8>>) -> Call {
        if self.streams.identity.is_none() {
            let error = TransportError::new(
                "the client cannot be asked: nothing is kept for its answer to find",
            );
            return Call::failed(CallError::Failed(Arc::new(error)));
        }
        match self.this.upgrade() {
            Some(stream) => Call::new(Question::new(stream, method, params)),
            None => Call::failed(CallError::Closed(Closed::local())),
        }
    }

    fn facts(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.parts.as_deref().map(|parts| parts.told() as _)
    }

    fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    fn permits(&self, scope: &str) -> bool {
        let grant = self
            .parts
            .as_ref()
            .and_then(|it| it.extensions.get::<Grant>());
        grant.is_some_and(|grant| grant.demand(scope))
    }

    fn grant(&self) -> Option<Grant> {
        self.parts.as_ref()?.extensions.get::<Grant>().cloned()
    }

    fn release(&self, retry: Duration) -> bool {
        if !self.polling || self.streams.key(0).is_none() {
            return false;
        }
        self.end_connection(retry);
        true
    }
}

/// A request to the client, on the stream of the request it belongs to.
pub(crate) struct Question {
    stream: Arc<Stream>,
    method: &'static str,
    params: Option<Vec<u8>>,
    stage: Stage,
}

impl Question {
    pub(crate) fn new(stream: Arc<Stream>, method: &'static str, params: Option<Vec<u8>>) -> Self {
        Self {
            stream,
            method,
            params,
            stage: Stage::New,
        }
    }
}

#[derive(Clone, Copy)]
enum Stage {
    New,
    Sent(i64),
    Done,
}

impl Future for Question {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let id = match self.stage {
            Stage::Sent(id) => id,
            Stage::Done => return Poll::Ready(Err(CallError::Closed(Closed::local()))),
            Stage::New => {
                self.stage = Stage::Done;
                let id = self.stream.streams.outgoing.open()?;
                self.stage = Stage::Sent(id);
                let params = self.params.take();
                let sent = self.stream.push(Delivery::Always, |out| {
                    let id = RequestId::Number(id);
                    write_request(out, &id, self.method, params.as_deref());
                });
                sent.map_err(CallError::Closed)?;
                id
            }
        };
        let answer = self.stream.streams.outgoing.poll(id, cx);
        if answer.is_ready() {
            self.stage = Stage::Done;
        }
        answer
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let Stage::Sent(id) = self.stage else {
            return;
        };
        if self.stream.streams.outgoing.withdraw(id) {
            let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
            // A stream that is gone needs no telling.
            let _ = self.stream.push(Delivery::Always, |out| {
                write_notification(
                    out,
                    method::NOTIFICATIONS_CANCELLED,
                    Some(params.as_bytes()),
                );
            });
        }
    }
}
