//! What is printed: results on stdout, all else on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use mcp_client::types::PromptMessage;
use mcp_client::{CallToolResult, ContentBlock, ResourceContents};
use serde::Serialize;

use crate::failure::Failure;

/// Prints a line to stderr.
pub(crate) fn say(line: &str) {
    // If stderr is closed, nothing can be reported.
    let _ = writeln!(io::stderr(), "{}", clean(line));
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

/// Prints JSON with a line break at its end: unchanged, or escaped for a terminal.
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
        // The reader, for example `head`, has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::usage(format!("stdout: {error}"))),
    }
}

pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Replaces characters with which a server could change what the terminal shows.
pub(crate) fn clean(text: &str) -> String {
    let replace = |c: char| if is_unsafe(c) { '\u{fffd}' } else { c };
    text.chars().map(replace).collect()
}

/// Escapes the characters that [`clean`] replaces. The value of the JSON text is the same.
fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Within a string it is always escaped.
            '\r' => escaped.push(' '),
            // The others occur only within strings.
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

/// Whether a character can change what the terminal shows: control characters except line breaks and tabs, and
/// characters that reorder, break or hide text.
fn is_unsafe(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}');
    is_invisible || c.is_control() && !matches!(c, '\n' | '\t')
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The result of a tool as text; structured content only if there is no other.
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
        ContentBlock::ResourceLink(link) => format!("[resource {} {}]", link.name, link.uri),
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

/// Describes binary content, of which `base64` is the text.
pub(crate) fn binary(what: &str, mime_type: Option<&str>, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!(
        "[{what} {}, {bytes} bytes; --json shows it]",
        mime_type.unwrap_or("unknown type")
    )
}

/// Prints names and texts in two columns.
pub(crate) fn print_table(rows: &[(&str, &str)]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default().min(40);
    let row = |(name, text): &(&str, &str)| format!("{name:width$}  {text}").trim_end().to_owned();
    print(&rows.iter().map(row).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_for_a_terminal_has_the_same_value_without_control_characters() {
        let text = "\u{1b}[2K \u{7f} \u{9b}2K \u{202e}abc\u{61c} \u{2028} \u{e0041} \r\n\t ä 😀";
        let value = json!({ text: [text] });
        let mut json = text_of(&value).unwrap();
        // Between tokens, a server may also write this.
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
