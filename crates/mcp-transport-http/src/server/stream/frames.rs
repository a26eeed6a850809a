//! Writes Server-Sent Events. The caller writes the `id` line before the event.

use std::time::Duration;

use mcp_jsonrpc::{Frame, Limits, Message, RequestId, parse};

/// A comment without a meaning. It keeps the connection open.
pub(crate) const COMMENT: &[u8] = b":\n\n";

/// Writes one message as an event. `write` appends the JSON text of the message.
pub(crate) fn message(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"data: ");
    let start = out.len();
    write(out);
    // Raw JSON can contain newlines as white space. Inside strings they are always escaped.
    if memchr::memchr2(b'\n', b'\r', &out[start..]).is_some() {
        for byte in &mut out[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    out.extend_from_slice(b"\n\n");
}

/// Writes an event without data. The id of this event lets the client resume the stream, and the field `retry` sets the reconnect
/// delay.
pub(crate) fn priming(out: &mut Vec<u8>, retry: Duration) {
    retry_line(out, retry);
    out.extend_from_slice(b"data: \n\n");
}

/// Writes the field that sets the reconnect delay.
pub(crate) fn retry(out: &mut Vec<u8>, retry: Duration) {
    retry_line(out, retry);
    out.push(b'\n');
}

/// Writes a comment with the ids of the requests that the stream answers. If the endpoint ends, another endpoint continues the
/// session, reads this comment from the event store, and answers the requests.
pub(crate) fn requests<'a>(ids: impl Iterator<Item = &'a RequestId>) -> Option<Box<[u8]>> {
    let ids: Vec<&RequestId> = ids.collect();
    let mut out = REQUESTS.to_vec();
    serde_json::to_writer(&mut out, &ids).ok()?;
    out.push(b'\n');
    Some(out.into())
}

/// Reads the ids in the comment that [`requests`] has written, from the first event of a stream.
pub(crate) fn parse_requests(event: &[u8]) -> Option<Vec<RequestId>> {
    let ids = event.strip_prefix(REQUESTS)?;
    let ids = ids.split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice(ids).ok()
}

/// Returns whether an event is a response. A response is the last event of its stream.
pub(crate) fn is_response(event: &[u8], limits: &Limits) -> bool {
    let mut lines = event.split(|byte| *byte == b'\n');
    let Some(data) = lines.find_map(|line| line.strip_prefix(b"data: ")) else {
        return false;
    };
    match parse(data, limits) {
        Ok(Frame::Single(message)) => matches!(message, Message::Response(_)),
        // A stream has a batch only as its last event.
        Ok(Frame::Batch(_)) => true,
        Err(_) => false,
    }
}

const REQUESTS: &[u8] = b": requests ";

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
    fn a_priming_event_has_empty_data() {
        let mut out = b"id: 1\n".to_vec();
        priming(&mut out, Duration::from_millis(1_500));
        assert_eq!(out, b"id: 1\nretry: 1500\ndata: \n\n");
    }
}
