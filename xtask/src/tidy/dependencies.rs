//! Trees of crates: what may be below the pure crates, and how many crates a user of the SDK builds.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::manifest::allowed;
use crate::programs::{SHORT, run};
use crate::steps::{cargo, say};

/// Crates without a runtime, network or randomness, and what they may not depend on, directly or indirectly.
pub(super) const PURE: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-schema", "mcp-protocol"];
const IMPURE: &[&str] = &["tokio", "http", "hyper", "mio", "rand"];

/// The crate of types may depend on these and what they depend on.
const TYPES: &str = "mcp-types";
const TYPES_BASE: &str = "-p serde -p serde_json";

/// For each use of the SDK: its name, the packages and features for cargo, and how many crates it may depend on, the crates
/// of the SDK included.
const BUDGETS: &[(&str, &str, usize)] = &[
    ("types", "-p mcp-types", 15),
    (
        "stdio server",
        "-p mcp-server -p mcp-transport-stdio --features mcp-server/macros",
        35,
    ),
    (
        "HTTP server",
        "-p mcp-server -p mcp-transport-http --features mcp-server/macros,mcp-transport-http/server",
        60,
    ),
    (
        "HTTP client with TLS",
        "-p mcp-client -p mcp-transport-http --features mcp-transport-http/tls",
        80,
    ),
];

/// For each use: its name, the number of crates, and the limit.
pub(crate) fn counts(root: &Path) -> Result<Vec<(&'static str, usize, usize)>, String> {
    let counted = |&(name, words, limit): &(&'static str, &str, usize)| {
        let tree = tree(root, &format!("--no-default-features {words}"))?;
        Ok((name, tree.len(), limit))
    };
    BUDGETS.iter().map(counted).collect()
}

/// Checks the trees, and prints the number of crates of each use.
pub(super) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    let base = tree(root, TYPES_BASE)?;
    for name in PURE {
        let tree = tree(root, &format!("-p {name} --all-features"))?;
        violations.extend(unwanted(name, &tree, &base));
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

/// The crates that a build with these arguments of cargo links or runs.
pub(crate) fn tree(root: &Path, words: &str) -> Result<Crates, String> {
    let mut command = Command::new(cargo());
    let options = "tree -e normal,build --prefix none --target x86_64-unknown-linux-gnu";
    let words = options.split(' ').chain(words.split(' '));
    let mut crates = Crates::new();
    run(command.args(words).current_dir(root), SHORT, |line| {
        crates.extend(listed(line));
    })?;
    Ok(crates)
}

/// The crate in a line of `cargo tree`.
pub(super) fn listed(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ').map(str::to_owned);
    Some((words.next()?, words.next()?))
}
