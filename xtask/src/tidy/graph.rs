//! Which crate may depend on which, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Violation;
use crate::files::{self, File};
use crate::steps::cargo;

/// The crates of ours that each crate may depend on; `None` stands for all of them.
const EDGES: &[(&str, Option<&[&str]>)] = &[
    ("mcp-jsonrpc", Some(&[])),
    ("mcp-types", Some(&["mcp-jsonrpc"])),
    ("mcp-protocol", Some(CORE)),
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
        Some(&["mcp-jsonrpc", "mcp-types", "mcp-protocol", "mcp-macros"]),
    ),
    ("mcp-client", Some(PROTOCOL)),
    ("mcp-tasks-redb", Some(PROTOCOL)),
    ("mcp-tests", None),
    ("xtask", Some(&[])),
];

/// Edges that only the tests and examples of a crate have: an attribute is shown through the crate that re-exports it.
const TEST_EDGES: &[(&str, &[&str])] = &[("mcp-macros", &["mcp-server", "mcp-tests"])];

const CORE: &[&str] = &["mcp-jsonrpc", "mcp-types"];
const PROTOCOL: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-protocol"];

/// What a pure crate may not pull in, at any distance.
const IMPURE: &[&str] = &["tokio", "http", "hyper", "mio", "rand"];
const PURE: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-protocol"];

/// What the types may cost, their own trees included.
const TYPES: &str = "mcp-types";
const TYPES_COST: &[&str] = &["serde", "serde_json"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The crates of the workspace and everything below them.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Each of our crates, with what its manifest names.
    own: BTreeMap<String, Vec<String>>,
    /// Every crate of the tree, with what it links or builds with.
    tree: BTreeMap<String, BTreeSet<String>>,
}

impl Members {
    /// Asks cargo.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let output = Command::new(cargo())
            .args(["metadata", "--format-version", "1"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "cargo metadata: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        Self::parse(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
    }

    fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let metadata: Metadata = serde_json::from_slice(json)?;
        let names: BTreeMap<&str, &str> = metadata
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let mut members = Self::default();
        for package in &metadata.packages {
            if metadata.workspace_members.contains(&package.id) {
                let named = package.dependencies.iter().filter(|named| {
                    named.kind.as_deref() != Some("dev")
                        || !is_test_edge(&package.name, &named.name)
                });
                let named = named.map(|named| named.name.clone());
                members.own.insert(package.name.clone(), named.collect());
            }
        }
        for node in &metadata.resolve.nodes {
            let linked = node
                .deps
                .iter()
                .filter(|edge| {
                    edge.dep_kinds
                        .iter()
                        .any(|kind| kind.kind.as_deref() != Some("dev"))
                })
                .filter_map(|edge| names.get(edge.pkg.as_str()));
            let name = names.get(node.id.as_str()).copied().unwrap_or_default();
            let below = members.tree.entry(name.to_owned()).or_default();
            below.extend(linked.map(|name| (*name).to_owned()));
        }
        Ok(members)
    }

    /// The manifests of our crates.
    pub(super) fn manifests(&self, root: &Path) -> Result<Vec<File>, String> {
        self.own
            .keys()
            .map(|name| files::load(root, manifest(name)))
            .collect()
    }

    /// Edges that point the wrong way, and trees that grew.
    pub(super) fn check(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (name, dependencies) in &self.own {
            let path = manifest(name);
            let Some((_, allowed)) = EDGES.iter().find(|(known, _)| known == name) else {
                violations.push(Violation::new(
                    &path,
                    1,
                    format!("{name} is not in the table of edges, add it to xtask/src/tidy/graph.rs with an ADR"),
                ));
                continue;
            };
            let Some(allowed) = allowed else { continue };
            let ours = dependencies
                .iter()
                .filter(|dependency| self.own.contains_key(*dependency));
            for dependency in ours.filter(|dependency| !allowed.contains(&dependency.as_str())) {
                violations.push(Violation::new(
                    &path,
                    1,
                    format!("{name} depends on {dependency}, which points the wrong way: remove the edge"),
                ));
            }
        }
        violations.extend(self.impure());
        violations.extend(self.costly());
        violations
    }

    fn impure(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for name in PURE {
            let below = self.below(name);
            for stranger in IMPURE.iter().filter(|stranger| below.contains(**stranger)) {
                violations.push(Violation::new(
                    &manifest(name),
                    1,
                    format!("{name} pulls in {stranger}: no runtime, no network and no randomness below the transports"),
                ));
            }
        }
        violations
    }

    fn costly(&self) -> Vec<Violation> {
        let mut allowed: BTreeSet<&str> = TYPES_COST.iter().copied().collect();
        for name in TYPES_COST {
            allowed.extend(self.below(name));
        }
        let strangers = self.below(TYPES);
        let strangers = strangers
            .into_iter()
            .filter(|name| !allowed.contains(name) && !self.own.contains_key(*name));
        strangers
            .map(|name| {
                Violation::new(
                    &manifest(TYPES),
                    1,
                    format!(
                        "{TYPES} pulls in {name}, but may cost serde and serde_json only: remove it"
                    ),
                )
            })
            .collect()
    }

    /// Everything below a crate.
    fn below(&self, name: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<&str> = vec![name];
        while let Some(name) = waiting.pop() {
            for next in self.tree.get(name).into_iter().flatten() {
                if found.insert(next.as_str()) {
                    waiting.push(next);
                }
            }
        }
        found
    }
}

/// Whether this edge is in order for tests and examples; all others keep to [`EDGES`].
fn is_test_edge(from: &str, to: &str) -> bool {
    TEST_EDGES
        .iter()
        .any(|(name, allowed)| *name == from && allowed.contains(&to))
}

/// The path of a crate's manifest.
fn manifest(name: &str) -> String {
    match name {
        "mcp-tests" => "tests/Cargo.toml".to_owned(),
        "xtask" => "xtask/Cargo.toml".to_owned(),
        _ => format!("crates/{name}/Cargo.toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(own: &[(&str, &[&str])], tree: &[(&str, &[&str])]) -> Members {
        let strings = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let own = own.iter();
        let tree = tree.iter();
        Members {
            own: own
                .map(|(name, below)| ((*name).to_owned(), strings(below)))
                .collect(),
            tree: tree
                .map(|(name, below)| ((*name).to_owned(), strings(below).into_iter().collect()))
                .collect(),
        }
    }

    #[test]
    fn an_edge_that_points_the_wrong_way_is_named() {
        let wrong = members(
            &[
                ("mcp-client", &["mcp-server", "serde"]),
                ("mcp-server", &["mcp-protocol"]),
                ("mcp-protocol", &[]),
                ("mcp-tests", &["mcp-client", "mcp-server"]),
            ],
            &[],
        );
        let found = wrong.check();
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .to_string()
                .starts_with("crates/mcp-client/Cargo.toml:1: mcp-client depends on mcp-server")
        );
    }

    #[test]
    fn a_crate_that_nobody_placed_is_refused() {
        let found = members(&[("mcp-extra", &[])], &[]).check();
        assert!(found[0].what.contains("not in the table"), "{found:?}");
    }

    #[test]
    fn the_types_cost_serde_and_nothing_else() {
        let tree: &[(&str, &[&str])] = &[
            ("mcp-types", &["mcp-jsonrpc", "serde", "chrono"]),
            ("mcp-jsonrpc", &["serde_json", "memchr"]),
            ("serde_json", &["memchr", "serde_core"]),
            ("serde", &["serde_core", "serde_derive"]),
            ("chrono", &["num-traits"]),
        ];
        let own: &[(&str, &[&str])] = &[("mcp-types", &["mcp-jsonrpc"]), ("mcp-jsonrpc", &[])];
        let found: Vec<_> = members(own, tree)
            .check()
            .into_iter()
            .map(|violation| violation.what)
            .collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("chrono") && found[1].contains("num-traits"));
    }

    #[test]
    fn a_pure_crate_reaches_no_runtime_at_any_distance() {
        let found = members(
            &[("mcp-protocol", &[])],
            &[("mcp-protocol", &["a"]), ("a", &["b"]), ("b", &["tokio"])],
        )
        .check();
        assert!(found[0].what.contains("pulls in tokio"), "{found:?}");
    }

    #[test]
    fn metadata_is_read_and_tests_may_point_where_code_may_not() {
        let json = br#"{
            "packages": [
                {"id": "p1", "name": "mcp-types", "dependencies": [{"name": "serde", "kind": null}, {"name": "x", "kind": "dev"}]},
                {"id": "p4", "name": "mcp-macros", "dependencies": [{"name": "mcp-server", "kind": "dev"}, {"name": "mcp-types", "kind": "dev"}]},
                {"id": "p2", "name": "serde", "dependencies": []},
                {"id": "p3", "name": "x", "dependencies": []}
            ],
            "workspace_members": ["p1", "p4"],
            "resolve": {"nodes": [
                {"id": "p1", "deps": [
                    {"pkg": "p2", "dep_kinds": [{"kind": null}]},
                    {"pkg": "p3", "dep_kinds": [{"kind": "dev"}]}
                ]},
                {"id": "p2", "deps": []}
            ]}
        }"#;
        let members = Members::parse(json).unwrap();
        assert_eq!(members.below("mcp-types"), BTreeSet::from(["serde"]));
        assert_eq!(members.own["mcp-macros"], ["mcp-types"]);
        assert_eq!(members.check().len(), 1);
    }
}
