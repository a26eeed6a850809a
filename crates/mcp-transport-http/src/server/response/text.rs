//! An answer as JSON text.

use std::cell::Cell;

use bytes::Bytes;
use mcp_protocol::SharedText;

use crate::headers::JSON;
use crate::server::response::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use mcp_jsonrpc::{RequestId, write_error, write_result};
use mcp_protocol::Outcome;

thread_local! {
    /// Where answers are written, so that each takes one piece of memory, as long as it is.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The longest answer that is copied out of the scratch; a longer one takes it along.
const COPIED: usize = 8 << 10;

/// JSON text: whole, or before one that is sent many times and not copied for each.
pub(crate) struct Text {
    start: Bytes,
    tail: Option<SharedText>,
}

impl From<Vec<u8>> for Text {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            start: whole.into(),
            tail: None,
        }
    }
}

impl Text {
    /// What `write` appends to nothing.
    pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        // Taken, not borrowed: what is written may be anybody's code.
        let mut scratch = SCRATCH.take();
        write(&mut scratch);
        if scratch.len() > COPIED {
            return scratch.into();
        }
        let start = Bytes::copy_from_slice(&scratch);
        scratch.clear();
        SCRATCH.set(scratch);
        Self { start, tail: None }
    }

    /// This, then the tail of `text`.
    pub(crate) fn before(self, text: &SharedText) -> Self {
        Self {
            tail: Some(text.clone()),
            ..self
        }
    }

    /// In one piece.
    pub(crate) fn into_whole(self) -> Vec<u8> {
        let mut whole = Vec::from(self.start);
        if let Some(text) = self.tail {
            whole.reserve_exact(text.tail().len());
            whole.extend_from_slice(text.tail().as_bytes());
        }
        whole
    }

    pub(crate) fn into_body(self) -> Body {
        match self.tail {
            None => Body::full(self.start),
            // The long piece last: hyper gathers no more behind one.
            Some(text) => Body::pieces(vec![self.start, Bytes::from_owner(Tail(text))]),
        }
    }
}

struct Tail(SharedText);

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        self.0.tail().as_bytes()
    }
}

/// A response that is one JSON text.
pub(crate) fn json(text: impl Into<Text>) -> Response<Body> {
    let mut response = Response::new(text.into().into_body());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// The answer as JSON text.
pub(crate) fn render(id: &RequestId, outcome: &Outcome) -> Text {
    match outcome {
        Ok(payload) => match payload.shared() {
            Some((text, stamp)) if text.tail().len() >= SHARED => {
                let start = Text::written(|out| {
                    write_result(out, id, |out| text.write_start(out, stamp));
                    // The tail has the brace that closes the envelope.
                    out.pop();
                });
                start.before(text)
            }
            _ => Text::written(|out| write_result(out, id, |out| payload.write(out))),
        },
        Err(error) => Text::written(|out| write_error(out, Some(id), error)),
    }
}

/// What is worth to be sent without a copy.
const SHARED: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whole_and_in_pieces() {
        let text = SharedText::new("{\"a\":1}".to_owned());
        let before = || Text::from(b"{\"r\":{".to_vec()).before(&text);
        assert_eq!(before().into_whole(), b"{\"r\":{\"a\":1}}");
        let body = before().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(13));
        assert_eq!(Text::from(b"x".to_vec()).into_whole(), b"x");
    }

    #[test]
    fn answers_do_not_mix() {
        let long = vec![b'l'; COPIED + 1];
        for _ in 0..2 {
            let outer = Text::written(|out| {
                out.push(b'a');
                // Whoever is written writes an answer, too.
                let inner = Text::written(|out| out.push(b'b'));
                out.extend_from_slice(&inner.into_whole());
            });
            assert_eq!(outer.into_whole(), b"ab");
            let text = Text::written(|out| out.extend_from_slice(&long));
            assert_eq!(text.into_whole(), long);
        }
        assert!(SCRATCH.take().capacity() <= 2 * COPIED);
    }
}
