//! Definitions and their hashes.

use std::collections::BTreeMap;

use mcp_client::json_hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) type Definitions = BTreeMap<String, Definition>;

/// A definition, and the SHA-256 hash of its JSON with sorted members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) sha256: String,
    pub(super) definition: Value,
}

impl Definition {
    pub(super) fn new(definition: Value) -> Self {
        let sha256 = json_hash(&definition);
        Self { sha256, definition }
    }
}
