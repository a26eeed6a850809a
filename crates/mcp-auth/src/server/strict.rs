//! Decodes JSON without duplicate names, and canonical base64url.
//!
//! Parsers treat duplicate names in different ways, so a token could have one meaning for its issuer and another meaning for this
//! server.

use data_encoding::BASE64URL_NOPAD;
use mcp_jsonrpc::check_unique_members;
use serde_json::{Map, Value};

/// Parses an object; `None` if the text is not an object or has duplicate names at any depth.
pub(crate) fn parse_object(text: &[u8]) -> Option<Map<String, Value>> {
    check_unique_members(std::str::from_utf8(text).ok()?).ok()?;
    mcp_jsonrpc::decode_document(text).ok()
}

/// Decodes base64url as in signed tokens. Rejects padding, other alphabets and nonzero trailing bits, so that each byte sequence
/// has exactly one encoding.
pub(crate) fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_names_are_rejected_at_any_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":{"b":1,"b":1}}"#,
            r#"{"a":[[{"b":1,"b":null}]]}"#,
        ] {
            assert!(parse_object(text.as_bytes()).is_none(), "{text}");
        }
        let text = r#"{"a":{"a":[true,null,-1,1.5,"a",{"a":1}]},"b":{"a":1}}"#;
        assert_eq!(parse_object(text.as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn json_that_is_not_an_object_is_rejected() {
        let deep = format!("{{\"a\":{}", "[".repeat(1_000));
        for text in [
            "",
            "1",
            "[]",
            "null",
            "{",
            "{}x",
            "{\"a\":1,}",
            "{'a':1}",
            &deep,
            "\u{feff}{}",
            // The decoder of `serde_json::Value` would replace the inner object with an array.
            r#"{"a":{"$serde_json::private::RawValue":"[]"}}"#,
        ] {
            assert!(parse_object(text.as_bytes()).is_none(), "{text}");
        }
        assert!(parse_object(b"{\"a\":\"\xff\"}").is_none());
    }

    #[test]
    fn only_canonical_base64url_is_decoded() {
        assert_eq!(decode_base64url("Zm9vYg").unwrap(), b"foob");
        assert_eq!(decode_base64url("").unwrap(), b"");
        for text in ["Zm9vYg==", "Zm9vYh", "-_8=", "+/8", "-_9", "Zm9v\n", "Z"] {
            assert_eq!(decode_base64url(text), None, "{text:?}");
        }
    }
}
