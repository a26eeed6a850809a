//! JSON texts that are sent as responses.

use std::cell::Cell;

use bytes::Bytes;
use mcp_jsonrpc::{RequestId, ResultTail, write_error, write_result, write_result_start};
use mcp_protocol::Outcome;

use crate::permit::Permit;
use crate::server::block::{BLOCK, Block};
use crate::server::response::body::Body;

thread_local! {
    /// A buffer in which this thread writes responses. With it, each response needs only one allocation of its exact length.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Maximum length of a response that is copied from the scratch buffer, in bytes. A longer response takes over the buffer itself
/// and is not copied.
const MAX_COPIED: usize = 8 << 10;

/// A JSON text. Its end may be a text that several responses share and that is not copied.
pub(crate) struct JsonText {
    start: Bytes,
    /// The parts of a long text. Each part has the permit for its memory. If there are parts, `start` is empty.
    blocks: Vec<Bytes>,
    tail: Option<ResultTail>,
}

impl From<Vec<u8>> for JsonText {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            start: whole.into(),
            blocks: Vec::new(),
            tail: None,
        }
    }
}

impl JsonText {
    /// Creates a text from the output of `write`.
    pub(crate) fn write(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        // Taken, not borrowed, because `write` may run code that writes another response.
        let mut scratch = SCRATCH.take();
        write(&mut scratch);
        if scratch.len() > MAX_COPIED {
            // Without spare capacity, because only the length of the text is counted as its memory.
            scratch.shrink_to_fit();
            return scratch.into();
        }
        let start = Bytes::copy_from_slice(&scratch);
        scratch.clear();
        SCRATCH.set(scratch);
        Self {
            start,
            blocks: Vec::new(),
            tail: None,
        }
    }

    /// Appends `tail`, without a copy.
    pub(crate) fn with_tail(self, tail: &ResultTail) -> Self {
        Self {
            tail: Some(tail.clone()),
            ..self
        }
    }

    /// Returns the number of bytes that are not shared with other responses.
    pub(crate) fn unshared_len(&self) -> usize {
        self.start.len()
    }

    /// Keeps a permit for the memory of the text. A long text is copied into blocks. The memory of each block is released when
    /// the client has received the block.
    pub(crate) fn with_memory(mut self, mut memory: Permit) -> Self {
        let start = std::mem::take(&mut self.start);
        if start.len() <= BLOCK {
            self.blocks = vec![charged(start, memory)];
            return self;
        }
        let mut rest = start.len();
        let blocks = start.chunks(BLOCK).map(|block| {
            rest -= block.len();
            charged(Block::copy(block), memory.split_to(rest))
        });
        self.blocks = blocks.collect();
        self
    }

    /// Returns the whole text as one vector.
    pub(crate) fn into_whole(self) -> Vec<u8> {
        let mut whole = Vec::from(self.start);
        let tail = self.tail.as_ref().map(AsRef::as_ref).unwrap_or_default();
        let blocks: usize = self.blocks.iter().map(Bytes::len).sum();
        whole.reserve_exact(blocks + tail.len());
        for block in self.blocks {
            whole.extend_from_slice(&block);
        }
        whole.extend_from_slice(tail);
        whole
    }

    pub(crate) fn into_body(self) -> Body {
        if self.blocks.is_empty() && self.tail.is_none() {
            return Body::full(self.start);
        }
        let mut pieces = self.blocks;
        if !self.start.is_empty() {
            pieces.push(self.start);
        }
        // The long part comes last, because hyper stops gathering buffers after a long one.
        pieces.extend(self.tail.map(Bytes::from_owner));
        Body::pieces(pieces)
    }
}

/// Minimum length of a text whose memory is counted, in bytes.
pub(crate) const MIN_CHARGED: usize = 16 << 10;

/// Returns a text that keeps its permit until all copies of the text are dropped.
pub(crate) fn charged(text: impl AsRef<[u8]> + Send + 'static, memory: Permit) -> Bytes {
    struct Charged<T>(T, #[expect(dead_code, reason = "released on drop")] Permit);

    impl<T: AsRef<[u8]>> AsRef<[u8]> for Charged<T> {
        fn as_ref(&self) -> &[u8] {
            self.0.as_ref()
        }
    }

    Bytes::from_owner(Charged(text, memory))
}

/// Writes the JSON-RPC response to the request `id` with the outcome of its handler.
pub(crate) fn render(id: &RequestId, outcome: &Outcome) -> JsonText {
    match outcome {
        Ok(payload) => match payload.shared() {
            Some((text, meta)) if text.tail().as_ref().len() >= MIN_SHARED => {
                let start = JsonText::write(|out| {
                    write_result_start(out, id);
                    text.write_start(out, meta);
                });
                start.with_tail(text.tail())
            }
            _ => JsonText::write(|out| write_result(out, id, |out| payload.write(out))),
        },
        Err(error) => JsonText::write(|out| write_error(out, Some(id), error)),
    }
}

/// Minimum length of a shared text that is sent without a copy, in bytes.
const MIN_SHARED: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_shared_tail_has_the_same_bytes_in_parts() {
        let tail = ResultTail::new("{\"a\":1}".to_owned());
        let before = || JsonText::from(b"{\"r\":{".to_vec()).with_tail(&tail);
        assert_eq!(before().into_whole(), b"{\"r\":{\"a\":1}}");
        let body = before().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(13));
        assert_eq!(JsonText::from(b"x".to_vec()).into_whole(), b"x");
    }

    #[test]
    fn nested_writes_of_responses_do_not_mix_their_texts() {
        let long = vec![b'l'; MAX_COPIED + 1];
        for _ in 0..2 {
            let outer = JsonText::write(|out| {
                out.push(b'a');
                // A writer that writes another response.
                let inner = JsonText::write(|out| out.push(b'b'));
                out.extend_from_slice(&inner.into_whole());
            });
            assert_eq!(outer.into_whole(), b"ab");
            let text = JsonText::write(|out| out.extend_from_slice(&long));
            assert_eq!(text.into_whole(), long);
        }
        assert!(SCRATCH.take().capacity() <= 2 * MAX_COPIED);
    }
}
