//! Percent-encoding of URIs, and detection of path segments that lead out of their folder.

use super::expand::encode_char;
use super::syntax::is_triplet;

/// Normalizes a URI (RFC 3986, sections 6.2.2.1 and 6.2.2.2). Writes the scheme in lower case, decodes unreserved characters, and
/// writes all other encodings in upper case. Encodes spaces. Returns `None` for invalid URIs.
pub(crate) fn canonical(uri: &str) -> Option<String> {
    let mut text = String::with_capacity(uri.len());
    let mut rest = uri;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            '%' if is_triplet(rest) => {
                length = 3;
                match decode(&rest[..length]) {
                    Some(plain) if plain.bytes().all(is_unreserved) => text.push_str(&plain),
                    _ => text.push_str(&rest[..length].to_ascii_uppercase()),
                }
            }
            ' ' => text.push_str("%20"),
            '%' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => return None,
            _ if character.is_control() || character.is_whitespace() => return None,
            _ if character.is_ascii() => text.push(character),
            _ => encode_char(&mut text, character),
        }
        rest = &rest[length..];
    }
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if let Some(scheme) = text.find(':')
        && text[..scheme].bytes().all(is_of_scheme)
    {
        text[..scheme].make_ascii_lowercase();
    }
    Some(text)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Decodes percent-encoding once.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Returns whether a segment of the URI's path is `..`. Checks the whole path, not only the variables.
pub(super) fn has_parent_segment(uri: &str) -> bool {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    decode(path).is_none_or(|path| climbs(&path))
}

pub(super) fn climbs(path: &str) -> bool {
    path.split(['/', '\\'])
        // Windows removes spaces at the end of a name.
        .any(|segment| segment.trim_end_matches(' ') == "..")
}
