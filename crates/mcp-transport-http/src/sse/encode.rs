//! Events to bytes.

use std::time::Duration;

/// Appends an event. Line breaks within `data` become separate lines, which a reader joins with
/// `\n`; within `id` and `event` they are left out, as a line ends both.
pub(crate) fn write_event(out: &mut Vec<u8>, id: Option<&str>, event: Option<&str>, data: &[u8]) {
    if let Some(event) = event {
        field(out, b"event: ", event);
    }
    if let Some(id) = id {
        field(out, b"id: ", id);
    }
    out.reserve(data.len() + 8);
    let mut rest = data;
    loop {
        let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
        rest = match tail {
            [] => break,
            [b'\r', b'\n', tail @ ..] | [_, tail @ ..] => tail,
        };
    }
    out.push(b'\n');
}

/// Appends an event without data: it gives a reader an id to come back with, and no message.
pub(crate) fn write_priming(out: &mut Vec<u8>, id: &str) {
    field(out, b"id: ", id);
    out.extend_from_slice(b"data:\n\n");
}

/// Appends how long a reader shall wait before it comes back, in whole milliseconds.
pub(crate) fn write_retry(out: &mut Vec<u8>, wait: Duration) {
    field(out, b"retry: ", &wait.as_millis().to_string());
    out.push(b'\n');
}

/// Appends a comment, which keeps a connection from looking idle.
pub(crate) fn write_comment(out: &mut Vec<u8>) {
    out.extend_from_slice(b":\n\n");
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    let clean = value.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    out.extend(clean);
    out.push(b'\n');
}
