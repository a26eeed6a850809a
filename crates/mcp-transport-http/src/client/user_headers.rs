//! The headers that a user may set.

use http::header::{self, HeaderName, HeaderValue};
use mcp_protocol::TransportError;

use crate::client::call::stateless::{METHOD, NAME, PARAM_PREFIX};
use crate::client::wire::authorize::secret_value;
use crate::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

/// Headers that only the transport itself sets, and headers that apply to a single HTTP connection.
const RESERVED_HEADERS: [HeaderName; 14] = [
    header::EXPECT,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::ACCEPT,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    SESSION_ID,
    PROTOCOL_VERSION,
    LAST_EVENT_ID,
    METHOD,
    NAME,
];

/// Returns a header that a user may set.
///
/// # Errors
/// The errors of [`HttpTransport::header`](crate::HttpTransport::header).
pub(crate) fn checked_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), TransportError> {
    let header = name.parse::<HeaderName>().map_err(|error| {
        TransportError::new(format!("{name:?} is not a valid header name")).with_source(error)
    })?;
    if RESERVED_HEADERS.contains(&header) || header.as_str().starts_with(PARAM_PREFIX) {
        return Err(TransportError::new(format!(
            "the header {header} is set by the protocol: remove it from your headers"
        )));
    }
    let value = secret_value(value).ok_or_else(|| {
        TransportError::new(format!(
            "the value of header {header} has characters other than visible ASCII and spaces"
        ))
    })?;
    Ok((header, value))
}
