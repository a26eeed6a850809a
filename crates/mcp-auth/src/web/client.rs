//! Requests to servers that are not trusted. The number of requests and the size of responses are limited. Requests reach only
//! allowed addresses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_encoding::BASE64;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use mcp_transport_http::http_service::{
    BodyTooLarge, BoxError, HttpService, ResponseBody, causes, failure_reason,
};
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::url_policy::{UrlPolicy, redacted};
use crate::Secret;
use crate::error::{Error, ErrorKind, quoted};
use mcp_transport_http::RequestBody;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("mcp-auth/", env!("CARGO_PKG_VERSION")));

/// The media type of a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// Limits of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum size of a response body.
    pub(crate) max_response_bytes: usize,
    /// The timeout of a request, from the first byte that is sent to the last byte that is read, including redirects.
    pub(crate) timeout: Duration,
    pub(crate) max_redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_response_bytes: 1 << 20,
            timeout: Duration::from_secs(10),
            max_redirects: 3,
        }
    }
}

/// The HTTP client of sign-ins and token verification.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) service: Arc<dyn HttpService<RequestBody>>,
    pub(crate) policy: UrlPolicy,
    pub(crate) limits: Limits,
}

/// A response with its whole body.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpClient {
    /// Fetches a document. Follows redirects to addresses that the policy allows.
    pub(crate) async fn get(&self, url: &Url) -> Result<Reply, Error> {
        let follow = async {
            let mut at = url.clone();
            for _ in 0..=self.limits.max_redirects {
                let reply = self.send(&at, request(Method::GET)).await?;
                if !is_redirect(reply.status) {
                    return Ok(reply);
                }
                at = next(&at, &reply)?;
            }
            let max = self.limits.max_redirects;
            Err(Error::invalid_response(format!(
                "{} redirects more than {max} times",
                redacted(url)
            )))
        };
        self.within(url, follow).await
    }

    /// Sends a form or a document. Does not follow redirects, because the content is secret.
    pub(crate) async fn post(
        &self,
        url: &Url,
        kind: &'static str,
        headers: &[(HeaderName, HeaderValue)],
        body: String,
    ) -> Result<Reply, Error> {
        let mut request = request(Method::POST);
        let fields = request.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        for (name, value) in headers {
            fields.insert(name, value.clone());
        }
        *request.body_mut() = RequestBody::new(body);
        let reply = self.within(url, self.send(url, request)).await?;
        if is_redirect(reply.status) {
            return Err(Error::invalid_response(format!(
                "{} redirects ({}); credentials are not sent to the new address",
                redacted(url),
                reply.status
            )));
        }
        Ok(reply)
    }

    /// Sends an MCP message without credentials, and returns the head of the response. Does not read the body, because it may be
    /// an endless stream.
    #[cfg(feature = "client")]
    pub(crate) async fn probe(
        &self,
        url: &Url,
        message: &'static str,
    ) -> Result<(StatusCode, HeaderMap), Error> {
        let mut request = request(Method::POST);
        let fields = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        fields.insert(CONTENT_TYPE, json);
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        fields.insert(ACCEPT, accept);
        *request.body_mut() = RequestBody::new(message.to_owned());
        let send = async {
            let response = self.respond(url, request).await?;
            Ok((response.status(), response.headers().clone()))
        };
        self.within(url, send).await
    }

    async fn within<T>(
        &self,
        url: &Url,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let limit = self.limits.timeout;
        tokio::time::timeout(limit, work).await.map_err(|_| {
            let (url, seconds) = (redacted(url), limit.as_secs());
            Error::unavailable(format!("{url} did not respond within {seconds} s"))
        })?
    }

    async fn send(&self, url: &Url, request: Request<RequestBody>) -> Result<Reply, Error> {
        let (head, body) = self.respond(url, request).await?.into_parts();
        let body = body.read(self.limits.max_response_bytes).await;
        let body = body.map_err(|error| self.send_error(url, error))?;
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    async fn respond(
        &self,
        url: &Url,
        mut request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Error> {
        self.policy.check(url)?;
        *request.uri_mut() = url.as_str().parse().map_err(|error| {
            let message = format!("{} is not a valid request URL", redacted(url));
            Error::caused(ErrorKind::InvalidResponse, message, Box::new(error))
        })?;
        let response = self.service.send(request).await;
        response.map_err(|error| self.send_error(url, error))
    }

    fn send_error(&self, url: &Url, error: BoxError) -> Error {
        let url = redacted(url);
        if error.downcast_ref::<BodyTooLarge>().is_some() {
            let max = self.limits.max_response_bytes;
            return Error::invalid_response(format!(
                "the response of {url} has more than {max} bytes"
            ));
        }
        if let Some(refusal) = refusal(&*error) {
            return refusal;
        }
        let reason = failure_reason(&*error);
        Error::caused(
            ErrorKind::Unavailable,
            format!("{url} cannot be reached: {reason}"),
            error,
        )
    }
}

impl Reply {
    /// Returns whether the same request may succeed later.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status.is_server_error() || matches!(self.status.as_u16(), 408 | 425 | 429)
    }

    /// Parses the body as JSON. Skips a byte order mark. If a member is repeated, uses the last value.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let body = self
            .body
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(&self.body);
        serde_json::from_value(mcp_jsonrpc::decode_document(body)?)
    }
}

fn request(method: Method) -> Request<RequestBody> {
    let mut request = Request::new(RequestBody::default());
    *request.method_mut() = method;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, AGENT);
    request
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn next(from: &Url, reply: &Reply) -> Result<Url, Error> {
    let location = reply.headers.get(LOCATION);
    let location = String::from_utf8_lossy(location.map(HeaderValue::as_bytes).unwrap_or_default());
    from.join(&location).map_err(|_| {
        let shown = redacted(from);
        let location = quoted(location.split('?').next().unwrap_or_default());
        Error::invalid_response(format!(
            "{shown} redirects to {location}, which is not a URL"
        ))
    })
}

/// Returns the `Authorization` header of a client with a secret (`client_secret_basic`).
///
/// Specification: [RFC 6749, section 2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1).
pub(crate) fn basic_authorization(id: &str, secret: &str) -> Result<HeaderValue, Error> {
    // Each part is form-encoded, so that the colon is unambiguous.
    let part = |text: &str| -> String { byte_serialize(text.as_bytes()).collect() };
    let both = Secret::new(format!("{}:{}", part(id), part(secret)));
    let value = Secret::new(format!("Basic {}", BASE64.encode(both.expose().as_bytes())));
    sensitive(value.expose())
}

/// Returns a header value that is marked as sensitive.
pub(crate) fn sensitive(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Error::invalid_response("a token has characters that are not valid in a header")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the error of the URL policy, if it is among the causes of an error.
fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    causes(error).find_map(|error| error.downcast_ref::<Error>().cloned())
}
