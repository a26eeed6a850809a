//! The tools of a server, and the cache that has them before the server is started.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use mcp_types::Tool;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::replace_file::replace_file;

/// The tools of one server. Cloning is cheap.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolList {
    /// The tools, in the order of the server.
    pub tools: Arc<[Arc<Tool>]>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

impl ToolList {
    pub(super) fn fresh(tools: Vec<Tool>) -> Self {
        Self {
            tools: tools.into_iter().map(Arc::new).collect(),
            is_stale: false,
        }
    }

    pub(super) fn stale(tools: Vec<Tool>) -> Self {
        Self {
            is_stale: true,
            ..Self::fresh(tools)
        }
    }

    /// Returns the tool with this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// A folder with the last known tools of each server. A host shows them at once, marked as stale,
/// while the server starts. Several processes can share the folder.
#[derive(Debug, Clone)]
pub struct ToolListCache {
    folder: PathBuf,
}

/// Maximum size of the tools of one server, in the cache and in memory.
pub(super) const MAX_CATALOG_BYTES: usize = 8 << 20;

#[derive(Serialize, Deserialize)]
struct CachedTools<T> {
    tools: T,
}

impl ToolListCache {
    /// Creates a cache in this folder, which is created when the first list is stored.
    pub fn dir(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder
            .join(format!("{}.json", HEXLOWER.encode(&Sha256::digest(key))))
    }

    /// Returns the stored tools. A damaged file counts as missing.
    pub(super) fn load(&self, key: &str) -> Option<Vec<Tool>> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(key)).ok()?;
        file.take(MAX_CATALOG_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .ok()?;
        let cached: CachedTools<Vec<Tool>> = mcp_jsonrpc::decode_document(&bytes).ok()?;
        Some(cached.tools)
    }

    /// Replaces the stored tools. Blocks.
    pub(super) fn store(&self, key: &str, tools: &[Arc<Tool>]) -> io::Result<()> {
        let tools: Vec<&Tool> = tools.iter().map(AsRef::as_ref).collect();
        let text = serde_json::to_vec(&CachedTools { tools })?;
        fs::create_dir_all(&self.folder)?;
        replace_file(&self.path(key), &text, false)
    }
}
