//! Blocks of memory for long bodies of requests and responses.
//!
//! Buffers that grow, and buffers of many sizes, fragment the heap. In addition, an allocator can have a heap for each thread,
//! and other threads cannot use memory that was freed in such a heap. Long bodies are therefore stored in blocks of one size, and
//! some unused blocks are kept for later bodies. As a result, the memory of the process is close to the memory that is counted.

use std::sync::Mutex;

use crate::sync::lock;

/// The size of a block, in bytes.
pub(crate) const BLOCK: usize = 96 << 10;
/// The maximum number of unused blocks that the process keeps.
const MAX_UNUSED: usize = 128;

static UNUSED: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A buffer with a fixed capacity. If the capacity is a whole block, the memory is reused after the buffer is dropped.
pub(crate) struct Block(Vec<u8>);

impl Block {
    /// Returns an empty buffer with a capacity of `size` bytes, at most [`BLOCK`].
    pub(crate) fn with_capacity(size: usize) -> Self {
        let unused = if size == BLOCK {
            lock(&UNUSED).pop()
        } else {
            None
        };
        Self(unused.unwrap_or_else(|| Vec::with_capacity(size)))
    }

    /// Copies at most [`BLOCK`] bytes into a new buffer.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        let mut block = Self::with_capacity(bytes.len());
        block.0.extend_from_slice(bytes);
        block
    }

    pub(crate) fn free(&self) -> usize {
        self.0.capacity() - self.0.len()
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.0.capacity() == BLOCK {
            let mut block = std::mem::take(&mut self.0);
            block.clear();
            let mut unused = lock(&UNUSED);
            if unused.len() < MAX_UNUSED {
                unused.push(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_blocks_are_reused_up_to_a_limit() {
        let blocks: Vec<Block> = (0..MAX_UNUSED + 3)
            .map(|_| Block::copy(&[7; BLOCK]))
            .collect();
        assert!(blocks.iter().all(|block| block.free() == 0));
        drop(blocks);
        assert!((1..=MAX_UNUSED).contains(&lock(&UNUSED).len()));
        let mut again = Block::with_capacity(BLOCK);
        assert_eq!((again.as_ref().len(), again.free()), (0, BLOCK));
        again.buffer().push(1);
        assert_eq!(again.into_vec(), [1]);
        assert_eq!(Block::with_capacity(5).free(), 5);
    }
}
