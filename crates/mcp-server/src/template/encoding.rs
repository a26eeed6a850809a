//! The percent-encoding of URIs, and segments that leave their folder.

use super::expand::encode_char;
use super::syntax::is_triplet;

/// Normalizes the percent-encoding of a URI. Returns `None` for invalid URIs.
pub(super) fn canonical(uri: &str) -> Option<String> {
    let mut text = String::with_capacity(uri.len());
    let mut hex = 0;
    for (offset, character) in uri.char_indices() {
        match character {
            '%' if is_triplet(&uri[offset..]) => hex = 3,
            '%' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => return None,
            _ if character.is_control() || character.is_whitespace() => return None,
            _ => {}
        }
        if hex > 0 {
            hex -= 1;
            text.push(character.to_ascii_uppercase());
        } else if character.is_ascii() {
            text.push(character);
        } else {
            encode_char(&mut text, character);
        }
    }
    Some(text)
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

/// Whether a segment of the path is `..`, independent of the variables.
pub(super) fn climbs_anywhere(uri: &str) -> bool {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    decode(path).is_none_or(|path| climbs(&path))
}

pub(super) fn climbs(path: &str) -> bool {
    path.split(['/', '\\'])
        // Windows removes spaces at the end of a name.
        .any(|segment| segment.trim_end_matches(' ') == "..")
}
