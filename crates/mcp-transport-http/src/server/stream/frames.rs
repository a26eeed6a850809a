//! How events are written. The id line, where there is one, stands before what is written here.

use std::time::Duration;

/// A comment, which keeps a connection open and means nothing.
pub(crate) const COMMENT: &[u8] = b":\n\n";

/// One message, whose JSON text `write` appends.
pub(crate) fn message(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"data: ");
    let start = out.len();
    write(out);
    // Raw JSON may carry newlines as white space; inside strings they are always escaped.
    if memchr::memchr2(b'\n', b'\r', &out[start..]).is_some() {
        for byte in &mut out[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    out.extend_from_slice(b"\n\n");
}

/// An event that gives the client an id to come back with, and tells when.
pub(crate) fn priming(out: &mut Vec<u8>, retry: Duration) {
    retry_line(out, retry);
    out.extend_from_slice(b"data: \n\n");
}

/// Tells when to come back.
pub(crate) fn retry(out: &mut Vec<u8>, retry: Duration) {
    retry_line(out, retry);
    out.push(b'\n');
}

fn retry_line(out: &mut Vec<u8>, retry: Duration) {
    out.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_of_data() {
        let mut out = Vec::new();
        message(&mut out, |out| out.extend_from_slice(b"{\n\"a\":\r\n1}"));
        assert_eq!(out, b"data: { \"a\":  1}\n\n");
    }

    #[test]
    fn a_priming_event_has_data_and_it_is_empty() {
        let mut out = b"id: 1\n".to_vec();
        priming(&mut out, Duration::from_millis(1_500));
        assert_eq!(out, b"id: 1\nretry: 1500\ndata: \n\n");
    }
}
