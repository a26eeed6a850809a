//! Reads the id and the kind of a message that is not valid JSON.
//!
//! The values may contain text that is not JSON, such as bytes that are not UTF-8, unknown escapes, or words such as `NaN`. This
//! module reads only quotation marks and brackets.

use super::read_id;
use crate::scan::Scanner;
use crate::{Limits, RequestId};

/// The properties of a message that can be read from the members of the outermost object.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// The id; `None` if it is missing, cannot be read, or appears more than once.
    pub(crate) id: Option<RequestId>,
    pub(crate) has_id: bool,
    pub(crate) has_method: bool,
    pub(crate) has_outcome: bool,
    /// The position after the end of the object.
    pub(crate) end: usize,
}

impl Outline {
    /// Reads the outermost object up to its end. If the text is truncated, reads up to the end of the text.
    pub(crate) fn of(text: &[u8], limits: &Limits) -> Self {
        let mut outline = Self::default();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = text.get(at) {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => break,
                b'}' | b']' => depth -= 1,
                b'"' => {
                    let Some(end) = string_end(text, at) else {
                        break;
                    };
                    if let Some(value) = value_after(text, end).filter(|_| depth == 1) {
                        match &text[at..end] {
                            b"\"id\"" => {
                                let id = own_id(value, limits).filter(|_| !outline.has_id);
                                outline.id = id;
                                outline.has_id = true;
                            }
                            b"\"method\"" => outline.has_method = true,
                            b"\"result\"" | b"\"error\"" => outline.has_outcome = true,
                            _ => {}
                        }
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        outline.end = at + 1;
        outline
    }
}

/// Returns the text after the colon that follows the string, if the string that ends at `end` is a key.
fn value_after(text: &[u8], end: usize) -> Option<&[u8]> {
    let rest = text.get(end..)?.trim_ascii_start();
    rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

/// Reads an id. `7.0` is read as 7, because some programs have only floating-point numbers.
fn own_id(value: &[u8], limits: &Limits) -> Option<RequestId> {
    // An id is short; the bytes behind it may be anything.
    let head = value.get(..value.len().min(limits.id_bytes.saturating_add(64)))?;
    let head = match std::str::from_utf8(head) {
        Ok(head) => head,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
    };
    let mut scan = Scanner::new(head, limits);
    let text = scan.value().ok()?;
    if scan.at == head.len() {
        // More digits may follow behind the end of a truncated text.
        return None;
    }
    let whole = text.split_once('.').map_or(text, |(whole, fraction)| {
        let is_whole = !text.starts_with('"') && fraction.bytes().all(|digit| digit == b'0');
        if is_whole { whole } else { text }
    });
    read_id(whole, 0, limits).ok()
}

fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}
