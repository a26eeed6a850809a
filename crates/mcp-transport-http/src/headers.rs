//! Names of headers and media types that client and server share.

use http::HeaderName;

/// The id of the session that a request belongs to.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The negotiated revision.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The id of the last event that the client received on a stream.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
