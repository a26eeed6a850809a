//! Replacement of text that is not Unicode.

use std::borrow::Cow;

/// Replaces bytes that are not UTF-8, and escapes of half a surrogate pair, with U+FFFD. Returns `None` if there is nothing to
/// replace.
///
/// Programs that cut text or read it in another encoding produce such messages.
pub fn replace_invalid_text(frame: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(frame);
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', text.as_bytes().get(at..)?) {
        at += found;
        let unit = escaped_unit(&text, at);
        let is_pair = || matches!(escaped_unit(&text, at + 6), Some(0xDC00..=0xDFFF));
        match unit {
            Some(0xD800..=0xDBFF) if is_pair() => at += 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(text.get(copied..at)?);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at += 2,
        }
        if at > text.len() {
            break;
        }
    }
    if copied == 0 {
        return match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        };
    }
    repaired.push_str(text.get(copied..)?);
    Some(repaired)
}

/// Returns the number in the escape `\uXXXX` at position `at`.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_is_not_unicode_is_replaced() {
        for (text, expected) in [
            (r#"{"a":"\ud83d\ude00"}"#, None),
            (r#"{"a":"\\ud83d"}"#, None),
            ("plain \\", None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ud83dx\ude00""#, Some(r#""\ufffdx\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\\\udc00é""#, Some(r#""\\\ufffdé""#)),
        ] {
            let repaired = replace_invalid_text(text.as_bytes());
            assert_eq!(repaired.as_deref(), expected, "{text}");
        }
        let bytes = replace_invalid_text(b"\"caf\xe9\"");
        assert_eq!(bytes.as_deref(), Some("\"caf\u{fffd}\""));
        assert_eq!(replace_invalid_text(b"\\").as_deref(), None);
    }
}
