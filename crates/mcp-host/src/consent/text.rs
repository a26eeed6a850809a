//! Text of servers in consent requests: it must not imitate the text of the host.

/// Escapes control characters except line ends, and invisible characters and those that change the direction of
/// text. Use it for all text of a server that is shown to a person.
pub fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
        match c {
            '\n' => printed.push(c),
            _ if c.is_control() || is_hidden => printed.extend(c.escape_unicode()),
            _ => printed.push(c),
        }
    }
    printed
}

/// Returns the lines of a text, each of which begins with a line end and `>`.
pub(crate) fn quote_lines(text: &str) -> String {
    let lines = text.split('\n');
    lines.flat_map(|line| ["\n  > ", line]).collect()
}

/// Replaces line ends by `\u{a}`, so that the text cannot imitate a line of the host.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', "\\u{a}")
}

/// Quotes a word for a POSIX shell, on one line.
pub(super) fn quoted(word: &str) -> String {
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
