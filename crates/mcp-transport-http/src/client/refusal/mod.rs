//! HTTP error responses: their content, and the errors of the client that report them.

pub(crate) mod repeat;

use std::time::{Duration, SystemTime};

use crate::client::refusal::repeat::is_repeatable;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use crate::http_service::ResponseBody;
use crate::sync::lock;
use http::header::{DATE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use mcp_jsonrpc::{
    ErrorCode, ErrorObject, Frame, Message, RequestId, decode_document, parse, quote,
};
use mcp_protocol::TransportError;
use serde_json::Value;
use tokio::time::timeout;

/// Maximum number of bytes that are read from the body of an error response.
const MAX_BYTES: usize = 64 << 10;

/// An HTTP response with an error status.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The JSON-RPC error in the body, and the request id in it.
    error: Option<(Option<RequestId>, ErrorObject)>,
    text: String,
    challenge: Option<String>,
    /// How long to wait before the next request, from the header `Retry-After`.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads the body of an error response. Stops after 64 KiB or after the delivery timeout.
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
            retry_after: retry_after(&head.headers, SystemTime::now()),
        }
    }

    /// Returns whether the response says that the server does not know this session. Status 404 means this. Some servers use
    /// other statuses. These count only if the session has worked before.
    ///
    /// Specification: transports, session management.
    pub(crate) fn is_session_lost(&self, session: &Session) -> bool {
        if session.id.is_none() {
            return false;
        }
        match self.status.as_u16() {
            404 => true,
            410 => session.has_worked(),
            400 | 401 | 500 => session.has_worked() && reports_lost_session(&self.text),
            _ => false,
        }
    }

    /// Returns the JSON-RPC error in the body if it belongs to the request `id`. An error belongs to the request if it has this
    /// id, or if it has no id and its code exists only on the stateless revision.
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

    /// Returns the JSON-RPC error in the body if it has the id `id` or no id. Call it only if one request was sent, so that a
    /// missing id is unambiguous.
    pub(crate) fn error_for_only_request(&self, id: i64) -> Option<ErrorObject> {
        self.error_if(id, |_| true)
    }

    fn error_if(&self, id: i64, if_without_id: fn(&ErrorObject) -> bool) -> Option<ErrorObject> {
        let (error_id, error) = self.error.as_ref()?;
        let is_own = match error_id {
            Some(RequestId::Number(number)) => *number == id,
            Some(_) => false,
            None => if_without_id(error),
        };
        is_own.then(|| error.clone())
    }

    /// Creates the error for the caller. Its text names the refused message, quotes the server, and says what to do.
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
        if let Some(said) = readable_text(&self.text) {
            add(&format!(
                "it says {}",
                quote(&redact(&said, state, session), MAX_QUOTED)
            ));
        }
        if let Some(challenge) = &self.challenge {
            add(&format!(
                "it requires {}",
                quote(&redact(challenge, state, session), MAX_QUOTED)
            ));
        }
        if let Some(advice) = self.advice(what) {
            add(&advice);
        }
        let error = TransportError::new(text);
        match self.status.as_u16() {
            401 | 403 if self.is_token_refused() => {
                let challenge = self.challenge.as_deref().unwrap_or_default();
                error.with_challenge(redact(challenge, state, session))
            }
            408 | 429 | 500..=599 => error.as_temporary(),
            _ => error,
        }
    }

    /// Returns whether the server refused the message because of its token. The server may accept another token.
    fn is_token_refused(&self) -> bool {
        let challenge = self.challenge.as_deref().unwrap_or_default();
        self.status == StatusCode::UNAUTHORIZED || challenge.contains("insufficient_scope")
    }

    fn advice(&self, what: &str) -> Option<String> {
        let advice = match self.status.as_u16() {
            401 => "the client needs a bearer token, or an authorizer that obtains tokens",
            403 if self.is_token_refused() => {
                "the token does not have all scopes that the server requires"
            }
            403 => "the credentials are not sufficient, or the server rejects this origin",
            404 => "there is no endpoint at this path; check the URL",
            405 => "this path is not an MCP endpoint; check the URL",
            406 | 415 => {
                "the server does not support Streamable HTTP; it may be older than revision \
                 2025-03-26"
            }
            413 => "the message exceeds the server's size limit",
            429 | 503 => {
                return Some(match self.retry_after {
                    Some(wait) => format!("try again in {} s", wait.as_secs()),
                    None => "try again later".to_owned(),
                });
            }
            500..=599 if has_effect(what) => "the server failed; it may have executed the request",
            500..=599 => "the server failed",
            _ => return None,
        };
        Some(advice.to_owned())
    }
}

/// Returns whether the message `what` may have an effect. `what` is a method or another name for the message.
fn has_effect(what: &str) -> bool {
    what.contains('/') && !is_repeatable(what)
}

/// Returns whether an error text says that the server does not know the session. Recognizes the texts of published sample
/// servers, because many servers are copies of these samples.
pub(crate) fn reports_lost_session(text: &str) -> bool {
    const LOST: [&str; 10] = [
        "not found",
        "no valid",
        "invalid",
        "unknown",
        "missing",
        "expired",
        "terminated",
        "exist",
        "no active",
        "closed",
    ];
    let text = text.to_lowercase();
    let names_session = text.contains("session") && LOST.iter().any(|word| text.contains(word));
    names_session || text.contains("not initialized")
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
}

/// Returns how long `Retry-After` says to wait. The header contains a number of seconds or a date. The wait until a date is
/// counted from the header `Date` of the response, because the clocks of client and server can differ. Without the header `Date`,
/// it is counted from `now`. A date in the past means no wait.
///
/// Specification: [RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = header(headers, &RETRY_AFTER)?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(&value).ok()?;
    let sent = header(headers, &DATE).and_then(|date| httpdate::parse_http_date(&date).ok());
    Some(date.duration_since(sent.unwrap_or(now)).unwrap_or_default())
}

/// Returns the part of a response text that helps the user. Returns `None` for an HTML page, and only the error message for a
/// JSON object.
fn readable_text(text: &str) -> Option<String> {
    let text = text.trim();
    let is_page = text.starts_with('<');
    if text.is_empty() || text == "{}" || is_page {
        return None;
    }
    let body = decode_document::<Value>(text).ok();
    Some(
        body.and_then(|body| words(&body))
            .unwrap_or_else(|| text.to_owned()),
    )
}

/// Names of JSON members that contain an error message. The name of the member with the most details is first. OAuth, problem
/// details (RFC 9457), web frameworks, and JSON-RPC errors that are not valid messages use these names.
const WORDS: [&str; 6] = [
    "error_description",
    "detail",
    "message",
    "title",
    "msg",
    "error",
];

fn words(body: &Value) -> Option<String> {
    WORDS.iter().find_map(|name| match body.get(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        inner @ Value::Object(_) => {
            let texts = WORDS.iter().filter_map(|name| inner.get(name)?.as_str());
            texts.map(str::to_owned).next()
        }
        _ => None,
    })
}

/// Removes the client's secrets from text that the server sent.
fn redact(text: &str, state: &ClientState, session: &Session) -> String {
    let renewed = lock(&state.http.renewed);
    let renewed_values = renewed.iter().flat_map(HeaderMap::values);
    let values = state.http.headers.values().chain(renewed_values);
    let values = values.chain(&session.id);
    let values = values.filter_map(|value| value.to_str().ok());
    let query = state.http.endpoint.uri().query().unwrap_or_default();
    let query = query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let mut text = text.to_owned();
    for secret in values.chain(query) {
        let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
        // Shorter values are not secrets, and removing them would make the text unreadable.
        if secret.len() >= 4 {
            text = text.replace(secret, "[secret]");
        }
    }
    text
}

/// Returns whether the same request may succeed later. This includes status 409, with which a server responds until it notices
/// that the old stream has ended.
pub(crate) fn is_retryable(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_json_error_body_is_shown() {
        for (body, words) in [
            (
                r#"{"error":"insufficient_scope","error_description":"needs \"write\""}"#,
                Some("needs \"write\""),
            ),
            (r#"{"error":"forbidden"}"#, Some("forbidden")),
            (
                r#"{"error":{"code":403,"message":"Workspace disabled"}}"#,
                Some("Workspace disabled"),
            ),
            (
                r#"{"type":"about:blank","title":"Forbidden","detail":"Not for you"}"#,
                Some("Not for you"),
            ),
            (
                r#"{"message":"","code":7}"#,
                Some(r#"{"message":"","code":7}"#),
            ),
            ("no entry", Some("no entry")),
            ("[1]", Some("[1]")),
            ("{}", None),
            ("<html>", None),
            (" ", None),
        ] {
            assert_eq!(readable_text(body).as_deref(), words, "{body}");
        }
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let wait = |value: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            date.map(|date| headers.insert(DATE, date.parse().unwrap()));
            retry_after(&headers, now).map(|wait| wait.as_secs())
        };
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
        for (value, seconds) in [
            ("3", Some(3)),
            (" 3 ", Some(3)),
            // The three forms of a date in RFC 9110, section 5.6.7.
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sunday, 06-Nov-94 08:49:40 GMT", Some(3)),
            ("Sun Nov  6 08:49:40 1994", Some(3)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("Mon, 30 Feb 1994 08:49:00 GMT", None),
            ("-3", None),
            ("3.5", None),
            ("99999999999999999999", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(wait(value, None), seconds, "{value}");
        }
        // The clock of the server is one hour ahead.
        let (later, date) = (
            "Sun, 06 Nov 1994 09:49:40 GMT",
            "Sun, 06 Nov 1994 09:49:37 GMT",
        );
        assert_eq!(wait(later, Some(date)), Some(3));
        assert_eq!(wait(later, Some("now")), Some(3_603));
    }
}
