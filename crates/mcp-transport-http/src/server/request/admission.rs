//! Checks of the request headers, before the body is read.

use std::sync::atomic::Ordering;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use mcp_jsonrpc::quote;

use crate::headers::{EVENT_STREAM, JSON, is_media_type};
use crate::server::allow_list::{self, SourceCheck};
#[cfg(feature = "forward")]
use crate::server::forwarded;
use crate::server::head::McpHeaders;
use crate::server::response::refusal::{MAX_QUOTED, Refusal};
use crate::server::state::EndpointState;

/// Checks `Host` and `Origin`, and that the endpoint is not shutting down. The checks of `Host` and `Origin` protect a local
/// server against web pages and DNS rebinding.
///
/// Specification: transports, security warning.
pub(crate) fn admit(
    state: &EndpointState,
    parts: &Parts,
    mcp_headers: &McpHeaders<'_>,
) -> Result<(), Refusal> {
    let options = &state.options;
    pass(allow_list::host(
        &options.hosts,
        &parts.uri,
        mcp_headers.host,
    ))?;
    pass(allow_list::origin(&options.origins, mcp_headers.origin))?;
    if state.closing.load(Ordering::Acquire) {
        #[cfg(feature = "forward")]
        if forwarded::is_forwarded(parts) {
            return Err(forwarded::refusal_at_shutdown());
        }
        return Err(Refusal::busy("the server is shutting down"));
    }
    Ok(())
}

fn pass(check: SourceCheck) -> Result<(), Refusal> {
    let SourceCheck::Refused(message) = check else {
        return Ok(());
    };
    tracing::warn!(message, "rejected a request");
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

/// Checks that the client accepts all media types in `needed`.
#[inline]
pub(crate) fn check_accept(
    headers: &HeaderMap,
    mcp_headers: &McpHeaders<'_>,
    needed: &[&str],
) -> Result<(), Refusal> {
    // Without the header, every type is acceptable. Nearly every client sends exactly this value.
    if mcp_headers.accept.is_absent()
        || mcp_headers
            .accept
            .is(b"application/json, text/event-stream")
    {
        return Ok(());
    }
    for kind in needed {
        if !accepts(headers, kind) {
            return Err(Refusal::new(
                StatusCode::NOT_ACCEPTABLE,
                format!("the Accept header must list {}", needed.join(" and ")),
            ));
        }
    }
    Ok(())
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let family = kind.split('/').next().unwrap_or_default();
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let matches = range.eq_ignore_ascii_case(kind)
                || range == "*/*"
                || range
                    .strip_suffix("/*")
                    .is_some_and(|prefix| prefix.eq_ignore_ascii_case(family));
            let refused = parts.any(|parameter| {
                parameter.split_once('=').is_some_and(|(name, weight)| {
                    name.trim().eq_ignore_ascii_case("q") && weight.trim().parse() == Ok(0.0)
                })
            });
            matches && !refused
        })
}

/// Checks `Content-Type` and `Content-Encoding`.
#[inline]
pub(crate) fn check_content(
    headers: &HeaderMap,
    mcp_headers: &McpHeaders<'_>,
) -> Result<(), Refusal> {
    // Nearly every client sends exactly this value.
    if !mcp_headers.content_type.is(JSON.as_bytes()) {
        check_type(headers)?;
    }
    if mcp_headers.content_encoding.is_absent() {
        return Ok(());
    }
    check_encoding(headers)
}

/// Checks that the body is declared as JSON. A browser sends a preflight request before it sends JSON to another origin.
fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    if is_media_type(headers, JSON) {
        return Ok(());
    }
    let values = headers.get_all(CONTENT_TYPE).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let problem = match &*values.join(", ") {
        "" => format!("Content-Type is missing; send {JSON}"),
        other => format!("Content-Type is {}; send {JSON}", quote(other, MAX_QUOTED)),
    };
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem))
}

/// Rejects compressed bodies, because the size of a compressed body is known only after decompression.
fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = value.as_bytes().trim_ascii();
        if !value.eq_ignore_ascii_case(b"identity") {
            return Err(Refusal::unsupported_encoding(format!(
                "Content-Encoding is {}; send the body without a content encoding",
                quote(&String::from_utf8_lossy(value), MAX_QUOTED)
            )));
        }
    }
    Ok(())
}

/// The media types that the client must accept in the response to a POST.
pub(crate) const BOTH: &[&str] = &[JSON, EVENT_STREAM];
/// The media type that the client must accept in the response to a GET.
pub(crate) const EVENTS: &[&str] = &[EVENT_STREAM];

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &http::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    // proves: HTTP-070
    #[test]
    fn a_post_must_accept_json_and_event_streams() {
        for good in [
            &["application/json, text/event-stream"][..],
            &["text/event-stream,application/json;q=0.5"],
            &["text/event-stream", "application/json"],
            &["*/*"],
            &["text/*, application/*"],
            &["Application/JSON, Text/Event-Stream;charset=utf-8"],
            &[],
        ] {
            let headers = headers(&ACCEPT, good);
            assert!(
                check_accept(&headers, &McpHeaders::of(&headers), BOTH).is_ok(),
                "{good:?}"
            );
        }
        for bad in [
            "text/html",
            "application/json",
            "text/event-stream",
            "",
            "application/json, text/event-stream;q=0",
            "application/json, text/event-stream; q=0.0",
            "application/jsontext/event-stream",
        ] {
            let headers = headers(&ACCEPT, &[bad]);
            assert!(
                check_accept(&headers, &McpHeaders::of(&headers), BOTH).is_err(),
                "{bad:?}"
            );
        }
        let events = |value| {
            let headers = headers(&ACCEPT, &[value]);
            check_accept(&headers, &McpHeaders::of(&headers), EVENTS)
        };
        assert!(events("text/event-stream").is_ok());
        assert!(events("application/json").is_err());
    }

    // proves: HTTP-071
    #[test]
    fn content_type_must_be_json() {
        for good in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/Json ;x=y",
            "application/json, application/json",
            "application/json;charset=utf-8,application/json",
        ] {
            assert!(
                check_type(&headers(&CONTENT_TYPE, &[good])).is_ok(),
                "{good}"
            );
        }
        for bad in [
            &["text/plain"][..],
            &["application/x-www-form-urlencoded"],
            &["multipart/form-data; boundary=x"],
            &["application/jsonx"],
            &[""],
            &[],
            &["application/json", "text/plain"],
            &["application/json, text/plain"],
            &["text/plain, application/json"],
            &["application/json,"],
        ] {
            assert!(check_type(&headers(&CONTENT_TYPE, bad)).is_err(), "{bad:?}");
        }
    }
}
