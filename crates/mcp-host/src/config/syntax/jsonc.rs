//! JSON with comments and trailing commas, as the files of VS Code contain them.

/// Returns JSON text without its comments and trailing commas, which configuration files may have. They are replaced with spaces,
/// so positions in error messages stay correct. Other text is not checked.
pub fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at = string_end(&bytes, at);
                continue;
            }
            (b'/', Some(b'/')) => {
                let rest = bytes[at..]
                    .iter()
                    .position(|byte| matches!(byte, b'\n' | b'\r'));
                let end = rest.map_or(bytes.len(), |length| at + length);
                at = blank(&mut bytes, at, end);
                continue;
            }
            (b'/', Some(b'*')) => {
                let rest = bytes[at + 2..].windows(2).position(|pair| pair == b"*/");
                let end = rest.map_or(bytes.len(), |length| at + length + 4);
                at = blank(&mut bytes, at, end);
                continue;
            }
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            (byte, _) if !byte.is_ascii_whitespace() => comma = None,
            _ => {}
        }
        at += 1;
    }
    // Only whole comments and commas were replaced, so the text is still UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the position after the string that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Replaces everything except line ends with spaces.
fn blank(bytes: &mut [u8], start: usize, end: usize) -> usize {
    for byte in &mut bytes[start..end] {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed() {
        let text = "{ // é\n \"a//b\": \"/* c */ \\\" ,}\", /* d, */ \"e\": [1, 2, /* x */ ], }";
        let value: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({ "a//b": "/* c */ \" ,}", "e": [1, 2] })
        );
        assert_eq!(without_comments(text).len(), text.len());
        let text = "{ // c\r\"a\": 1 // d\r\n}";
        let value: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({ "a": 1 }));
        for unfinished in ["{ \"a", "/* b", "// c", "\"\\"] {
            assert_eq!(without_comments(unfinished).len(), unfinished.len());
        }
    }
}
