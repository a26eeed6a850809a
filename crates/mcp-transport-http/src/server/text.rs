//! An answer as JSON text.

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;

use super::body::Body;

thread_local! {
    /// Where answers are written, so that each takes one piece of memory, as long as it is.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The longest answer that is copied out of the scratch; a longer one takes it along.
const COPIED: usize = 8 << 10;

/// JSON text: whole, or around a text that is sent many times and not copied for each.
pub(crate) struct Text {
    start: Bytes,
    around: Option<(Bytes, Vec<u8>)>,
}

impl From<Vec<u8>> for Text {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            start: whole.into(),
            around: None,
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
        Self {
            start,
            around: None,
        }
    }

    /// This, then the first `until` bytes of `text`, and `end`.
    pub(crate) fn around(self, text: &Arc<str>, until: usize, end: Vec<u8>) -> Self {
        let shared = Bytes::from_owner(Shared(Arc::clone(text))).slice(..until);
        Self {
            start: self.start,
            around: Some((shared, end)),
        }
    }

    /// In one piece.
    pub(crate) fn into_whole(self) -> Vec<u8> {
        let mut whole = Vec::from(self.start);
        if let Some((shared, end)) = self.around {
            whole.reserve_exact(shared.len() + end.len());
            whole.extend_from_slice(&shared);
            whole.extend_from_slice(&end);
        }
        whole
    }

    pub(crate) fn into_body(self) -> Body {
        match self.around {
            None => Body::full(self.start),
            Some((shared, end)) => Body::pieces(vec![self.start, shared, end.into()]),
        }
    }
}

struct Shared(Arc<str>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whole_and_in_pieces() {
        let text: Arc<str> = "{\"a\":1}".into();
        let start = || Text::from(b"<".to_vec());
        let around = || start().around(&text, 6, b",\"b\":2}>".to_vec());
        assert_eq!(around().into_whole(), b"<{\"a\":1,\"b\":2}>");
        let body = around().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(15));
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
