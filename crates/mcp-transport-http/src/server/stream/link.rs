//! Notifications and requests from handlers to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_protocol::{
    Answer, Call, CallError, Closed, Delivery, Extras, Link, MethodName, RequestOrigin,
    TransportError,
};
use mcp_types::method;

use super::Stream;
#[cfg(feature = "forward")]
use crate::server::forwarded::{self, is_http};
#[cfg(feature = "forward")]
use crate::server::head::McpHeaders;

impl Link for Stream {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        self.send(delivery, |out| write_notification(out, method, params))
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, _: Extras) -> Call {
        if self.streams.identity.is_none() {
            let error = TransportError::new("server requests are not possible without a session");
            return Call::failed(CallError::Failed(Arc::new(error)));
        }
        match self.this.upgrade() {
            Some(stream) => Call::new(ServerRequest::new(stream, method, params)),
            None => Call::failed(CallError::Closed(Closed::local())),
        }
    }

    fn origin(&self) -> RequestOrigin<'_> {
        let head = self.head.as_deref();
        RequestOrigin::remote()
            .with_principal(self.principal.as_ref())
            .with_grant(head.and_then(|head| head.extensions.get()))
            .with_facts(head.map(|head| head as _))
    }

    fn release(&self, retry: Duration) -> bool {
        if !self.supports_polling || self.streams.store_key(0).is_none() {
            return false;
        }
        self.end_connection(retry);
        true
    }

    #[cfg(feature = "forward")]
    fn forward(&self, address: &str) -> bool {
        let Some(head) = &self.head else {
            return false;
        };
        let can_forward = self.streams.options.stored.address.is_some()
            && McpHeaders::of(&head.headers).names_stateless_revision
            && !forwarded::is_forwarded(head)
            && !self.is_started();
        match address.parse() {
            Ok(address) if can_forward && is_http(&address) => {
                self.forward_address.set(Box::new(address)).is_ok()
            }
            _ => false,
        }
    }
}

/// A request to the client, sent on the stream of the call that it belongs to.
pub(crate) struct ServerRequest {
    stream: Arc<Stream>,
    method: MethodName,
    params: Option<Vec<u8>>,
    progress: Progress,
}

impl ServerRequest {
    pub(crate) fn new(stream: Arc<Stream>, method: MethodName, params: Option<Vec<u8>>) -> Self {
        Self {
            stream,
            method,
            params,
            progress: Progress::New,
        }
    }
}

#[derive(Clone, Copy)]
enum Progress {
    New,
    Sent(i64),
    Done,
}

impl Future for ServerRequest {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let id = match self.progress {
            Progress::Sent(id) => id,
            Progress::Done => return Poll::Ready(Err(CallError::Closed(Closed::local()))),
            Progress::New => {
                self.progress = Progress::Done;
                let id = self.stream.streams.outgoing.open()?;
                self.progress = Progress::Sent(id);
                let params = self.params.take();
                let sent = self.stream.send(Delivery::Always, |out| {
                    let id = RequestId::Number(id);
                    write_request(out, &id, &self.method, params.as_deref());
                });
                sent.map_err(CallError::Closed)?;
                id
            }
        };
        let answer = self.stream.streams.outgoing.poll(id, cx);
        if answer.is_ready() {
            self.progress = Progress::Done;
        }
        answer
    }
}

impl Drop for ServerRequest {
    fn drop(&mut self) {
        let Progress::Sent(id) = self.progress else {
            return;
        };
        if self.stream.streams.outgoing.withdraw(id) {
            let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
            // If the stream has ended, the client does not need the notification.
            let _ = self.stream.send(Delivery::Always, |out| {
                write_notification(
                    out,
                    method::NOTIFICATIONS_CANCELLED,
                    Some(params.as_bytes()),
                );
            });
        }
    }
}
