//! What every manifest of the workspace does alike.

use toml::{Table, Value};

use super::Violation;
use crate::files::File;

const DEV: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

/// Dependencies come from the workspace, and so do the lints.
pub(super) fn check(manifests: &[File]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in manifests {
        match toml::from_str::<Table>(&file.text) {
            Ok(table) => one(file, &table, &mut violations),
            Err(error) => violations.push(Violation::new(&file.path, 1, error.message())),
        }
    }
    violations
}

fn one(file: &File, manifest: &Table, violations: &mut Vec<Violation>) {
    let mut tables = vec![manifest];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let dependencies = tables.iter().flat_map(|table| {
        KINDS
            .iter()
            .filter_map(|kind| Some((*kind, table.get(*kind)?.as_table()?)))
            .flat_map(|(kind, table)| table.iter().map(move |(name, value)| (kind, name, value)))
    });
    for (kind, name, dependency) in dependencies {
        let fine = inherits(Some(dependency)) || (kind == DEV && is_path_only(dependency));
        if !fine {
            violations.push(Violation::new(
                &file.path,
                line_of(file, name),
                format!(
                    "{name} has a version of its own, put it into [workspace.dependencies] and write {name}.workspace = true"
                ),
            ));
        }
    }
    if !inherits(manifest.get("lints")) {
        violations.push(Violation::new(
            &file.path,
            1,
            "no workspace lints, add [lints] with workspace = true",
        ));
    }
}

fn inherits(value: Option<&Value>) -> bool {
    value
        .and_then(|value| value.get("workspace"))
        .and_then(Value::as_bool)
        == Some(true)
}

/// A crate of ours without a version: publishing leaves it out, so that tests may use what is published later.
fn is_path_only(dependency: &Value) -> bool {
    dependency.get("path").is_some() && dependency.get("version").is_none()
}

fn line_of(file: &File, key: &str) -> usize {
    file.lines()
        .find(|(_, line)| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.starts_with([' ', '=', '.']))
        })
        .map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&[File::new("crates/a/Cargo.toml", text)])
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn dependencies_and_lints_come_from_the_workspace() {
        let good = "[lints]\nworkspace = true\n[dependencies]\na.workspace = true\n\
                    b = { workspace = true, features = [\"x\"] }\n[target.'cfg(unix)'.dev-dependencies]\nc.workspace = true\n";
        assert_eq!(found(good), Vec::<String>::new());
    }

    #[test]
    fn own_versions_and_missing_lints_are_named_by_line() {
        let bad = "[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies]\nb = { version = \"1\" }\n\
             [dev-dependencies]\nc = { path = \"../c\" }\n";
        let found = found(bad);
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("crates/a/Cargo.toml:2: a has a version of its own"));
        assert!(found[1].starts_with("crates/a/Cargo.toml:4: b has a version of its own"));
        assert!(found[2].starts_with("crates/a/Cargo.toml:1: no workspace lints"));
    }
}
