//! Limits on the size and structure of one frame, and the estimated memory of a parsed text.

use crate::scan::Scanner;

/// Limits on one frame. [`parse`](crate::parse) checks them before it builds anything.
///
/// The defaults accept every message that real peers send. They also limit the memory of the largest accepted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum nesting depth of arrays and objects, including the envelope. Default 64, at most 512.
    pub depth: usize,
    /// Maximum number of arrays and objects in one frame. Default 65,536.
    pub containers: usize,
    /// Maximum number of values of any kind in one frame. Default 250,000.
    pub nodes: usize,
    /// Maximum length of a string request id in bytes. Default 1,024.
    pub id_bytes: usize,
    /// Maximum number of messages in a batch (2025-03-26 only). Default 64.
    pub batch: usize,
}

impl Limits {
    /// The maximum of [`depth`](Self::depth). A larger value is reduced to this maximum.
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

/// Memory of a value in an array, in bytes. Includes the unused memory of an array, which reserves up to
/// twice the memory that its values need.
const ELEMENT: usize = 144;
/// Memory that a short string needs in addition to its text, in bytes: the overhead of its allocation.
const STRING: usize = 32;
/// Memory of each member of an object after the first member, without its name, in bytes. Includes the hash table of the
/// object, and its unused memory: an object reserves up to twice the memory that its members need.
const MEMBER: usize = 248;
/// Memory of an array or object that is not empty, including its first member, in bytes. An object reserves memory for several
/// members.
const CONTAINER: usize = 672;

/// The size of a JSON text, and an estimate of the memory of the tree that a parser would build from it.
///
/// Small objects need much more memory than text: a `serde_json::Value` of `{"a":1}` has 80 times the size. If a tree outlives
/// its message, compare this estimate with a limit before you build the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TreeSize {
    /// Number of bytes of the text.
    pub bytes: usize,
    /// Number of values of any kind, including arrays and objects.
    pub nodes: usize,
    /// Number of arrays and objects.
    pub containers: usize,
    /// Number of arrays and objects that are empty.
    pub empty_containers: usize,
    /// Number of members of objects.
    pub members: usize,
}

impl TreeSize {
    /// Measures a JSON text in one pass. Text that is not JSON is measured up to the first error.
    ///
    /// ```
    /// use mcp_jsonrpc::TreeSize;
    ///
    /// let size = TreeSize::of(r#"{"a":[1,2]}"#);
    /// assert_eq!((size.bytes, size.nodes, size.containers), (11, 4, 2));
    /// ```
    pub fn of(text: &str) -> Self {
        let limits = Limits {
            depth: Limits::MAX_DEPTH,
            containers: usize::MAX,
            nodes: usize::MAX,
            ..Limits::default()
        };
        let mut scan = Scanner::new(text, &limits);
        scan.space();
        // An error ends the count.
        let _ = scan.value();
        scan.size()
    }

    /// Returns an upper bound of the memory of the tree, in bytes. `tests/budgets/charges.rs` compares the bound with the memory
    /// that the largest trees allocate.
    pub fn heap_bytes(&self) -> usize {
        let elements = self.nodes.saturating_sub(self.members);
        let scalars = self.nodes.saturating_sub(self.containers);
        // Empty containers take no memory. `CONTAINER` includes one member: for an object its first member, and for an array,
        // which has no members, a further member of an object.
        let containers = self.containers.saturating_sub(self.empty_containers);
        let more_members = self.members.saturating_sub(containers);
        self.bytes
            + CONTAINER * containers
            + MEMBER * more_members
            + ELEMENT * elements
            + STRING * (scalars + self.members)
    }
}

impl std::ops::Add for TreeSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            nodes: self.nodes + other.nodes,
            containers: self.containers + other.containers,
            empty_containers: self.empty_containers + other.empty_containers,
            members: self.members + other.members,
        }
    }
}
