//! The requests of one POST.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use mcp_jsonrpc::{ErrorObject, RequestId, write_error};
use mcp_protocol::{Outcome, Running, expired, http_headers};

use crate::server::response::text::{self, JsonText, MIN_CHARGED};
use crate::server::session::HttpSession;
use crate::server::stream::Stream;

/// The requests of one POST.
pub(crate) enum Items {
    Single(BatchItem),
    Batch(Vec<BatchItem>),
}

/// One request of a POST.
pub(crate) struct BatchItem {
    pub(crate) running: Option<Running>,
    /// The response. `None` if the request was cancelled or is still running.
    result: Option<JsonText>,
    status: StatusCode,
}

impl Items {
    pub(crate) fn as_slice(&self) -> &[BatchItem] {
        match self {
            Self::Single(item) => std::slice::from_ref(item),
            Self::Batch(items) => items,
        }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [BatchItem] {
        match self {
            Self::Single(item) => std::slice::from_mut(item),
            Self::Batch(items) => items,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.as_slice().iter().any(|item| item.running.is_some())
    }

    /// Returns the HTTP status of the response. The status for a batch is always 200.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Single(item) => item.status,
            Self::Batch(_) => StatusCode::OK,
        }
    }

    /// Removes and returns the result of the request, or an array of the results of a batch. Returns `None` if all requests were
    /// cancelled.
    pub(crate) fn take_result(&mut self) -> Option<JsonText> {
        let items = match self {
            Self::Single(item) => return item.result.take(),
            Self::Batch(items) => items,
        };
        let mut results = items.iter_mut().filter_map(|item| item.result.take());
        let first = results.next()?;
        let mut out = vec![b'['];
        out.extend_from_slice(&first.into_whole());
        for result in results {
            out.push(b',');
            out.extend_from_slice(&result.into_whole());
        }
        out.push(b']');
        Some(out.into())
    }
}

impl BatchItem {
    pub(crate) fn running(running: Running) -> Self {
        Self {
            running: Some(running),
            result: None,
            status: StatusCode::OK,
        }
    }

    /// Creates the item for a request that was answered at once.
    pub(crate) fn done(result: JsonText) -> Self {
        Self {
            running: None,
            result: Some(result),
            status: StatusCode::OK,
        }
    }

    pub(crate) fn poll(
        &mut self,
        session: &HttpSession,
        stream: &Stream,
        is_stateless: bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(());
        };
        let outcome = match Pin::new(running).poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(outcome) => outcome,
        };
        self.end(session, stream, is_stateless, &outcome);
        Poll::Ready(())
    }

    /// Ends a handler that has exceeded its deadline.
    pub(crate) fn expire(
        &mut self,
        session: &HttpSession,
        stream: &Stream,
        is_stateless: bool,
        limit: Option<Duration>,
    ) {
        if let Some(running) = &mut self.running {
            let outcome = running.end(Err(expired(limit)));
            self.end(session, stream, is_stateless, &outcome);
        }
    }

    fn end(
        &mut self,
        session: &HttpSession,
        stream: &Stream,
        is_stateless: bool,
        outcome: &Outcome,
    ) {
        let Some(running) = self.running.take() else {
            return;
        };
        let exchange = running.exchange();
        session.incoming.forget(exchange);
        if exchange.settle() {
            self.result = Some(render(stream, exchange.id(), outcome));
            if let (true, Err(error)) = (is_stateless, outcome) {
                self.status = status(http_headers::response_status(error.code));
            }
        } else if is_stateless {
            // The client is still connected, so the server has cancelled the request.
            let error = ErrorObject::internal("the server is shutting down");
            self.result = Some(render(stream, exchange.id(), &Err(error)));
            self.status = StatusCode::SERVICE_UNAVAILABLE;
        }
    }
}

/// Writes the response with the outcome of a handler. The memory of a long response counts towards the limit for responses that
/// wait for their clients. If the limit would be exceeded, writes an error instead.
pub(crate) fn render(stream: &Stream, id: &RequestId, outcome: &Outcome) -> JsonText {
    let text = text::render(id, outcome);
    let length = text.unshared_len();
    if length < MIN_CHARGED {
        return text;
    }
    match stream.charge(length) {
        Ok(memory) => text.with_memory(memory),
        Err(error) => JsonText::write(|out| write_error(out, Some(id), &error)),
    }
}

pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST)
}
