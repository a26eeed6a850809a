//! StandardHeaders that repeat what stands in the body.
//!
//! Specification: streamable HTTP, request metadata and server validation.

use http::HeaderMap;
use mcp_jsonrpc::{ErrorCode, ErrorObject, Request};
use mcp_protocol::http_headers;
use mcp_protocol::modern::StandardHeaders;
use mcp_protocol::{Revision, Service};
use mcp_types::method;

use crate::headers::PROTOCOL_VERSION;
use crate::server::heads::{Doubled, Field, Heads};

/// What stands for a header that cannot be read. No body says the same, so whichever check comes
/// to it refuses it, in its turn and by name.
const TWICE: &str = "(sent more than once)";
const ILLEGIBLE: &str = "(not visible ASCII)";

/// Those that every request has.
pub(super) fn standard<'a>(heads: &Heads<'a>) -> StandardHeaders<'a> {
    let read = |field| match single(field) {
        Ok(value) => value,
        Err(flaw) => Some(flaw),
    };
    StandardHeaders {
        version: read(heads.version),
        method: read(heads.method),
        name: read(heads.name),
    }
}

fn single(field: Field<'_>) -> Result<Option<&str>, &'static str> {
    let Some(value) = field.only().map_err(|_| TWICE)? else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| ILLEGIBLE)?;
    Ok(Some(text.trim_ascii()))
}

/// Whether the headers name a revision without a handshake.
pub(crate) fn is_announced(headers: &HeaderMap, heads: &Heads<'_>) -> bool {
    let mut modern = Revision::ALL.into_iter().filter(|it| it.is_stateless());
    modern.any(|revision| {
        let revision = revision.as_str().as_bytes();
        match heads.version.only() {
            Ok(version) => version.is_some_and(|it| it.as_bytes() == revision),
            Err(Doubled) => {
                let mut all = headers.get_all(PROTOCOL_VERSION).iter();
                all.any(|it| it.as_bytes() == revision)
            }
        }
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
        .and_then(http_headers::decode)
        .and_then(|tool| service.header_params(&tool));
    let Some(mirrored) = mirrored.filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    for name in mirrored.headers() {
        single(Field::of(headers, name)).map_err(|flaw| {
            ErrorObject::new(
                ErrorCode::HEADER_MISMATCH,
                format!("the {name} header cannot be compared with the body {flaw}"),
            )
        })?;
    }
    let mut members = request.param_members().filter_map(Result::ok);
    let arguments = members.find(|(key, _)| *key == "arguments");
    let arguments = arguments.map_or("{}", |(_, arguments)| arguments);
    mirrored.check(arguments, |name| {
        single(Field::of(headers, name)).ok().flatten()
    })
}
