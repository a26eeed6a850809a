// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Folders and files that a client exposes to the server.

use crate::Meta;
use serde::{Deserialize, Serialize};

/// The folders and files that a server may work in.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/roots>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsResult {
    /// Creates a value from its required members.
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots, meta: None }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// A folder or file that a server may work in.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/roots>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// The location, a `file:` URI.
    pub uri: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Root {
    /// Creates a value from its required members.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
        }
    }

    /// Sets [`name`](Self::name).
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}
