//! Error responses that the transport itself creates, and not a handler.

use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, ParseError, RequestId, quote, write_error};

use crate::headers::JSON;
use crate::server::response::body::Body;
use mcp_protocol::Revision;

/// Maximum length of text from a client that is quoted in an error message, in characters.
pub(crate) const MAX_QUOTED: usize = 128;

/// An error response: a status, a JSON-RPC error and an optional header. It is not the result of a handler.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    error: ErrorObject,
    hint: Option<Hint>,
}

/// A header that tells the client which request would be accepted.
#[derive(Debug)]
enum Hint {
    Allow(&'static str),
    RetryAfter,
    AcceptIdentity,
}

impl Refusal {
    /// Creates the response to an invalid request. `message` says what to change.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::with_error(status, ErrorObject::invalid_request(message.into()))
    }

    pub(crate) fn with_error(status: StatusCode, error: ErrorObject) -> Self {
        Self {
            status,
            id: None,
            error,
            hint: None,
        }
    }

    /// Creates the response to a body that is not a JSON-RPC message. The response has an id if the body was a request with a
    /// readable id.
    pub(crate) fn unparsable(error: &ParseError) -> Self {
        let id = error.id().filter(|_| !error.is_response()).cloned();
        Self::with_error(StatusCode::BAD_REQUEST, error.to_error_object()).with_id(id)
    }

    /// Creates the response to a request that exceeds a limit. The client can send the request again later.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        let error = ErrorObject::internal(message.into());
        Self::with_error(StatusCode::SERVICE_UNAVAILABLE, error).with_hint(Hint::RetryAfter)
    }

    /// Creates the response to a request that exceeds the share of its client: more than half of the limit is in use, and the
    /// client already uses its share.
    pub(crate) fn share(what: &str) -> Self {
        Self::busy(format!(
            "the client already uses its share of the {what}, the limit of ServerOptions::with_client_share; \
             send again later"
        ))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn method_not_allowed(allow: &'static str, message: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message).with_hint(Hint::Allow(allow))
    }

    /// Creates the response to a compressed body. Such a body is rejected because a short compressed body can expand to any size.
    pub(crate) fn unsupported_encoding(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        refusal.with_hint(Hint::AcceptIdentity)
    }

    fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Sets the id of the request that the error answers.
    pub(crate) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        tracing::debug!(status = self.status.as_u16(), error = %self.error, "refused");
        let mut body = Vec::with_capacity(128);
        write_error(&mut body, self.id.as_ref(), &self.error);
        let mut response = Response::new(Body::full(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        if let Some(hint) = self.hint {
            let (name, value) = match hint {
                Hint::Allow(methods) => (ALLOW, methods),
                Hint::RetryAfter => (RETRY_AFTER, "1"),
                Hint::AcceptIdentity => (ACCEPT_ENCODING, "identity"),
            };
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Returns the error response to the request `id`, whose endpoint has ended.
pub(crate) fn interrupted_error(id: &RequestId) -> Vec<u8> {
    let mut out = Vec::new();
    let error = ErrorObject::internal(
        "the server process that ran this request has ended; its handler may have run completely, partly, or not at all",
    );
    write_error(&mut out, Some(id), &error);
    out
}

pub(crate) fn unsupported(text: &str, served: &[Revision]) -> Refusal {
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    Refusal::bad_request(format!(
        "Mcp-Protocol-Version {} is not supported; this server supports {}",
        quote(text, MAX_QUOTED),
        served.join(", ")
    ))
}
