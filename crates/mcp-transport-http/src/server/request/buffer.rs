//! The buffer for the received parts of a request body.

use bytes::{Buf, BufMut as _, Bytes};

use crate::server::block::{BLOCK, Block};

/// The received parts of a body, stored in blocks. A body that arrives in one part is not copied.
pub(super) struct BodyBuffer {
    first: Bytes,
    blocks: Vec<Block>,
    /// The total capacity of all blocks, in bytes.
    allocated: usize,
    len: usize,
    /// The announced length of the body, or the maximum length if it was not announced.
    max: usize,
}

impl BodyBuffer {
    /// Creates a buffer for a body with at most `max` bytes.
    pub(super) fn with_max(max: usize) -> Self {
        Self {
            first: Bytes::new(),
            blocks: Vec::new(),
            allocated: 0,
            len: 0,
            max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns how many bytes of memory [`push`](Self::push) needs in addition for a part of `length` bytes.
    pub(super) fn memory_for(&self, length: usize) -> usize {
        if self.len == 0 {
            length
        } else {
            self.capacity_for(self.len + length) - self.allocated.max(self.first.len())
        }
    }

    /// Returns the total capacity of the blocks for a body of `len` bytes.
    fn capacity_for(&self, len: usize) -> usize {
        let blocks = len.next_multiple_of(BLOCK);
        if len <= self.max {
            blocks.min(self.max)
        } else {
            blocks
        }
    }

    /// Appends a part of the body.
    pub(super) fn push(&mut self, mut data: impl Buf) {
        let length = data.remaining();
        self.len += length;
        if self.len == length {
            self.first = data.copy_to_bytes(length);
            return;
        }
        let capacity = self.capacity_for(self.len);
        let first = std::mem::take(&mut self.first);
        let mut data = first.chain(data);
        while data.has_remaining() {
            let last = self.blocks.last_mut();
            let Some(block) = last.filter(|block| block.free() > 0) else {
                let size = BLOCK.min(capacity - self.allocated);
                self.allocated += size;
                self.blocks.push(Block::with_capacity(size));
                continue;
            };
            let taken = data.remaining().min(block.free());
            block.buffer().put((&mut data).take(taken));
        }
    }

    /// Copies the first part if it is a slice of the connection's read buffer. The slice would otherwise keep the whole buffer in
    /// memory.
    pub(super) fn detach(&mut self) {
        if !self.first.is_empty() {
            self.push(Bytes::new());
        }
    }

    /// Returns the whole body.
    pub(super) fn into_bytes(mut self) -> Bytes {
        match &*self.blocks {
            [] => self.first,
            [block] if block.free() == 0 => self.blocks.swap_remove(0).into_vec().into(),
            _ => {
                let mut whole = Vec::with_capacity(self.len);
                for block in self.blocks {
                    whole.extend_from_slice(block.as_ref());
                }
                whole.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_parts_uses_exactly_the_memory_that_memory_for_returns() {
        let lengths = [
            (0, 1),
            (1, 10),
            (2, 10),
            (1_000, 7),
            (5, 64 << 10),
            (3, BLOCK),
        ];
        for (parts, length) in lengths {
            for max in [parts * length, 4 << 20] {
                let mut buffer = BodyBuffer::with_max(max);
                let mut charged = 0;
                for part in 0..parts {
                    charged += buffer.memory_for(length);
                    buffer.push(Bytes::from(vec![part as u8; length]));
                    assert_eq!(buffer.len(), (part + 1) * length);
                    let blocks = buffer.blocks.iter();
                    let used = blocks.map(|block| block.as_ref().len() + block.free());
                    assert_eq!(charged, used.sum::<usize>().max(buffer.first.len()));
                    assert!(charged <= max && charged < buffer.len() + BLOCK);
                }
                let bytes = buffer.into_bytes();
                let expected = (0..parts).flat_map(|part| vec![part as u8; length]);
                assert!(bytes.iter().copied().eq(expected));
            }
        }
    }

    #[test]
    fn a_body_in_one_part_is_not_copied() {
        let part = Bytes::from_static(b"whole");
        let mut buffer = BodyBuffer::with_max(100);
        buffer.push(part.clone());
        assert_eq!(buffer.into_bytes().as_ptr(), part.as_ptr());
    }

    #[test]
    fn an_incomplete_body_does_not_keep_the_read_buffer_of_the_connection() {
        let part = Bytes::from_static(b"a part");
        let mut buffer = BodyBuffer::with_max(100);
        buffer.detach();
        buffer.push(part.clone());
        assert_eq!(buffer.memory_for(0), 100 - part.len());
        buffer.detach();
        assert_eq!((buffer.memory_for(94), buffer.allocated), (0, 100));
        assert_eq!(buffer.into_bytes(), part);
    }

    #[test]
    fn a_body_longer_than_announced_is_collected_in_whole_blocks() {
        let mut buffer = BodyBuffer::with_max(2);
        let mut charged = 0;
        for _ in 0..5 {
            charged += buffer.memory_for(1);
            buffer.push(&b"x"[..]);
        }
        assert_eq!((charged, buffer.allocated), (BLOCK, BLOCK));
        assert_eq!(buffer.into_bytes(), "xxxxx");
    }
}
