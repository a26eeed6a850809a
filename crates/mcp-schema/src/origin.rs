//! The author of a schema.

/// The author of a schema, which decides whether it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This program.
    Own,
    /// A peer. The schema is limited to 256 KiB, 64 levels, 1,000 references and 256 patterns, and
    /// its references must stay inside the schema.
    Foreign,
}
