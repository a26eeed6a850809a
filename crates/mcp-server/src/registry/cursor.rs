//! Sealed, stateless cursors.
//!
//! A cursor says after which item the next page starts. It is sealed, so a client can neither
//! make one nor use it on another list, and it needs no memory on the server.

use mcp_jsonrpc::ErrorObject;

use crate::random;

/// Longest cursor that is looked at, in bytes.
const MAX_CURSOR: usize = 128;

/// The cursor after the item with this sequence number in this list.
pub(crate) fn encode(list: &str, sequence: u64) -> String {
    format!("{sequence:x}.{:032x}", random::tag(&(list, sequence)))
}

/// The sequence number in a cursor of this list.
pub(crate) fn decode(list: &str, cursor: &str) -> Result<u64, ErrorObject> {
    let sequence = (cursor.len() <= MAX_CURSOR)
        .then(|| cursor.split_once('.'))
        .flatten()
        .and_then(|(sequence, _)| u64::from_str_radix(sequence, 16).ok())
        .filter(|sequence| encode(list, *sequence) == cursor);
    sequence.ok_or_else(invalid)
}

/// The answer to a cursor that nobody made.
pub(crate) fn invalid() -> ErrorObject {
    ErrorObject::invalid_params("invalid cursor; use the nextCursor of the page before")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PAGE-002, PAGE-005, PAGE-012, M-PAGE-003, M-PAGE-004
    #[test]
    fn cursors_open_only_untouched_and_only_on_their_list() {
        let cursor = encode("tools", 41);
        assert_eq!(decode("tools", &cursor), Ok(41));
        assert_eq!(encode("tools", 41), cursor);
        assert!(decode("prompts", &cursor).is_err());
        for at in 0..cursor.len() {
            let mut bytes = cursor.clone().into_bytes();
            bytes[at] ^= 1;
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(decode("tools", &text).unwrap_err().code.0, -32602);
        }
        for garbage in ["", ".", "zz", "0.", "+29.00", &"9".repeat(4096)] {
            assert!(decode("tools", garbage).is_err());
        }
    }
}
