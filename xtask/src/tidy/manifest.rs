//! Manifests: dependencies and lints come from the workspace.

use std::path::Path;

use toml::{Table, Value};

use crate::files::{self, File};
use crate::workspace::At as _;

pub(super) const DEV: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

/// The manifest of a crate.
pub(super) struct Manifest {
    pub(super) path: String,
    table: Table,
}

impl Manifest {
    pub(super) fn parse(file: File) -> Result<Self, String> {
        let table = toml::from_str(&file.text).at(&file.path)?;
        let path = file.path;
        Ok(Self { path, table })
    }

    /// The name of the package.
    pub(super) fn name(&self) -> &str {
        let package = self.table.get("package");
        let name = package.and_then(|package| package.get("name"));
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind, name and value of each dependency.
    pub(super) fn dependencies(&self) -> Vec<(&str, &str, &Value)> {
        let targets = self.table.get("target").and_then(Value::as_table);
        let targets = targets.into_iter().flat_map(Table::values);
        let tables = std::iter::once(&self.table).chain(targets.filter_map(Value::as_table));
        let mut dependencies = Vec::new();
        for table in tables {
            for kind in KINDS {
                let listed = table.get(kind).and_then(Value::as_table).into_iter();
                let listed = listed.flatten().map(|(name, value)| (kind, &**name, value));
                dependencies.extend(listed);
            }
        }
        dependencies
    }
}

/// The manifests of all crates of the workspace.
pub(super) fn load(root: &Path) -> Result<Vec<Manifest>, String> {
    let is_member = |path: &str| {
        matches!(
            path.split('/').collect::<Vec<_>>()[..],
            ["crates", _, "Cargo.toml"] | ["tests" | "xtask", "Cargo.toml"]
        )
    };
    let files = files::read(root, &["crates", "tests", "xtask"], is_member)?;
    files.into_iter().map(Manifest::parse).collect()
}

/// Checks all manifests.
pub(super) fn check(manifests: &[Manifest]) -> Vec<String> {
    let mut violations = Vec::new();
    for manifest in manifests {
        let path = &manifest.path;
        for (kind, name, dependency) in manifest.dependencies() {
            if !(inherits(Some(dependency)) || (kind == DEV && is_path_only(dependency))) {
                violations.push(format!(
                    "{path}:1: {name} has a separate version: put it into [workspace.dependencies] and write {name}.workspace = true"
                ));
            }
        }
        if !inherits(manifest.table.get("lints")) {
            violations.push(format!(
                "{path}:1: no workspace lints: add [lints] with workspace = true"
            ));
        }
    }
    violations
}

fn inherits(value: Option<&Value>) -> bool {
    let workspace = value.and_then(|value| value.get("workspace"));
    workspace.and_then(Value::as_bool) == Some(true)
}

/// Whether this is a workspace crate without a version. Publishing leaves it out, so tests may use crates that are
/// published later.
fn is_path_only(dependency: &Value) -> bool {
    dependency.get("path").is_some() && dependency.get("version").is_none()
}
