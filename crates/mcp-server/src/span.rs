//! The tracing span of a request. A [`LogLayer`](crate::LogLayer) finds the request through its span.

use std::cell::RefCell;

use mcp_protocol::RequestContext;
use tracing::Span;

thread_local! {
    /// The request whose span is being created on this thread.
    static REQUEST: RefCell<Option<RequestContext>> = const { RefCell::new(None) };
}

/// Calls `create`, which creates the span of a request. Meanwhile [`take_request`] returns the request.
pub(crate) fn request_span(request: &RequestContext, create: impl FnOnce() -> Span) -> Span {
    REQUEST.set(Some(request.clone()));
    let span = create();
    REQUEST.take();
    span
}

/// Returns and removes the request whose span is being created on this thread. Returns `None` if no span of a request is being
/// created, or if the request was already taken.
pub(crate) fn take_request() -> Option<RequestContext> {
    REQUEST.take()
}
