//! Manifests: which crates depend on which, and that dependencies and lints come from the workspace.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use super::dependencies::RULES;
use crate::files::{self, File};
use crate::workspace::{At as _, Result};

const DEV: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

/// The manifest of a crate.
pub(super) struct Manifest {
    path: String,
    table: Table,
}

impl Manifest {
    pub(super) fn parse(file: File) -> Result<Self> {
        let table = toml::from_str(&file.text).at(&file.path)?;
        let path = file.path;
        Ok(Self { path, table })
    }

    /// The name of the package.
    fn name(&self) -> &str {
        let package = self.table.get("package");
        let name = package.and_then(|package| package.get("name"));
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind, name and value of each dependency.
    fn dependencies(&self) -> Vec<(&str, &str, &Value)> {
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
pub(super) fn load(root: &Path) -> Result<Vec<Manifest>> {
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
    let own: BTreeSet<&str> = manifests.iter().map(Manifest::name).collect();
    let mut violations = Vec::new();
    for manifest in manifests {
        let name = manifest.name();
        let allowed = RULES.edges.get(name);
        let mut violation = |problem| violations.push(format!("{}:1: {problem}", manifest.path));
        if allowed.is_none() {
            violation(format!(
                "{name} has no edges: add it to xtask/src/tidy/crates.toml and write an ADR"
            ));
        }
        let has = |list: Option<&Vec<String>>, used: &str| {
            list.is_some_and(|list| list.iter().any(|allowed| allowed == used || allowed == "*"))
        };
        let is_edge = |kind, used| {
            allowed.is_none()
                || has(allowed, used)
                || (kind == DEV && has(RULES.test_edges.get(name), used))
        };
        for (kind, used, value) in manifest.dependencies() {
            if own.contains(used) && !is_edge(kind, used) {
                violation(format!(
                    "{name} may not depend on {used}: remove the dependency"
                ));
            }
            if !(inherits(Some(value)) || (kind == DEV && is_path_only(value))) {
                violation(format!(
                    "{used} has a separate version: put it into [workspace.dependencies] and write {used}.workspace = true"
                ));
            }
        }
        if !inherits(manifest.table.get("lints")) {
            violation("no workspace lints: add [lints] with workspace = true".to_owned());
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
