//! Writes the output of the program: results to stdout, everything else to stderr.

use std::io::{self, IsTerminal as _, Write as _};

use mcp_client::types::PromptMessage;
use mcp_client::{CallToolResult, ContentBlock, ResourceContents};
use mcp_host::{is_hidden_character, without_setting_names};
use serde::Serialize;

use crate::failure::Failure;
use crate::hidden::hide;

/// Prints one line to stderr, without secrets. Line ends in a server's text are escaped, so that the text cannot imitate a line
/// of this program.
pub(crate) fn say(line: &str) {
    say_after("", line);
}

/// Prints a line in the same way as [`say`]. The line contains an address that the user opens, so no part of it is hidden.
pub(crate) fn say_whole(line: &str) {
    say_after(&one_line(line), "");
}

/// Prints words of the program unchanged, and then a line in the same way as [`say`].
pub(crate) fn say_after(introduction: &str, line: &str) {
    let line = one_line(&without_setting_names(&hide(line)));
    // If stderr is closed, nothing can be reported.
    let _ = writeln!(io::stderr(), "{introduction}{line}");
}

/// Prints a text from a server after the words that introduce it. Marks all lines of the text after the first line.
pub(crate) fn say_text(introduction: &str, text: &str) {
    let mut lines = text.lines();
    say(&format!(
        "{introduction} {}",
        lines.next().unwrap_or_default()
    ));
    for line in lines {
        say(&format!("  > {line}"));
    }
}

/// Prints text to stdout, with a line break at its end.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut text = clean(text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    write(text.as_bytes())
}

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    json_text(text_of(value)?)
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value);
    json_text(text.map_err(|error| Failure::usage(error.to_string()))?)
}

/// Prints JSON with a line break at its end. On a terminal, the text is escaped; otherwise, it is unchanged.
pub(crate) fn json_text(mut json: String) -> Result<(), Failure> {
    if is_terminal() {
        json = escape_json(&json);
    }
    write((json + "\n").as_bytes())
}

pub(crate) fn text_of(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|error| Failure::usage(error.to_string()))
}

/// Writes bytes to stdout.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        // The reader of stdout, for example `head`, has ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::usage(format!("stdout: {error}"))),
    }
}

pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The replacement for characters with which a server could change the display of the terminal.
const REPLACEMENT: char = '\u{fffd}';

/// Replaces characters with which a server could change the display of the terminal. Keeps a joiner or variation selector that
/// follows the character that it shapes, because emoji and scripts such as Persian need these characters.
pub(crate) fn clean(text: &str) -> String {
    let is_shaped = |c: char| !c.is_ascii() && !is_unsafe(c) && c != REPLACEMENT;
    let mut cleaned = String::with_capacity(text.len());
    let mut before = REPLACEMENT;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_shaping = match c {
            // The digits of keycap emoji are ASCII.
            '\u{fe0e}' | '\u{fe0f}' => is_shaped(before) || chars.peek() == Some(&'\u{20e3}'),
            '\u{200c}' | '\u{200d}' => is_shaped(before) || before == '\u{fe0f}',
            _ => false,
        };
        before = match is_unsafe(c) && !is_shaping {
            true => REPLACEMENT,
            false => c,
        };
        cleaned.push(before);
    }
    cleaned
}

/// Replaces the characters that [`clean`] replaces. Also replaces line breaks and tabs, so that a name stays on one line.
pub(crate) fn clean_name(name: &str) -> String {
    let replace = |c: char| {
        if is_hidden_character(c) {
            REPLACEMENT
        } else {
            c
        }
    };
    name.chars().map(replace).collect()
}

/// Escapes the characters that [`clean`] replaces. The decoded value of the JSON text does not change.
fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // This character is not within a string: JSON text of a string always escapes it.
            '\r' => escaped.push(' '),
            // All other unsafe characters occur only within strings.
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns whether a character can change the display of the terminal. These are all hidden characters except line breaks and
/// tabs.
fn is_unsafe(c: char) -> bool {
    is_hidden_character(c) && !matches!(c, '\n' | '\t')
}

/// Replaces the characters that [`clean`] replaces, and writes line breaks as `\\n`.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace('\n', "\\n")
}

/// Returns the first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns the result of a tool as text. Includes structured content only if there is no other content.
pub(crate) fn result_text(result: &CallToolResult) -> Result<String, Failure> {
    match (&result.content[..], &result.structured_content) {
        ([], Some(structured)) => text_of(structured).map(|json| escape_json(&json)),
        (blocks, _) => Ok(blocks.iter().map(block_text).collect::<Vec<_>>().join("\n")),
    }
}

pub(crate) fn message_text(message: &PromptMessage) -> String {
    let role = serde_json::to_value(&message.role).ok();
    let role = role.as_ref().and_then(|role| role.as_str()).unwrap_or("?");
    format!("{role}: {}", block_text(&message.content))
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => binary("image", Some(&image.mime_type), &image.data),
        ContentBlock::Audio(audio) => binary("audio", Some(&audio.mime_type), &audio.data),
        ContentBlock::ResourceLink(link) => {
            one_line(&format!("[resource {} {}]", link.name, link.uri))
        }
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::Text(text) => text.text.clone(),
            ResourceContents::Blob(blob) => {
                binary(&blob.uri, blob.mime_type.as_deref(), &blob.blob)
            }
            _ => "[resource of an unknown kind]".to_owned(),
        },
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Returns a description of binary content. `base64` is the content in base64.
pub(crate) fn binary(what: &str, mime_type: Option<&str>, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    one_line(&format!(
        "[{what} {}, {bytes} bytes; --json shows it]",
        mime_type.unwrap_or("unknown type")
    ))
}

/// Prints names, and the first lines of their texts, in two columns.
pub(crate) fn print_table(rows: &[(&str, &str)]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    print(&table(rows))
}

fn table(rows: &[(&str, &str)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default().min(40);
    let row = |(name, text): &(&str, &str)| {
        let row = format!("{:width$}  {}", clean_name(name), first_line(text));
        row.trim_end().to_owned()
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// Returns a number with a noun, which is in the singular if the number is 1.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_name_in_a_table_is_on_one_line() {
        let rows = [("a\nb  forged\r\u{200b}\tc", "text"), ("d\u{fe0f}", "e\nf")];
        let table = table(&rows);
        assert_eq!(table.lines().count(), 2, "{table:?}");
        assert!(
            !table.contains(['\r', '\t', '\u{200b}', '\u{fe0f}']),
            "{table:?}"
        );
    }

    #[test]
    fn hidden_characters_are_replaced_except_joiners_and_variation_selectors() {
        for hidden in "\u{3164}\u{115f}\u{180e}\u{2800}\u{34f}\u{200b}\u{202e}\u{7f}\r".chars() {
            assert_eq!(clean(&format!("ä{hidden}")), "ä\u{fffd}", "{hidden:?}");
        }
        for joiner in "\u{200c}\u{200d}\u{fe0e}\u{fe0f}".chars() {
            assert_eq!(clean(&format!("a{joiner}")), "a\u{fffd}", "{joiner:?}");
            assert_eq!(
                clean(&format!("😀{joiner}{joiner}")),
                format!("😀{joiner}\u{fffd}")
            );
        }
        let text = "⚠️ 👩\u{200d}💻 می\u{200c}خواهم\n\tx";
        assert_eq!(clean(text), text);
    }

    #[test]
    fn json_for_a_terminal_has_the_same_value_without_control_characters() {
        let text = "\u{1b}[2K \u{7f} \u{9b}2K \u{202e}abc\u{61c} \u{2028} \u{e0041} \r\n\t ä 😀";
        let value = json!({ text: [text] });
        let mut json = text_of(&value).unwrap();
        // A server may also write these characters between tokens.
        json.insert_str(1, "\r\n\t");
        let escaped = escape_json(&json);
        assert_eq!(escaped, clean(&escaped), "nothing is left to replace");
        assert!(
            escaped.contains(r"\u009b2K \u202eabc\u061c \u2028 \udb40\udc41 \r"),
            "{escaped}"
        );
        assert!(escaped.ends_with("ä 😀\"\n  ]\n}"), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
