//! Trees of crates: what may be below the pure crates, and how many crates a user of the SDK builds.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::manifest::allowed;
use crate::programs::{SHORT, run};
use crate::steps::{cargo, say};
use crate::workspace::At as _;

/// Crates without a runtime, network or randomness, and what they may not depend on, directly or indirectly.
pub(super) const PURE: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-schema", "mcp-protocol"];
const IMPURE: &[&str] = &["tokio", "http", "hyper", "mio", "rand"];

/// The crate of types may depend on these and what they depend on.
const TYPES: &str = "mcp-types";
const TYPES_BASE: &str = "serde serde_json";

/// For each use of the SDK: its name, the crates in the manifest of the user, their features in addition to none, and how
/// many crates it may depend on, the crates of the SDK included.
const BUDGETS: &[(&str, &str, &str, usize)] = &[
    ("types", "mcp-types", "", 15),
    (
        "stdio server",
        "mcp-server mcp-transport-stdio",
        "mcp-server/macros",
        35,
    ),
    (
        "HTTP server",
        "mcp-server mcp-transport-http",
        "mcp-server/macros,mcp-transport-http/server",
        60,
    ),
    (
        "HTTP client with TLS",
        "mcp-client mcp-transport-http",
        "mcp-transport-http/tls",
        80,
    ),
];

/// For each use: its name, the number of crates, and the limit.
pub(crate) fn counts(root: &Path) -> Result<Vec<(&'static str, usize, usize)>, String> {
    let counted = |&(name, packages, features, limit): &(&'static str, &str, &str, usize)| {
        let features = ["--no-default-features", "--features", features];
        Ok((name, tree(root, packages, &features)?.len(), limit))
    };
    BUDGETS.iter().map(counted).collect()
}

/// Checks the trees, and prints the number of crates of each use.
pub(super) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    let base = tree(root, TYPES_BASE, &[])?;
    for name in PURE {
        violations.extend(unwanted(
            name,
            &tree(root, name, &["--all-features"])?,
            &base,
        ));
    }
    for (name, crates, limit) in counts(root)? {
        say(&format!("{name}: {crates} crates, limit {limit}"));
        if crates > limit {
            violations.push(format!(
                "Cargo.toml:1: {name} depends on {crates} crates, limit {limit}: remove some, `cargo tree` shows them"
            ));
        }
    }
    Ok(violations)
}

/// The crates in the tree of a pure crate that it may not depend on; `base` is what the crate of types may.
pub(super) fn unwanted(name: &str, tree: &Crates, base: &Crates) -> Vec<String> {
    let names = tree.iter().map(|(name, _)| &**name);
    let mut violations = Vec::new();
    for found in BTreeSet::from_iter(names) {
        let reason = if IMPURE.contains(&found) {
            "runtime, network and randomness belong in a transport"
        } else if name == TYPES
            && allowed(found).is_none()
            && !base.iter().any(|(known, _)| known == found)
        {
            "it may only depend on serde and serde_json, remove it"
        } else {
            continue;
        };
        violations.push(format!(
            "crates/{name}/Cargo.toml:1: {name} depends on {found}: {reason}"
        ));
    }
    violations
}

/// Name and version of crates.
pub(crate) type Crates = BTreeSet<(String, String)>;

/// The crates that these packages link or build with.
pub(crate) fn tree(root: &Path, packages: &str, features: &[&str]) -> Result<Crates, String> {
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .args(features)
        .args(packages.split(' ').flat_map(|package| ["-p", package]))
        .current_dir(root);
    let mut crates = Crates::new();
    run(&mut command, SHORT, |line| crates.extend(listed(line))).at("cargo tree")?;
    Ok(crates)
}

/// The crate in a line of `cargo tree`.
pub(super) fn listed(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ').map(str::to_owned);
    Some((words.next()?, words.next()?))
}
