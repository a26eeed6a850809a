//! Text from peers in log and error messages.

use std::fmt::{self, Write};

/// Text from a peer that is safe for a log line or an error message. [`quote`] returns this type.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a> {
    text: &'a str,
    max: usize,
}

/// Makes untrusted text from a peer safe for a log line or an error message.
///
/// Control characters and other characters that cannot be printed are escaped, so that the text stays on one line. A text of more
/// than `max` characters is clipped, and `…` marks where it was clipped. `{}` writes the text in quotation marks, and `{:#}`
/// writes it without quotation marks.
///
/// ```
/// use mcp_jsonrpc::quote;
///
/// assert_eq!(quote("a\nb", 64).to_string(), r#""a\nb""#);
/// assert_eq!(quote("tools/list", 5).to_string(), r#""tools…""#);
/// assert_eq!(format!("{:#}", quote("it's\r", 64)), r"it's\r");
/// ```
pub fn quote(text: &str, max: usize) -> Quoted<'_> {
    Quoted { text, max }
}

/// Returns the beginning of a text: at most `max` bytes, and only whole characters.
///
/// ```
/// use mcp_jsonrpc::prefix;
///
/// assert_eq!(prefix("grün", 3), "gr");
/// assert_eq!(prefix("grün", 64), "grün");
/// ```
pub fn prefix(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = !f.alternate();
        if marks {
            f.write_char('"')?;
        }
        let mut chars = self.text.chars();
        for character in chars.by_ref().take(self.max) {
            match character {
                '\'' => f.write_char('\'')?,
                '"' | '\\' if !marks => f.write_char(character)?,
                _ => write!(f, "{}", character.escape_debug())?,
            }
        }
        if chars.next().is_some() {
            f.write_char('…')?;
        }
        if marks {
            f.write_char('"')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_fits_is_not_marked_as_clipped() {
        assert_eq!(quote("abc", 3).to_string(), r#""abc""#);
        assert_eq!(quote("abcd", 3).to_string(), r#""abc…""#);
        assert_eq!(quote("", 0).to_string(), r#""""#);
        assert_eq!(quote("éà", 1).to_string(), r#""é…""#);
    }

    #[test]
    fn characters_that_cannot_be_printed_are_escaped() {
        let text = "\u{1b}[31m\u{202e}\0";
        assert_eq!(quote(text, 64).to_string(), r#""\u{1b}[31m\u{202e}\0""#);
        assert_eq!(format!("{:#}", quote("say \"x\"\n", 64)), "say \"x\"\\n");
    }
}
