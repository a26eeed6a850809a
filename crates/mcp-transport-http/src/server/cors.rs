//! Methods and header names for CORS layers. A CORS layer lets web pages of other origins use a server.
//!
//! Specification: [protocol version header and session id][spec]; the headers `Mcp-Method` and
//! `Mcp-Name` are of revision 2026-07-28.
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, Method};

use crate::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

/// The methods of requests to an [`Endpoint`](crate::Endpoint).
pub const CORS_METHODS: [Method; 3] = [Method::POST, Method::GET, Method::DELETE];

/// The request headers that a CORS layer in front of an [`Endpoint`](crate::Endpoint) must allow.
///
/// Revision 2026-07-28 also sends a header `Mcp-Param-{name}` for each argument that the schema of a tool marks with
/// `x-mcp-header`. CORS has no patterns for header names. If your tools have such arguments, add their headers, or configure the
/// layer to allow all headers that the client names in its preflight request.
///
/// Later versions may add names, so do not depend on the length of the array.
pub const CORS_REQUEST_HEADERS: [HeaderName; 9] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("dpop"),
    LAST_EVENT_ID,
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    PROTOCOL_VERSION,
    SESSION_ID,
];

/// The response headers that a CORS layer in front of an [`Endpoint`](crate::Endpoint) must expose. Without `Mcp-Session-Id`, a
/// page cannot continue its session. Without `WWW-Authenticate`, it cannot find the authorization server. Without `DPoP-Nonce`,
/// it cannot sign the proofs that the server requires.
///
/// Later versions may add names, so do not depend on the length of the array.
pub const CORS_RESPONSE_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("dpop-nonce"),
    SESSION_ID,
    WWW_AUTHENTICATE,
];

#[cfg(test)]
mod tests {
    use mcp_protocol::http_headers;

    use super::*;

    #[test]
    fn the_headers_of_the_stateless_revision_are_allowed() {
        for name in [http_headers::METHOD, http_headers::NAME] {
            let name: HeaderName = name.parse().unwrap();
            assert!(CORS_REQUEST_HEADERS.contains(&name), "{name}");
        }
    }
}
