//! Headers that repeat what stands in the body.
//!
//! Specification: streamable HTTP, request metadata and server validation.

use http::{HeaderMap, HeaderName};
use mcp_jsonrpc::{ErrorCode, ErrorObject, Request};
use mcp_protocol::modern::{Headers, mirror};
use mcp_protocol::{Revision, Service};
use mcp_types::method;

use crate::headers::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What stands for a header that cannot be read. No body says the same, so whichever check comes
/// to it refuses it, in its turn and by name.
const TWICE: &str = "(sent more than once)";
const ILLEGIBLE: &str = "(not visible ASCII)";

/// Those that every request has.
pub(super) fn standard(headers: &HeaderMap) -> Headers<'_> {
    let read = |name| match single(headers, name) {
        Ok(value) => value,
        Err(flaw) => Some(flaw),
    };
    Headers {
        version: read(&PROTOCOL_VERSION),
        method: read(&METHOD),
        name: read(&NAME),
    }
}

fn single(
    headers: &HeaderMap,
    name: impl http::header::AsHeaderName,
) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(TWICE);
    }
    let text = value.to_str().map_err(|_| ILLEGIBLE)?;
    Ok(Some(text.trim_matches([' ', '\t'])))
}

/// Whether the headers name a revision without a handshake.
pub(crate) fn is_announced(headers: &HeaderMap) -> bool {
    headers.get_all(PROTOCOL_VERSION).iter().any(|value| {
        let revision = value.to_str().ok().and_then(|text| text.parse().ok());
        revision.is_some_and(Revision::is_modern)
    })
}

/// The headers that a tool gives to its parameters. `name` is `Mcp-Name`, which by now says the
/// same as the body.
pub(super) fn check_params(
    service: &dyn Service,
    request: &Request<'_>,
    headers: &HeaderMap,
    name: Option<&str>,
) -> Result<(), ErrorObject> {
    if request.method != method::TOOLS_CALL {
        return Ok(());
    }
    let mirrored = name
        .and_then(mirror::decode)
        .and_then(|tool| service.mirrored(&tool));
    let Some(mirrored) = mirrored.filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    for name in mirrored.headers() {
        single(headers, name).map_err(|flaw| {
            ErrorObject::new(
                ErrorCode::HEADER_MISMATCH,
                format!("the {name} header cannot be compared with the body {flaw}"),
            )
        })?;
    }
    let mut members = request.param_members().filter_map(Result::ok);
    let arguments = members.find(|(key, _)| *key == "arguments");
    let arguments = arguments.map_or("{}", |(_, arguments)| arguments);
    mirrored.check(arguments, |name| single(headers, name).ok().flatten())
}
