//! Properties of requests that another endpoint has forwarded.

use http::request::Parts;
use http::{HeaderName, StatusCode, Uri};

use crate::server::response::refusal::Refusal;

/// The header that marks a forwarded request. Such a request is not forwarded again.
pub(crate) const FORWARDED: HeaderName = HeaderName::from_static("mcp-forwarded");

/// The status with which an endpoint that is shutting down responds to a forwarded request. The request was not processed.
pub(crate) const SHUTTING_DOWN: StatusCode = StatusCode::MISDIRECTED_REQUEST;

/// Returns whether another endpoint has forwarded the request.
pub(crate) fn is_forwarded(head: &Parts) -> bool {
    head.headers.contains_key(FORWARDED)
}

/// Returns the response to a forwarded request that arrives while this endpoint is shutting down.
pub(crate) fn refusal_at_shutdown() -> Refusal {
    Refusal::new(SHUTTING_DOWN, "this endpoint is shutting down")
}

/// Returns whether an address can be the address of an endpoint.
pub(crate) fn is_http(address: &Uri) -> bool {
    address.scheme_str() == Some("http") && address.host().is_some()
}
