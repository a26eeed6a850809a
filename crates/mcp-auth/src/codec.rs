//! Bytes as text: base64 in both alphabets, and digests.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::digest::{SHA256, digest};

/// Encodes bytes as base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Encodes bytes as base64url without padding, as in JSON Web Signatures and PKCE.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// The SHA-256 of a text, as base64url: what PKCE and the `ath` of a proof are.
pub(crate) fn sha256(text: &str) -> String {
    base64url(digest(&SHA256, text.as_bytes()).as_ref())
}

/// Reads base64 of either alphabet, padded or not; `None` if it is none.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut group = 0_u32;
        for &byte in chunk {
            group = group << 6 | value(byte)?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, all @ ..] = group.to_be_bytes();
        bytes.extend(all.iter().take(chunk.len() - 1));
    }
    Some(bytes)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(base64url(bytes.as_bytes()), text.trim_end_matches('='));
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
        assert_eq!(decode("-_8"), decode("+/8="));
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["A", "AAAAA", "A B=", "ä", "a\nb"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
