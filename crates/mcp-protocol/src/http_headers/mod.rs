//! HTTP headers that echo members of the body, so that intermediaries need not parse the body.
//!
//! Specification: [request metadata][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata

mod params;

use std::borrow::Cow;

use data_encoding::BASE64;
use mcp_jsonrpc::{ErrorCode, ErrorObject, Request, is_member, quote, read_string};
use mcp_types::method;

pub use params::HeaderParams;

/// The header with the revision.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The header with the method.
pub const METHOD: &str = "Mcp-Method";
/// The header with the name of the tool or prompt, or the URI of the resource.
pub const NAME: &str = "Mcp-Name";
/// The prefix of headers that echo tool parameters.
pub const PARAM_PREFIX: &str = "Mcp-Param-";
/// The keyword of an input schema that names the header for a parameter.
pub const KEYWORD: &str = "x-mcp-header";

const START: &str = "=?base64?";
const END: &str = "?=";

/// Encodes a value for a header.
pub fn encode(value: &str) -> Cow<'_, str> {
    let looks_encoded = value.starts_with(START) && value.ends_with(END);
    let is_text = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_text && !looks_encoded && value.trim_matches(' ').len() == value.len() {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{START}{}{END}", BASE64.encode(value.as_bytes())))
}

/// Decodes the value of a header. Returns `None` if the encoding is invalid.
pub fn decode(header: &str) -> Option<Cow<'_, str>> {
    let marked = header
        .strip_prefix(START)
        .and_then(|rest| rest.strip_suffix(END));
    match marked {
        Some(text) => {
            let bytes = BASE64.decode(text.as_bytes()).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
        None => Some(Cow::Borrowed(header)),
    }
}

/// Checks that a header and the body have the same value, or that both are absent.
pub(crate) fn check(
    header: &str,
    sent: Option<&str>,
    body: Option<&str>,
) -> Result<(), ErrorObject> {
    match (sent, body) {
        (Some(sent), Some(body)) if sent == body => Ok(()),
        (None, None) => Ok(()),
        (None, Some(body)) => Err(mismatch(format!(
            "the {header} header is missing; send {}",
            quote(&encode(body), 128)
        ))),
        (Some(sent), body) => Err(mismatch(format!(
            "the {header} header is {}, but the body has {}",
            quote(sent, 128),
            quote(body.unwrap_or_default(), 128)
        ))),
    }
}

/// Checks `Mcp-Name` against the body.
pub(crate) fn check_name(request: &Request<'_>, sent: Option<&str>) -> Result<(), ErrorObject> {
    let Some(member) = name_member(&request.method) else {
        return Ok(());
    };
    let found = sole_member(request.param_members().map_while(Result::ok), member)
        .map_err(|problem| mismatch(format!("/{member}: {problem}")))?;
    match (found.and_then(read_string), sent) {
        (Some(name), sent) => check_value(NAME, sent, Some(&name)),
        // A value that is not a string is rejected later, with a better error.
        (None, Some(_)) => Ok(()),
        (None, None) => Err(mismatch(format!(
            "the {NAME} header is missing; it must contain the value of /{member}, which must be a string"
        ))),
    }
}

/// Returns the text of the member `name`, which is echoed in a header. The name must occur only once and without escapes.
/// Otherwise the handler could use another value than the value that is compared with the header.
///
/// # Errors
/// The name occurs several times or with escapes. The text says which of the two.
fn sole_member<'a>(
    all: impl Iterator<Item = (&'a str, &'a str)>,
    name: &str,
) -> Result<Option<&'a str>, &'static str> {
    let mut found = None;
    for (key, value) in all {
        if key == name {
            if found.replace(value).is_some() {
                return Err("the member is repeated; send it once");
            }
        } else if is_member(key, name) {
            return Err("the name of the member contains escapes; send it without them");
        }
    }
    Ok(found)
}

/// Compares a header with the value in the body. The value of the header may be encoded.
fn check_value(header: &str, sent: Option<&str>, body: Option<&str>) -> Result<(), ErrorObject> {
    let sent = match sent {
        None => None,
        Some(text) => Some(decode(text).ok_or_else(|| {
            mismatch(format!(
                "the {header} header {} is not base64 of UTF-8 text",
                quote(text, 128)
            ))
        })?),
    };
    check(header, sent.as_deref(), body)
}

/// Returns the name of the params member that `Mcp-Name` echoes. Returns `None` for a method without this header.
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        method::TOOLS_CALL | method::PROMPTS_GET => Some("name"),
        method::RESOURCES_READ => Some("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => Some("taskId"),
        _ => None,
    }
}

/// Returns the HTTP status of an error that rejects a request before it is handled.
pub fn admission_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::METHOD_NOT_FOUND => 404,
        _ => 400,
    }
}

/// Returns the HTTP status of an error response of a handler: 200, except for the errors that the
/// protocol defines.
pub fn response_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::METHOD_NOT_FOUND => 404,
        ErrorCode::HEADER_MISMATCH
        | ErrorCode::MISSING_CLIENT_CAPABILITY
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => 400,
        _ => 200,
    }
}

fn mismatch(message: String) -> ErrorObject {
    ErrorObject::new(ErrorCode::HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: M-HDR-016, M-HDR-018, M-HDR-019, M-HDR-020, M-HDR-022
    #[test]
    fn values_that_are_not_plain_text_are_encoded_and_decoded() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("inner space", "inner space"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("a\tb", "=?base64?YQli?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
        ] {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header).unwrap(), value);
        }
        for broken in ["=?base64?!?=", "=?base64?YQ?=", "=?base64?/w==?="] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
