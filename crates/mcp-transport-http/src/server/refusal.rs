//! Why a request is not served, as status and JSON-RPC error.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, RequestId, write_error};

use super::body::Body;
use crate::headers::JSON;

/// An answer that is not the handler's.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    error: ErrorObject,
    allow: Option<&'static str>,
    retry_after: Option<u32>,
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
            allow: None,
            retry_after: None,
        }
    }

    /// The server has no room now.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self {
            retry_after: Some(1),
            ..Self::with_error(
                StatusCode::SERVICE_UNAVAILABLE,
                ErrorObject::internal(message.into()),
            )
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn method_not_allowed(allow: &'static str, message: &str) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
        }
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
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
