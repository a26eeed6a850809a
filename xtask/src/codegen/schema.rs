//! The official schema files: where they come from, and the parts of JSON Schema that they use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::programs::{SHORT, program, run};
use crate::workspace::{self, At as _, Result};

const LOCK: &str = "xtask/schema.lock";

/// The schema file of a revision, at one commit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaPin {
    /// With `{commit}` in the place of the commit.
    url: String,
    pub(super) commit: String,
    sha256: String,
}

impl SchemaPin {
    pub(super) fn load(root: &Path, revision: &str) -> Result<Self> {
        let text = workspace::load(root, LOCK)?.text;
        let mut pins: BTreeMap<String, Self> = toml::from_str(&text).at(LOCK)?;
        let pin = pins.remove(revision);
        pin.ok_or_else(|| format!("{LOCK} does not pin {revision}"))
    }

    /// Reads the schema of a revision; downloads it first if the folder does not have it. Refuses a schema with another
    /// checksum than the pinned one.
    pub(super) fn read(&self, folder: &Path, revision: &str) -> Result<Value> {
        let file = folder.join(revision).join("schema.json");
        let (name, url) = (file.display(), self.url.replace("{commit}", &self.commit));
        if !file.exists() {
            let mut command = program("curl", "-fsSL --create-dirs");
            command.args([&url, "-o"]).arg(&file);
            run(&mut command, SHORT, |_| {}).at(format!("download of {url} to {name}"))?;
        }
        let bytes = fs::read(&file).at(&name)?;
        let digest = Sha256::digest(&bytes);
        let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let pinned = &self.sha256;
        if sha256 != *pinned {
            return Err(format!(
                "{name} has SHA-256 {sha256}, but {LOCK} pins {pinned} for {revision}: remove the file"
            ));
        }
        serde_json::from_slice(&bytes).at(&name)
    }
}

/// A schema. Keywords that do not change the Rust types are left out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Schema {
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    pub(super) all_of: Vec<Self>,
    pub(super) any_of: Option<Vec<Self>>,
    #[serde(rename = "const")]
    constant: Value,
    #[serde(rename = "enum")]
    pub(super) values: Option<Vec<String>>,
    /// A name or a list of names; null is every type.
    #[serde(rename = "type")]
    pub(super) ty: Value,
    pub(super) properties: Option<BTreeMap<String, Self>>,
    pub(super) required: Vec<String>,
    additional_properties: Option<Additional>,
    pub(super) items: Option<Box<Self>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Additional {
    Allowed(bool),
    Schema(Box<Schema>),
}

impl Schema {
    /// The one string that is valid.
    pub(super) fn constant(&self) -> Option<&str> {
        self.constant.as_str()
    }

    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.properties.as_ref()?.get(name)
    }

    pub(super) fn requires(&self, member: &str) -> bool {
        self.required.iter().any(|required| required == member)
    }

    /// The method of a request or notification.
    pub(super) fn method(&self) -> Option<&str> {
        self.member("method")?.constant()
    }

    /// Whether a message is part of another one: it has a method, but no envelope.
    pub(super) fn is_embedded(&self) -> bool {
        self.method().is_some() && self.member("jsonrpc").is_none()
    }

    pub(super) fn is_any(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn is_nullable(&self) -> bool {
        let types = self.ty.as_array();
        types.is_some_and(|types| types.iter().any(|ty| ty == "null"))
    }

    /// The bounds of a number, if the schema sets both.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        Some((self.minimum?, self.maximum?))
    }

    /// The schema of the members that have no own one, if it is not the one for any value.
    pub(super) fn other_members(&self) -> Option<&Self> {
        match &self.additional_properties {
            Some(Additional::Schema(schema)) if !schema.is_any() => Some(schema),
            _ => None,
        }
    }

    /// Whether this is an object without members except those of every result, and with room for others.
    pub(super) fn is_open(&self) -> bool {
        let mut members = self.properties.iter().flatten().map(|(name, _)| &**name);
        self.ty == "object"
            && members.all(|name| matches!(name, "_meta" | "resultType"))
            && self.additional_properties.is_some()
            && self.other_members().is_none()
    }
}
