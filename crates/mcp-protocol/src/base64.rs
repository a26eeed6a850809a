//! Standard base64 with padding (RFC 4648 §4), as every binary member of the protocol has it: a
//! dependency less for forty lines.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as base64.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let group = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let index = (group >> (18 - 6 * place)) & 63;
                out.push(char::from(ALPHABET[index as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Reads base64; `None` for anything that [`encode`] does not write.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let mut group = 0_u32;
        for byte in chunk {
            let value = ALPHABET.iter().position(|known| known == byte)?;
            group = group << 6 | u32::try_from(value).ok()?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, all @ ..] = group.to_be_bytes();
        bytes.extend(all.iter().take(chunk.len() - 1));
    }
    // Only one text stands for some bytes.
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: RES-032, PROMPT-009, PROMPT-011
    #[test]
    fn the_vectors_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(encode(&[0xFB, 0xFF, 0xFE]), "+//+");
    }

    #[test]
    fn what_is_not_written_is_not_read() {
        for text in [
            "Zg", "Zg=", "Zh==", "Z", "Zm9v====", "Zm 9v", "Zm-_", "=", "é",
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
