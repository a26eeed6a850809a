//! The span of a request, to which a [`LogLayer`](crate::LogLayer) attaches the request.

use std::cell::RefCell;

use mcp_protocol::RequestContext;
use tracing::Span;

thread_local! {
    /// The request whose span is being created on this thread.
    static REQUEST: RefCell<Option<RequestContext>> = const { RefCell::new(None) };
}

/// Creates the span of a request.
pub(crate) fn request_span(request: &RequestContext, create: impl FnOnce() -> Span) -> Span {
    REQUEST.set(Some(request.clone()));
    let span = create();
    REQUEST.take();
    span
}

/// Returns the request whose span is being created on this thread, once.
pub(crate) fn take_request() -> Option<RequestContext> {
    REQUEST.take()
}
