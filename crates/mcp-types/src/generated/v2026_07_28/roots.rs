// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Folders and files that a client exposes to the server.

use crate::{Meta, Root};
use serde::{Deserialize, Serialize};

/// The params of `roots/list`.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/roots>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsRequestParams {
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsRequestParams {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The folders and files that a server may work in.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/roots>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
}

impl ListRootsResult {
    /// Creates a value from its required members.
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots }
    }
}
