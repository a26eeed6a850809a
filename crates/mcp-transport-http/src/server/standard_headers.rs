//! The headers of the stateless revision that echo members of the body.

use http::HeaderMap;
use mcp_jsonrpc::{ErrorCode, ErrorObject, Request};
use mcp_protocol::modern::StandardHeaders;
use mcp_protocol::{Service, http_headers};
use mcp_types::method;

use crate::server::head::{McpHeaders, SingleHeader};

/// Placeholder for the value of a header that was sent more than once. A placeholder never equals the value in the body. The
/// check of the header then fails, and the error names the header.
const TWICE: &str = "(sent more than once)";
/// Placeholder for a header value that has other characters than visible ASCII.
const ILLEGIBLE: &str = "(not visible ASCII)";

/// Returns the headers of a request that echo members of its body.
pub(crate) fn standard_headers<'a>(mcp_headers: &McpHeaders<'a>) -> StandardHeaders<'a> {
    let read = |field| match single_text(field) {
        Ok(value) => value,
        Err(flaw) => Some(flaw),
    };
    StandardHeaders {
        version: read(mcp_headers.version),
        method: read(mcp_headers.method),
        name: read(mcp_headers.name),
    }
}

fn single_text(field: SingleHeader<'_>) -> Result<Option<&str>, &'static str> {
    let Some(value) = field.single().map_err(|_| TWICE)? else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| ILLEGIBLE)?;
    Ok(Some(text.trim_ascii()))
}

/// Checks the headers that echo arguments of a tool call (`x-mcp-header`). `name` is the value of `Mcp-Name`. The caller must
/// already have compared this value with the body.
pub(crate) fn check_param_headers(
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
    let Some(mirrored) = mirrored.filter(|params| !params.is_empty()) else {
        return Ok(());
    };
    for name in mirrored.headers() {
        single_text(SingleHeader::of(headers, name)).map_err(|flaw| {
            ErrorObject::new(
                ErrorCode::HEADER_MISMATCH,
                format!("the {name} header {flaw} cannot be compared with the body"),
            )
        })?;
    }
    mirrored.check_call(request, |name| {
        single_text(SingleHeader::of(headers, name)).ok().flatten()
    })
}
