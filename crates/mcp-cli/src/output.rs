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
    write((text_of(value)? + "\n").as_bytes())
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| Failure::usage(error.to_string()))?;
    write((text + "\n").as_bytes())
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

/// Replaces control characters, with which a server could change what the terminal shows, except line breaks and tabs.
pub(crate) fn clean(text: &str) -> String {
    let replace = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || is_invisible(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(replace).collect()
}

/// Characters that reorder or hide text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The result of a tool as text; structured content only if there is no other.
pub(crate) fn result_text(result: &CallToolResult) -> Result<String, Failure> {
    match (&result.content[..], &result.structured_content) {
        ([], Some(structured)) => text_of(structured),
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
