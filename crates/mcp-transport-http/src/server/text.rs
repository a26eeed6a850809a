//! An answer as JSON text.

use std::sync::Arc;

use bytes::Bytes;

use super::body::Body;

/// JSON text: whole, or around a text that is sent many times and not copied for each.
pub(crate) struct Text {
    start: Vec<u8>,
    around: Option<(Bytes, Vec<u8>)>,
}

impl From<Vec<u8>> for Text {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            start: whole,
            around: None,
        }
    }
}

impl Text {
    /// `start`, the first `until` bytes of `text`, and `end`.
    pub(crate) fn around(start: Vec<u8>, text: &Arc<str>, until: usize, end: Vec<u8>) -> Self {
        let shared = Bytes::from_owner(Shared(Arc::clone(text))).slice(..until);
        Self {
            start,
            around: Some((shared, end)),
        }
    }

    /// In one piece.
    pub(crate) fn into_whole(self) -> Vec<u8> {
        let mut whole = self.start;
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
            Some((shared, end)) => Body::pieces(vec![self.start.into(), shared, end.into()]),
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
        let around = || Text::around(b"<".to_vec(), &text, 6, b",\"b\":2}>".to_vec());
        assert_eq!(around().into_whole(), b"<{\"a\":1,\"b\":2}>");
        let body = around().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(15));
        assert_eq!(Text::from(b"x".to_vec()).into_whole(), b"x");
    }
}
