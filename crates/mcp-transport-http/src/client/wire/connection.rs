//! One HTTP message to the server and the head of its response: headers, credentials, redirects.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use mcp_protocol::TransportError;

use crate::client::wire::authorize::{AfterRefusal, Authorize};
use crate::client::wire::body::{RequestBody, ResponseBody};
use crate::client::wire::connect::is_unreached;
use crate::client::wire::service::{BoxError, Carrier, chain, quoted};
use crate::client::wire::url::Endpoint;
use crate::headers::{EVENT_STREAM, JSON, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

/// Both ways in which a request may be answered.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("mcp-transport-http/", env!("CARGO_PKG_VERSION")));

/// How often an authorizer may have one message sent again: for a token, for more scopes, for the
/// nonce of a proof.
const REPAIRS: u32 = 3;

/// The way to one server.
pub(crate) struct Wire {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    pub(crate) authorize: Option<Arc<dyn Authorize>>,
    pub(crate) carrier: Box<dyn Carrier>,
    pub(crate) redirects: usize,
}

/// What is sent.
#[derive(Default)]
pub(crate) struct Letter {
    pub(crate) kind: Kind,
    pub(crate) session: Option<HeaderValue>,
    pub(crate) revision: Option<&'static str>,
    /// Headers that repeat what stands in the body.
    pub(crate) mirrored: HeaderMap,
}

#[derive(Default)]
pub(crate) enum Kind {
    /// One message.
    Post(Bytes),
    /// Asks for a stream, or for the rest of one.
    Get(Option<HeaderValue>),
    /// Ends the session.
    #[default]
    Delete,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The server was not reached, so it has seen nothing.
    Unreached(TransportError),
    /// The connection broke; nobody knows what the server has seen.
    Cut(TransportError),
    /// The message was not accepted, or not sent to where it should have gone.
    Refused(TransportError),
}

impl Broken {
    pub(crate) fn into_error(self) -> TransportError {
        match self {
            Self::Unreached(error) | Self::Cut(error) | Self::Refused(error) => error,
        }
    }
}

impl Letter {
    fn method(&self) -> Method {
        match self.kind {
            Kind::Post(_) => Method::POST,
            Kind::Get(_) => Method::GET,
            Kind::Delete => Method::DELETE,
        }
    }
}

impl Wire {
    /// Sends a message and waits for the head of the response, as long as it takes. Dropping the
    /// future abandons the exchange.
    pub(crate) async fn send(&self, letter: &Letter) -> Result<Response<ResponseBody>, Broken> {
        self.send_to(&self.endpoint, letter).await
    }

    /// The same to another address of the server.
    pub(crate) async fn send_to(
        &self,
        target: &Endpoint,
        letter: &Letter,
    ) -> Result<Response<ResponseBody>, Broken> {
        let mut target = target.clone();
        let mut repairs = 0;
        let mut redirects = 0;
        loop {
            let (request, sent) = self.request(letter, &target).await?;
            let response = self.carrier.send(request).await;
            let response = response.map_err(|error| broken(letter, &target, error))?;
            let (head, body) = response.into_parts();
            if let (Some(authorizer), Some(sent)) = (&self.authorize, sent) {
                authorizer.responded(&head);
                let unauthorized = matches!(
                    head.status,
                    StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
                );
                if unauthorized && repairs < REPAIRS {
                    repairs += 1;
                    let after = authorizer.refused(&sent, &head).await;
                    if after.map_err(Broken::Refused)? == AfterRefusal::SendAgain {
                        continue;
                    }
                }
            }
            if !is_redirect(head.status) {
                return Ok(Response::from_parts(head, body));
            }
            target = self.redirected(letter, &target, &head)?;
            redirects += 1;
            if redirects > self.redirects {
                return Err(Broken::Refused(TransportError::new(format!(
                    "{} was redirected more than {} times, the limit of \
                     ClientOptions::with_redirects; the last time to {target}",
                    self.endpoint, self.redirects
                ))));
            }
        }
    }

    /// The request as it is sent, and what an authorizer needs to know of it later.
    async fn request(
        &self,
        letter: &Letter,
        target: &Endpoint,
    ) -> Result<(Request<RequestBody>, Option<request::Parts>), Broken> {
        let body = match &letter.kind {
            Kind::Post(message) => RequestBody::new(message.clone()),
            Kind::Get(_) | Kind::Delete => RequestBody::default(),
        };
        let (mut head, body) = Request::new(body).into_parts();
        head.method = letter.method();
        head.uri = target.uri().clone();
        head.headers = self.headers.clone();
        let headers = &mut head.headers;
        headers.entry(USER_AGENT).or_insert(AGENT);
        match &letter.kind {
            Kind::Post(_) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
                headers.insert(ACCEPT, BOTH);
            }
            Kind::Get(last) => {
                headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
                if let Some(last) = last {
                    headers.insert(LAST_EVENT_ID, last.clone());
                }
            }
            Kind::Delete => {}
        }
        if let Some(session) = &letter.session {
            headers.insert(SESSION_ID, session.clone());
        }
        if let Some(revision) = letter.revision {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision));
        }
        headers.extend(letter.mirrored.clone());
        let mut sent = None;
        if let Some(authorizer) = &self.authorize {
            let authorized = authorizer.authorize(&mut head).await;
            authorized.map_err(Broken::Refused)?;
            sent = Some(head.clone());
        }
        Ok((Request::from_parts(head, body), sent))
    }

    /// Where to send it instead.
    fn redirected(
        &self,
        letter: &Letter,
        from: &Endpoint,
        head: &http::response::Parts,
    ) -> Result<Endpoint, Broken> {
        let status = head.status;
        let refused = |text: String| Err(Broken::Refused(TransportError::new(text)));
        let location = head.headers.get(LOCATION).map(HeaderValue::as_bytes);
        let location = String::from_utf8_lossy(location.unwrap_or_default());
        let Some(target) = from.join(location.trim()) else {
            return refused(format!(
                "{from} redirects ({status}) to {}, which is no address",
                quoted(location.split('?').next().unwrap_or_default())
            ));
        };
        if !target.has_origin_of(&self.endpoint) {
            return refused(format!(
                "{from} redirects ({status}) to {target}, which is another origin and gets none \
                 of this client's headers; if you trust it, connect to that URL"
            ));
        }
        let keeps_method = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        if !keeps_method && !matches!(letter.kind, Kind::Get(_)) {
            return refused(format!(
                "{from} redirects ({status}) to {target} in a way that drops the message; \
                 connect to that URL"
            ));
        }
        Ok(target)
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn broken(letter: &Letter, target: &Endpoint, error: BoxError) -> Broken {
    let reason = chain(&*error);
    if is_unreached(&*error) {
        let text = format!("{target} cannot be reached: {reason}");
        Broken::Unreached(TransportError::new(text).with_source(error))
    } else {
        let text = format!("{} {target} failed: {reason}", letter.method());
        Broken::Cut(TransportError::new(text).with_source(error))
    }
}
