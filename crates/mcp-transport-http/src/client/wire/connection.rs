//! One HTTP request to the server and the head of its response: headers, credentials, redirects.

use mcp_jsonrpc::quote;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, request};
use mcp_protocol::TransportError;
use tokio::time::timeout;

use crate::client::wire::MAX_QUOTED;
use crate::client::wire::authorize::{AfterRefusal, Authorize};
use crate::client::wire::connect::is_unreached;
use crate::client::wire::url::ServerUrl;
use crate::headers::{EVENT_STREAM, JSON, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use crate::http_service::{BoxError, HttpService, RequestBody, ResponseBody, failure_reason};

/// The value of `Accept` that admits both media types of a response.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("mcp-transport-http/", env!("CARGO_PKG_VERSION")));

/// The maximum number of headers that this module and the HTTP client add to a message.
const ADDED_HEADERS: usize = 8;

/// Maximum number of times that one message is sent again at the authorizer's request. The message then has a new token, more
/// scopes, or the nonce of a DPoP proof.
const MAX_RESENDS: u32 = 3;

/// The connection to one server: URL, headers, credentials and HTTP client.
pub(crate) struct HttpConnection {
    pub(crate) endpoint: ServerUrl,
    /// The `Host` header. It is set only if the HTTP client does not add it.
    pub(crate) host: Option<HeaderValue>,
    pub(crate) headers: HeaderMap,
    pub(crate) authorize: Option<Arc<dyn Authorize>>,
    /// The current and the former headers of `HttpTransport::renew_headers`. Their values are removed from error messages.
    /// `authorize` adds the current headers to each request.
    pub(crate) renewed: Arc<Mutex<[HeaderMap; 2]>>,
    pub(crate) service: Arc<dyn HttpService<RequestBody>>,
    pub(crate) redirects: usize,
}

/// A message to send, and the headers that it needs.
#[derive(Default)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) kind: RequestKind,
    pub(crate) session: Option<HeaderValue>,
    pub(crate) revision: Option<&'static str>,
    /// Headers that echo values of the body.
    pub(crate) stateless_headers: &'a [(HeaderName, HeaderValue)],
    /// The maximum time until the head of the response arrives.
    pub(crate) limit: Option<Duration>,
}

#[derive(Default)]
pub(crate) enum RequestKind {
    /// POST: sends one message.
    Post(Bytes),
    /// GET: opens an event stream. With an event id, resumes the stream after this event.
    Get(Option<HeaderValue>),
    /// DELETE: ends the session.
    #[default]
    Delete,
}

/// The reason why there is no HTTP response.
#[derive(Debug)]
pub(crate) enum SendError {
    /// The server was not reached and has not received the message.
    Unreachable(TransportError),
    /// The connection was interrupted. The server may have received the message.
    Interrupted(TransportError),
    /// The authorizer rejected the message, or the server sent an invalid redirect.
    Rejected(TransportError),
}

impl SendError {
    pub(crate) fn into_error(self) -> TransportError {
        match self {
            Self::Unreachable(error) | Self::Interrupted(error) | Self::Rejected(error) => error,
        }
    }
}

impl OutgoingRequest<'_> {
    fn method(&self) -> Method {
        match self.kind {
            RequestKind::Post(_) => Method::POST,
            RequestKind::Get(_) => Method::GET,
            RequestKind::Delete => Method::DELETE,
        }
    }
}

impl HttpConnection {
    /// Sends a message and waits for the head of the response. Dropping the future aborts the
    /// exchange.
    pub(crate) async fn send(
        &self,
        request: &OutgoingRequest<'_>,
    ) -> Result<Response<ResponseBody>, SendError> {
        self.send_to(&self.endpoint, request).await
    }

    /// Sends a message to the URL `target` of the same server.
    pub(crate) async fn send_to(
        &self,
        target: &ServerUrl,
        request: &OutgoingRequest<'_>,
    ) -> Result<Response<ResponseBody>, SendError> {
        let mut target = target.clone();
        let mut repairs = 0;
        let mut redirects = 0;
        loop {
            let (http_request, sent) = self.request(request, &target).await?;
            let response = self.service.send(http_request);
            let response = match request.limit {
                None => response.await,
                Some(limit) => timeout(limit, response).await.map_err(|_| {
                    let limit = limit.as_secs_f64();
                    let problem = format!("{target} did not answer within {limit} s");
                    SendError::Interrupted(TransportError::new(problem).as_temporary())
                })?,
            };
            let response = response.map_err(|error| broken(request, &target, error))?;
            let (head, body) = response.into_parts();
            if let (Some(authorizer), Some(sent)) = (&self.authorize, sent) {
                authorizer.responded(&head);
                let unauthorized = matches!(
                    head.status,
                    StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
                );
                if unauthorized && repairs < MAX_RESENDS {
                    repairs += 1;
                    let after = authorizer.refused(&sent, &head).await;
                    if after.map_err(SendError::Rejected)? == AfterRefusal::SendAgain {
                        continue;
                    }
                }
            }
            if !is_redirect(head.status) {
                return Ok(Response::from_parts(head, body));
            }
            target = self.redirected(request, &target, &head)?;
            redirects += 1;
            if redirects > self.redirects {
                return Err(SendError::Rejected(TransportError::new(format!(
                    "{} was redirected more than {} times, the limit of \
                     ClientOptions::with_max_redirects; the last target was {target}",
                    self.endpoint, self.redirects
                ))));
            }
        }
    }

    /// Creates the HTTP request. Also returns a copy of its head, which the authorizer receives after a refusal.
    async fn request(
        &self,
        request: &OutgoingRequest<'_>,
        target: &ServerUrl,
    ) -> Result<(Request<RequestBody>, Option<request::Parts>), SendError> {
        let body = match &request.kind {
            RequestKind::Post(message) => RequestBody::new(message.clone()),
            RequestKind::Get(_) | RequestKind::Delete => RequestBody::default(),
        };
        let (mut head, body) = Request::new(body).into_parts();
        head.method = request.method();
        head.uri = target.uri().clone();
        // Room for all headers: a map that grows is hashed again.
        let count = self.headers.len() + request.stateless_headers.len() + ADDED_HEADERS;
        head.headers.reserve(count);
        let headers = &mut head.headers;
        headers.insert(USER_AGENT, AGENT);
        if let Some(host) = &self.host {
            headers.insert(HOST, host.clone());
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        // Without this header, any coding is acceptable: RFC 9110, section 12.5.3.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match &request.kind {
            RequestKind::Post(_) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
                headers.insert(ACCEPT, BOTH);
            }
            RequestKind::Get(last) => {
                headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
                if let Some(last) = last {
                    headers.insert(LAST_EVENT_ID, last.clone());
                }
            }
            RequestKind::Delete => {}
        }
        if let Some(session) = &request.session {
            headers.insert(SESSION_ID, session.clone());
        }
        if let Some(revision) = request.revision {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision));
        }
        for (name, value) in request.stateless_headers {
            headers.insert(name, value.clone());
        }
        let mut sent = None;
        if let Some(authorizer) = &self.authorize {
            let authorized = authorizer.authorize(&mut head).await;
            authorized.map_err(SendError::Rejected)?;
            sent = Some(head.clone());
        }
        Ok((Request::from_parts(head, body), sent))
    }

    fn redirected(
        &self,
        request: &OutgoingRequest<'_>,
        from: &ServerUrl,
        head: &http::response::Parts,
    ) -> Result<ServerUrl, SendError> {
        let status = head.status;
        let refused = |text: String| Err(SendError::Rejected(TransportError::new(text)));
        let location = head.headers.get(LOCATION).map(HeaderValue::as_bytes);
        let location = String::from_utf8_lossy(location.unwrap_or_default());
        let Some(target) = from.join(location.trim()) else {
            return refused(format!(
                "{from} redirects ({status}) to {}, which is not a URL",
                quote(location.split('?').next().unwrap_or_default(), MAX_QUOTED)
            ));
        };
        if !target.has_origin_of(&self.endpoint) {
            return refused(format!(
                "{from} redirects ({status}) to {target}, which is a different origin and must \
                 not receive this client's headers; if you trust it, connect to that URL"
            ));
        }
        let keeps_method = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        if !keeps_method && !matches!(request.kind, RequestKind::Get(_)) {
            return refused(format!(
                "{from} redirects ({status}) to {target}; a redirect with this status loses the message; \
                 connect to that URL"
            ));
        }
        Ok(target)
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn broken(request: &OutgoingRequest<'_>, target: &ServerUrl, error: BoxError) -> SendError {
    let reason = failure_reason(&*error);
    if is_unreached(&*error) {
        let text = format!("{target} cannot be reached: {reason}");
        SendError::Unreachable(TransportError::new(text).as_temporary().with_source(error))
    } else {
        let text = format!("{} {target} failed: {reason}", request.method());
        SendError::Interrupted(TransportError::new(text).as_temporary().with_source(error))
    }
}
