//! The media type of a response body.

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use mcp_jsonrpc::quote;

use crate::client::wire::MAX_QUOTED;
use crate::headers::{EVENT_STREAM, JSON};

/// The kind of a response body.
pub(crate) enum ContentKind {
    Json,
    EventReader,
    /// Any other body, described for the error message.
    Other(String),
}

impl ContentKind {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        if let Some(encoding) = headers.get(CONTENT_ENCODING).map(text)
            && !encoding.eq_ignore_ascii_case("identity")
        {
            return Self::Other(format!(
                "a body of encoding {}, which the client does not accept",
                quote(&encoding, MAX_QUOTED)
            ));
        }
        let Some(media) = headers.get(CONTENT_TYPE).map(text) else {
            return Self::Other("no Content-Type".to_owned());
        };
        let essence = media.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case(JSON) {
            Self::Json
        } else if essence.eq_ignore_ascii_case(EVENT_STREAM) {
            Self::EventReader
        } else {
            Self::Other(format!(
                "Content-Type {} instead of {JSON} or {EVENT_STREAM}; check that the URL is an \
                 MCP endpoint",
                quote(&media, MAX_QUOTED)
            ))
        }
    }
}
