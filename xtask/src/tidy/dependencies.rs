//! Trees of crates: what may be below the pure crates, and how many crates a user of the SDK builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::programs::{SHORT, cargo, lines_of};
use crate::workspace::{Result, say};

/// The crate of types may depend on these and what they depend on.
const TYPES: &str = "mcp-types";
const TYPES_BASE: &str = "-p serde -p serde_json";

/// `crates.toml`, which explains the members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) pure: Vec<String>,
    impure: Vec<String>,
    pub(super) edges: BTreeMap<String, Vec<String>>,
    pub(super) test_edges: BTreeMap<String, Vec<String>>,
    budget: Vec<Budget>,
}

/// How many crates a use of the SDK may depend on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    name: String,
    build: String,
    limit: usize,
}

#[expect(clippy::expect_used, reason = "the file is part of the program")]
pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| toml::from_str(include_str!("crates.toml")).expect("crates.toml is valid"));

/// For each use: its name, the number of crates, and the limit.
pub(crate) fn counts(root: &Path) -> Result<Vec<(&'static str, usize, usize)>> {
    let counted = |Budget { name, build, limit }: &'static Budget| {
        let tree = tree(root, &format!("--no-default-features {build}"))?;
        Ok((&**name, tree.len(), *limit))
    };
    RULES.budget.iter().map(counted).collect()
}

/// Checks the trees, and prints the number of crates of each use.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    let base = tree(root, TYPES_BASE)?;
    for name in &RULES.pure {
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
    let names = tree.iter().map(|(name, _)| name);
    let mut violations = Vec::new();
    for found in BTreeSet::from_iter(names) {
        let reason = if RULES.impure.contains(found) {
            "runtime, network and randomness belong in a transport"
        } else if name == TYPES
            && !RULES.edges.contains_key(found)
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
pub(crate) fn tree(root: &Path, words: &str) -> Result<Crates> {
    let options = "-e normal,build --prefix none --target x86_64-unknown-linux-gnu";
    let mut command = cargo(&format!("tree {options} {words}"));
    let lines = lines_of(command.current_dir(root), SHORT)?;
    Ok(lines.iter().filter_map(|line| listed(line)).collect())
}

/// The crate in a line of `cargo tree`.
pub(super) fn listed(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ').map(str::to_owned);
    Some((words.next()?, words.next()?))
}
