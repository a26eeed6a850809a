//! A response that refuses: what it says, and what to tell people.

use std::time::Duration;

use crate::client::call::failure::CallFailure;
use crate::client::call::response::ResponseContext;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::service::quoted;
use http::header::{HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use mcp_jsonrpc::{ErrorCode, ErrorObject, Frame, Message, RequestId, parse};
use mcp_protocol::{Answer, TransportError};
use mcp_types::method;
use tokio::time::timeout;

/// How much of a refusal is read.
const MAX_BYTES: usize = 64 << 10;

/// A response that is no success.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The JSON-RPC error in it, and the id that error is for.
    error: Option<(Option<RequestId>, ErrorObject)>,
    text: String,
    challenge: Option<String>,
    /// When to try again, if the server says so.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads what the server says, as far as people read and no longer than delivering may take.
    pub(crate) async fn read(state: &ClientState, response: Response<ResponseBody>) -> Self {
        let (head, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        let read = async {
            while let Some(Ok(data)) = body.data().await {
                let room = MAX_BYTES - bytes.len();
                bytes.extend_from_slice(&data[..data.len().min(room)]);
                if bytes.len() == MAX_BYTES {
                    return;
                }
            }
        };
        let _ = timeout(state.options.delivery_timeout, read).await;
        let error = match parse(&bytes, &state.options.limits.frame) {
            Ok(Frame::Single(Message::Response(response))) => {
                response.outcome.err().map(|error| (response.id, error))
            }
            _ => None,
        };
        let text = match &error {
            Some((_, error)) => error.to_string(),
            None => String::from_utf8_lossy(&bytes).into_owned(),
        };
        Self {
            status: head.status,
            error,
            text,
            challenge: header(&head.headers, &WWW_AUTHENTICATE),
            retry_after: header(&head.headers, &RETRY_AFTER)
                .and_then(|seconds| seconds.parse().ok())
                .map(Duration::from_secs),
        }
    }

    /// Whether it says that the server does not know this session.
    pub(crate) fn is_session_lost(&self, session: &Session) -> bool {
        is_session_lost(self.status, session)
    }

    /// The JSON-RPC error in it, if it is for this request. One that only a server of revisions
    /// without sessions sends is, even if that could not find the id.
    pub(crate) fn error_for(&self, id: i64) -> Option<ErrorObject> {
        self.error_if(id, |error| {
            matches!(
                error.code,
                ErrorCode::HEADER_MISMATCH
                    | ErrorCode::MISSING_CLIENT_CAPABILITY
                    | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            )
        })
    }

    /// The JSON-RPC error in it, if it is for this request or for nobody in particular: nothing
    /// else was sent.
    pub(crate) fn error_for_only_request(&self, id: i64) -> Option<ErrorObject> {
        self.error_if(id, |_| true)
    }

    fn error_if(&self, id: i64, if_nobodys: fn(&ErrorObject) -> bool) -> Option<ErrorObject> {
        let (whose, error) = self.error.as_ref()?;
        let is_own = match whose {
            Some(RequestId::Number(number)) => *number == id,
            Some(_) => false,
            None => if_nobodys(error),
        };
        is_own.then(|| error.clone())
    }

    /// For people: what was refused, what the server says, and what to do.
    pub(crate) fn error(
        &self,
        state: &ClientState,
        session: &Session,
        what: &str,
    ) -> TransportError {
        let mut text = format!("{} refused {what}: {}", state.http.endpoint, self.status);
        let mut add = |more: &str| {
            text.push_str("; ");
            text.push_str(more);
        };
        if let Some(said) = said(&self.text) {
            add(&format!(
                "it says {}",
                quoted(&redact(&said, state, session))
            ));
        }
        if let Some(challenge) = &self.challenge {
            add(&format!(
                "it asks for {}",
                quoted(&redact(challenge, state, session))
            ));
        }
        if let Some(advice) = self.advice() {
            add(&advice);
        }
        TransportError::new(text)
    }

    fn advice(&self) -> Option<String> {
        let advice = match self.status.as_u16() {
            401 => {
                "give it a token with Http::bearer, or let mcp_auth::OAuth get one with Http::authorize"
            }
            403 => "these credentials do not allow it, or the server does not serve this origin",
            404 => "nothing is served at this path; check the URL",
            405 => "this path is no MCP endpoint; check the URL",
            406 | 415 => {
                "it does not speak Streamable HTTP; it may be older than revision 2025-03-26"
            }
            413 => "the message is too long for it",
            429 | 503 => {
                return Some(match self.retry_after {
                    Some(wait) => format!("try again in {} s", wait.as_secs()),
                    None => "try again later".to_owned(),
                });
            }
            500..=599 => "the server failed; whether it did what it was asked is not known",
            _ => return None,
        };
        Some(advice.to_owned())
    }
}

/// Whether a status says that the server does not know this session.
///
/// Specification: transports, session management: 404 for a request that names a session.
pub(crate) fn is_session_lost(status: StatusCode, session: &Session) -> bool {
    status == StatusCode::NOT_FOUND && session.id.is_some()
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
}

/// What is worth showing: no page for a browser.
fn said(text: &str) -> Option<String> {
    let text = text.trim();
    let is_page = text.starts_with('<');
    (!text.is_empty() && !is_page).then(|| text.to_owned())
}

/// Takes out what is secret, in case the server quotes it.
fn redact(text: &str, state: &ClientState, session: &Session) -> String {
    let values = state.http.headers.values().chain(&session.id);
    let values = values.filter_map(|value| value.to_str().ok());
    let query = state.http.endpoint.uri().query().unwrap_or_default();
    let query = query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let mut text = text.to_owned();
    for secret in values.chain(query) {
        let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
        // What is shorter is no secret, and taking it out would spoil the text.
        if secret.len() >= 4 {
            text = text.replace(secret, "[secret]");
        }
    }
    text
}

/// Whether a refusal may be another one soon. A server that has not noticed yet that the stream
/// broke calls it a conflict.
pub(crate) fn is_retryable(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}

/// What a refusal means. Only what the server itself says about the request tells something of its
/// age: not that it wants credentials, nor that it or something before it failed.
pub(crate) fn stateless_refusal(
    context: &ResponseContext<'_>,
    refusal: &Refusal,
) -> Result<Answer, CallFailure> {
    let status = refusal.status;
    let tells = is_about_message(status);
    if let Some(error) = refusal.error_for_only_request(context.id)
        && (tells || context.method != method::SERVER_DISCOVER)
    {
        return Ok(Err(error));
    }
    let error = refusal.error(context.state, context.session, context.method);
    Err(if tells {
        CallFailure::failed(error.as_unknown_protocol())
    } else if is_retryable(status) {
        CallFailure::Unavailable(refusal.retry_after, error)
    } else {
        CallFailure::failed(error)
    })
}

/// Whether a status is about the message and not about who sent it, or when.
fn is_about_message(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 407 | 408 | 421 | 425 | 429)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_no_verdict_unless_it_is_about_the_message() {
        let tells = |code: u16| is_about_message(StatusCode::from_u16(code).unwrap());
        for code in [400, 404, 405, 406, 409, 415, 422] {
            assert!(tells(code), "{code}");
        }
        for code in [200, 302, 401, 403, 407, 408, 429, 500, 502, 503] {
            assert!(!tells(code), "{code}");
        }
    }
}
