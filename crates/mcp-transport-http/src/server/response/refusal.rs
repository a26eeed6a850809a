//! Why a request is not served, as status and JSON-RPC error.

use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, ParseError, RequestId, write_error};

use crate::headers::JSON;
use crate::server::response::body::Body;
use mcp_protocol::Revision;

/// An answer that is not the handler's.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    error: ErrorObject,
    hint: Option<Hint>,
}

/// What the client may do instead, as a header.
#[derive(Debug)]
enum Hint {
    Methods(&'static str),
    Later,
    Unpacked,
}

impl Refusal {
    /// The request is wrong; `message` says what to change.
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

    /// The body is no message. The error answers it if it was a request whose id could be read.
    pub(crate) fn unreadable(error: &ParseError) -> Self {
        let id = error.id().filter(|_| !error.is_response()).cloned();
        Self::with_error(StatusCode::BAD_REQUEST, error.to_error_object()).answering(id)
    }

    /// The server has no room now.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        let error = ErrorObject::internal(message.into());
        Self::with_error(StatusCode::SERVICE_UNAVAILABLE, error).hinting(Hint::Later)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn method_not_allowed(allow: &'static str, message: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message).hinting(Hint::Methods(allow))
    }

    /// The body is compressed, which could make much of little.
    pub(crate) fn encoded(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        refusal.hinting(Hint::Unpacked)
    }

    fn hinting(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The error answers this request.
    pub(crate) fn answering(mut self, id: Option<RequestId>) -> Self {
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
                Hint::Methods(methods) => (ALLOW, methods),
                Hint::Later => (RETRY_AFTER, "1"),
                Hint::Unpacked => (ACCEPT_ENCODING, "identity"),
            };
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

pub(crate) fn unsupported(text: &str, served: &[Revision]) -> Refusal {
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    Refusal::bad_request(format!(
        "Mcp-Protocol-Version {} is not supported; this server speaks {}",
        shown(text),
        served.join(", ")
    ))
}

/// What a peer sent, short enough to be told back.
pub(crate) fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(128).collect::<String>())
}
