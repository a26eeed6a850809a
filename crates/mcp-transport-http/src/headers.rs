//! Names of headers and media types that client and server share.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

/// The id of the session that a request belongs to.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The negotiated revision.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The id of the last event that the client has received on a stream.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Returns whether the `Content-Type` is this media type. Accepts a list that repeats the same type, which some proxies and
/// libraries write.
pub(crate) fn is_media_type(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(CONTENT_TYPE).iter();
    let items = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let mut types = items.map(|item| item.split(';').next().unwrap_or_default().trim());
    let is_kind = |found: &str| found.eq_ignore_ascii_case(kind);
    types.next().is_some_and(is_kind) && types.all(is_kind)
}
