//! Authenticated, stateless list cursors.
//!
//! A cursor holds the sequence number of the item after which the next page starts. Its
//! authentication code covers the list and the principal: a client cannot make a cursor, use it
//! on another list, or use the cursor of another principal. The server stores nothing.

use data_encoding::BASE64URL_NOPAD;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Principal;

use crate::random;

/// Maximum length of an accepted cursor, in bytes.
const MAX_CURSOR: usize = 128;
/// Maximum length of an accepted cursor with the position of a data source, in bytes.
const MAX_TEXT_CURSOR: usize = 2_048;

/// Returns the cursor after the item with this sequence number in this list.
pub(crate) fn encode(list: &str, principal: Option<&Principal>, sequence: u64) -> String {
    let code = code(list, principal, &sequence.to_be_bytes());
    format!("{sequence:x}.{code}")
}

/// Returns the sequence number in a cursor of this list and principal.
pub(crate) fn decode(
    list: &str,
    principal: Option<&Principal>,
    cursor: &str,
) -> Result<u64, ErrorObject> {
    let sequence = (cursor.len() <= MAX_CURSOR)
        .then(|| cursor.split_once('.'))
        .flatten()
        .and_then(|(sequence, _)| u64::from_str_radix(sequence, 16).ok())
        .filter(|sequence| random::is_equal(&encode(list, principal, *sequence), cursor));
    sequence.ok_or_else(invalid)
}

/// Returns the cursor with a position of a data source.
pub(crate) fn encode_text(list: &str, principal: Option<&Principal>, position: &str) -> String {
    let code = code(list, principal, position.as_bytes());
    format!("{}.{code}", BASE64URL_NOPAD.encode(position.as_bytes()))
}

/// Returns the position in a cursor of [`encode_text`].
pub(crate) fn decode_text(
    list: &str,
    principal: Option<&Principal>,
    cursor: &str,
) -> Result<String, ErrorObject> {
    let position = (cursor.len() <= MAX_TEXT_CURSOR)
        .then(|| cursor.split_once('.'))
        .flatten()
        .and_then(|(position, _)| BASE64URL_NOPAD.decode(position.as_bytes()).ok())
        .and_then(|position| String::from_utf8(position).ok())
        .filter(|position| random::is_equal(&encode_text(list, principal, position), cursor));
    position.ok_or_else(invalid)
}

/// Returns the authentication code of a position in a list.
pub(crate) fn code(list: &str, principal: Option<&Principal>, position: &[u8]) -> String {
    let has_principal = [u8::from(principal.is_some())];
    let principal = principal.map(Principal::as_str).unwrap_or_default();
    random::mac(&[
        list.as_bytes(),
        &has_principal,
        principal.as_bytes(),
        position,
    ])
}

/// Returns the error for a cursor that this server did not issue to this principal.
pub(crate) fn invalid() -> ErrorObject {
    ErrorObject::invalid_params("invalid cursor; use the nextCursor of the previous page")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PAGE-002, PAGE-005, PAGE-012, M-PAGE-003, M-PAGE-004
    #[test]
    fn a_cursor_is_valid_only_unchanged_and_for_its_list_and_principal() {
        let cursor = encode("tools", None, 41);
        assert_eq!(decode("tools", None, &cursor), Ok(41));
        assert_eq!(encode("tools", None, 41), cursor);
        assert!(decode("prompts", None, &cursor).is_err());
        for at in 0..cursor.len() {
            let mut bytes = cursor.clone().into_bytes();
            bytes[at] ^= 1;
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(decode("tools", None, &text).unwrap_err().code.0, -32602);
        }
        for garbage in ["", ".", "zz", "0.", "+29.00", &"9".repeat(4096)] {
            assert!(decode("tools", None, garbage).is_err());
        }
        let (ada, alan) = (Principal::new("ada"), Principal::new("alan"));
        let cursor = encode("tools", Some(&ada), 41);
        assert_eq!(decode("tools", Some(&ada), &cursor), Ok(41));
        assert!(decode("tools", Some(&alan), &cursor).is_err());
        assert!(decode("tools", None, &cursor).is_err());
    }
}
