//! Escapes text from servers and files before a person sees it, so that it cannot imitate text of the host.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Returns whether a character is not visible by itself: a control or format character, a line or paragraph separator, a
/// character with the Unicode property `Default_Ignorable_Code_Point`, or a letter or symbol that is displayed as blank. Format
/// characters include characters that change the direction of text.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is_control = matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    );
    // Characters without ink that Unicode classifies as symbols and a mark: braille blank, null note head, Khitan filler.
    let is_blank = matches!(c, '\u{2800}' | '\u{1d159}' | '\u{16fe4}');
    is_control || is_blank || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Escapes control characters except line ends, invisible characters, and characters that change the direction of text. Use it
/// for all text from a server before a person sees it.
pub fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => printed.push(c),
            _ if is_hidden(c) => printed.extend(c.escape_unicode()),
            _ => printed.push(c),
        }
    }
    printed
}

/// Writes a line end and `>` before each line of a text, and returns the result.
pub(crate) fn quote_lines(text: &str) -> String {
    let lines = text.split('\n');
    lines.flat_map(|line| ["\n  > ", line]).collect()
}

/// Replaces line ends with `\u{a}`, so that the text cannot imitate a line of the host.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', "\\u{a}")
}

/// Quotes a word for a POSIX shell, on one line.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", one_line(&word.replace('\'', "'\\''")))
}

/// Returns a URL without its query and fragment, which may contain secrets.
pub(crate) fn plain_url(url: &str) -> &str {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.contains('@') {
        true => "[redacted]",
        false => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_and_visible_text_is_unchanged() {
        let hidden = "\u{0}\t\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180e}\u{200b}\u{200d}\
            \u{200e}\u{2028}\u{2029}\u{202e}\u{2060}\u{2065}\u{2069}\u{206f}\u{2800}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fff9}\
            \u{16fe4}\u{1bca0}\u{1d159}\u{1d173}\u{e0001}\u{e0041}\u{e01ef}\u{e0fff}";
        for c in hidden.chars() {
            assert!(is_hidden(c), "{c:?}");
            assert_eq!(printable(&c.to_string()), c.escape_unicode().to_string());
        }
        let shown = "aZ9 ~ä\u{a0}\u{301}Ж中日本語 한글 العربية עברית हिन्दी 😀→\n";
        assert_eq!(printable(shown), shown);
    }
}
