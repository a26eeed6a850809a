//! Dependencies between the crates of the workspace, and the third-party crates below the pure ones.

use std::collections::BTreeSet;
use std::path::Path;

use super::budget::tree;
use super::manifest::{DEV, Manifest};
use super::violation::Violation;

/// The workspace crates that each crate may depend on; `None` is all of them.
const EDGES: &[(&str, Option<&[&str]>)] = &[
    ("mcp-jsonrpc", Some(&[])),
    ("mcp-types", Some(&["mcp-jsonrpc"])),
    ("mcp-schema", Some(&[])),
    (
        "mcp-protocol",
        Some(&["mcp-jsonrpc", "mcp-types", "mcp-schema"]),
    ),
    ("mcp-macros", Some(&[])),
    ("mcp-transport-stdio", Some(PROTOCOL)),
    ("mcp-transport-http", Some(PROTOCOL)),
    (
        "mcp-auth",
        Some(&[
            "mcp-jsonrpc",
            "mcp-types",
            "mcp-protocol",
            "mcp-server",
            "mcp-transport-http",
        ]),
    ),
    (
        "mcp-server",
        Some(&[
            "mcp-jsonrpc",
            "mcp-types",
            "mcp-schema",
            "mcp-protocol",
            "mcp-macros",
        ]),
    ),
    (
        "mcp-client",
        Some(&["mcp-jsonrpc", "mcp-types", "mcp-schema", "mcp-protocol"]),
    ),
    ("mcp-tasks-redb", Some(PROTOCOL)),
    ("mcp-tests", None),
    ("xtask", Some(&[])),
];

const PROTOCOL: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-protocol"];

/// Dependencies that only tests have: `mcp-server` re-exports the attributes of `mcp-macros`.
const TEST_EDGES: &[(&str, &str)] = &[("mcp-macros", "mcp-server")];

/// Crates without a runtime, network or randomness, and what they may not depend on, directly or indirectly.
const PURE: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-schema", "mcp-protocol"];
const IMPURE: &[&str] = &["tokio", "http", "hyper", "mio", "rand"];

/// The crate of types may depend on these and what they depend on.
const TYPES: &str = "mcp-types";
const TYPES_BASE: &[&str] = &["serde", "serde_json"];

/// Checks all crates.
pub(super) fn check(root: &Path, manifests: &[Manifest]) -> Result<Vec<Violation>, String> {
    let mut violations = edges(manifests);
    for name in PURE {
        let below = names(&tree(root, &[name], &["--all-features"])?);
        violations.extend(impure(name, &below));
        if *name == TYPES {
            let base = names(&tree(root, TYPES_BASE, &[])?);
            violations.extend(costly(&below, &base));
        }
    }
    Ok(violations)
}

fn edges(manifests: &[Manifest]) -> Vec<Violation> {
    let own: BTreeSet<&str> = manifests.iter().map(Manifest::name).collect();
    let mut violations = Vec::new();
    for manifest in manifests {
        let name = manifest.name();
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            violations.push(Violation::new(
                &manifest.file.path,
                1,
                format!(
                    "{name} has no row in EDGES: add it to xtask/src/tidy/graph.rs and write an ADR"
                ),
            ));
            continue;
        };
        let Some(allowed) = allowed else { continue };
        for (kind, dependency, _) in manifest.dependencies() {
            let is_wrong = own.contains(dependency)
                && !allowed.contains(&dependency)
                && !(kind == DEV && TEST_EDGES.contains(&(name, dependency)));
            if is_wrong {
                violations.push(Violation::new(
                    &manifest.file.path,
                    1,
                    format!("{name} may not depend on {dependency}: remove the dependency"),
                ));
            }
        }
    }
    violations
}

fn names(tree: &str) -> BTreeSet<String> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn impure(name: &str, below: &BTreeSet<String>) -> Vec<Violation> {
    let found = IMPURE.iter().filter(|impure| below.contains(**impure));
    found
        .map(|impure| {
            Violation::new(
                &format!("crates/{name}/Cargo.toml"),
                1,
                format!("{name} depends on {impure}: runtime, network and randomness belong in a transport"),
            )
        })
        .collect()
}

fn costly(below: &BTreeSet<String>, base: &BTreeSet<String>) -> Vec<Violation> {
    let added = below
        .difference(base)
        .filter(|name| !EDGES.iter().any(|(own, _)| own == name));
    added
        .map(|name| {
            Violation::new(
                &format!("crates/{TYPES}/Cargo.toml"),
                1,
                format!("{TYPES} depends on {name}, but may only depend on serde and serde_json: remove it"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::File;

    fn manifest(name: &str, text: &str) -> Manifest {
        let text = format!("[package]\nname = \"{name}\"\n{text}");
        Manifest::parse(File::new(&format!("crates/{name}/Cargo.toml"), &text)).unwrap()
    }

    #[test]
    fn a_forbidden_dependency_between_crates_is_named() {
        let found = edges(&[
            manifest(
                "mcp-server",
                "[dependencies]\nmcp-protocol.workspace = true\n",
            ),
            manifest(
                "mcp-client",
                "[target.'cfg(unix)'.dependencies]\nmcp-server.workspace = true\n",
            ),
            manifest(
                "mcp-macros",
                "[dev-dependencies]\nmcp-server.path = \"x\"\n",
            ),
            manifest("mcp-protocol", ""),
            manifest("mcp-tests", "[dependencies]\nmcp-client.workspace = true\n"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with(
            "crates/mcp-client/Cargo.toml:1: mcp-client may not depend on mcp-server"
        ));
    }

    #[test]
    fn an_unknown_crate_is_refused() {
        let found = edges(&[manifest("mcp-extra", "")]);
        assert!(found[0].what.contains("no row in EDGES"), "{found:?}");
    }

    #[test]
    fn the_trees_of_pure_crates_are_checked() {
        let below = names("mcp-types v0.1.0\nmcp-jsonrpc v0.1.0 (/x)\nserde v1 (*)\ntokio v1\n");
        assert_eq!(impure("mcp-types", &below).len(), 1);
        let found = costly(&below, &names("serde v1\nserde_json v1\n"));
        assert!(
            found.len() == 1 && found[0].what.contains("tokio"),
            "{found:?}"
        );
    }
}
