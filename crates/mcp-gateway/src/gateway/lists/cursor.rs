//! Cursors of merged lists. A cursor contains the servers that have further pages, each with the cursor of its next page. If a
//! server has no cursor, its first page is next.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use mcp_jsonrpc::ErrorObject;

/// Maximum size of the cursor of one server, in bytes.
pub(super) const MAX_CURSOR: usize = 4 << 10;
/// Maximum size of a cursor of the gateway, in bytes.
const MAX_MERGED: usize = 512 << 10;

/// The cursors of the servers, by mount.
pub(super) type Cursors = BTreeMap<String, Option<String>>;

/// Encodes the cursors of the servers as one cursor; `None` if no server has a further page.
pub(super) fn encode(cursors: &Cursors) -> Option<String> {
    if cursors.is_empty() {
        return None;
    }
    // Strings are always serializable.
    let text = serde_json::to_vec(cursors).unwrap_or_default();
    Some(BASE64URL_NOPAD.encode(&text))
}

/// Decodes a cursor of the gateway.
///
/// # Errors
/// The text is not a cursor of a gateway.
pub(super) fn decode(text: &str) -> Result<Cursors, ErrorObject> {
    let bytes = match text.len() > MAX_MERGED {
        true => None,
        false => BASE64URL_NOPAD.decode(text.as_bytes()).ok(),
    };
    bytes
        .and_then(|bytes| mcp_jsonrpc::decode_document(&bytes).ok())
        .ok_or_else(|| {
            ErrorObject::invalid_params(
                "the cursor was not issued by this gateway; request the first page again",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_decoded_only_if_it_is_a_cursor_of_a_gateway() {
        assert_eq!(encode(&Cursors::new()), None);
        let cursors = Cursors::from([
            ("fs".to_owned(), None),
            ("git".to_owned(), Some("a/+\"é".to_owned())),
        ]);
        assert_eq!(decode(&encode(&cursors).unwrap()).unwrap(), cursors);
        for wrong in ["", "AAAA", "git", "é", &"A".repeat(MAX_MERGED + 1)] {
            assert!(decode(wrong).is_err());
        }
    }

    #[test]
    fn a_cursor_has_a_limited_size() {
        // BASE64 has four characters for three bytes, and JSON adds eight characters to the text.
        let longest = "x".repeat(MAX_MERGED / 4 * 3 - r#"{"a":""}"#.len());
        let cursor = |text: &str| {
            let cursors = Cursors::from([("a".to_owned(), Some(text.to_owned()))]);
            encode(&cursors).unwrap()
        };
        assert_eq!(cursor(&longest).len(), MAX_MERGED);
        assert!(decode(&cursor(&longest)).is_ok());
        assert!(decode(&cursor(&(longest + "x"))).is_err());
    }
}
