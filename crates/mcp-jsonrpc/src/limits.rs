//! Limits on the size and structure of one frame.

/// Limits on one frame. [`parse`](crate::parse) checks them before it builds anything.
///
/// The defaults accept every message that real peers send, and bound the memory of the largest
/// accepted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Nesting depth of arrays and objects, the envelope included. Default 64, at most 512.
    pub depth: usize,
    /// Arrays and objects in one frame. Default 65,536.
    pub containers: usize,
    /// Values of any kind in one frame. Default 250,000.
    pub nodes: usize,
    /// Bytes of a string request id. Default 1,024.
    pub id_bytes: usize,
    /// Members of a batch (2025-03-26 only). Default 64.
    pub batch: usize,
}

impl Limits {
    /// The maximum of [`depth`](Self::depth); larger values are reduced to it.
    pub const MAX_DEPTH: usize = 512;

    /// Sets [`depth`](Self::depth).
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets [`containers`](Self::containers).
    #[must_use]
    pub fn with_containers(mut self, containers: usize) -> Self {
        self.containers = containers;
        self
    }

    /// Sets [`nodes`](Self::nodes).
    #[must_use]
    pub fn with_nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// Sets [`batch`](Self::batch).
    #[must_use]
    pub fn with_batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 64,
            containers: 65_536,
            nodes: 250_000,
            id_bytes: 1_024,
            batch: 64,
        }
    }
}
