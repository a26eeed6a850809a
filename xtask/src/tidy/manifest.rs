//! Manifests: dependencies and lints come from the workspace.

use std::path::Path;

use toml::{Table, Value};

use super::violation::Violation;
use crate::files::{self, File};

pub(super) const DEV: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

/// The manifest of a crate.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) file: File,
    table: Table,
}

impl Manifest {
    pub(super) fn parse(file: File) -> Result<Self, String> {
        let table = toml::from_str(&file.text)
            .map_err(|error| format!("{}: {}", file.path, error.message()))?;
        Ok(Self { file, table })
    }

    /// The name of the package.
    pub(super) fn name(&self) -> &str {
        let name = self
            .table
            .get("package")
            .and_then(|package| package.get("name"));
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind, name and value of each dependency.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let targets = self.table.get("target").and_then(Value::as_table);
        let targets = targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table);
        std::iter::once(&self.table)
            .chain(targets)
            .flat_map(|table| {
                KINDS
                    .iter()
                    .filter_map(|kind| Some((*kind, table.get(*kind)?.as_table()?)))
                    .flat_map(|(kind, table)| {
                        table
                            .iter()
                            .map(move |(name, value)| (kind, name.as_str(), value))
                    })
            })
    }

    fn line_of(&self, key: &str) -> usize {
        let mut lines = self.file.lines();
        let line = lines.find(|(_, line)| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with([' ', '=', '.']))
        });
        line.map_or(1, |(number, _)| number)
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
pub(super) fn check(manifests: &[Manifest]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for manifest in manifests {
        for (kind, name, dependency) in manifest.dependencies() {
            if !(inherits(Some(dependency)) || (kind == DEV && is_path_only(dependency))) {
                violations.push(Violation::new(
                    &manifest.file.path,
                    manifest.line_of(name),
                    format!(
                        "{name} has a separate version: put it into [workspace.dependencies] and write {name}.workspace = true"
                    ),
                ));
            }
        }
        if !inherits(manifest.table.get("lints")) {
            violations.push(Violation::new(
                &manifest.file.path,
                1,
                "no workspace lints: add [lints] with workspace = true",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let manifest = Manifest::parse(File::new("crates/a/Cargo.toml", text)).unwrap();
        check(&[manifest]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dependencies_and_lints_come_from_the_workspace() {
        let good = "[lints]\nworkspace = true\n[dependencies]\na.workspace = true\n\
                    b = { workspace = true, features = [\"x\"] }\n[target.'cfg(unix)'.dev-dependencies]\nc.workspace = true\n";
        assert_eq!(found(good), Vec::<String>::new());
    }

    #[test]
    fn separate_versions_and_missing_lints_are_named_by_line() {
        let bad = "[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies]\nb = { version = \"1\" }\n\
             [dev-dependencies]\nc = { path = \"../c\" }\n";
        let found = found(bad);
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("crates/a/Cargo.toml:2: a has a separate version"));
        assert!(found[1].starts_with("crates/a/Cargo.toml:4: b has a separate version"));
        assert!(found[2].starts_with("crates/a/Cargo.toml:1: no workspace lints"));
    }
}
