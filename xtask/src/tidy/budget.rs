//! The number of crates that each use of the SDK depends on, its own crates included.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::violation::Violation;
use crate::steps::{cargo, say};

/// A use of the SDK.
struct Budget {
    name: &'static str,
    /// The crates in the manifest of the user.
    packages: &'static [&'static str],
    /// Features in addition to none.
    features: &'static str,
    limit: usize,
}

const BUDGETS: &[Budget] = &[
    Budget {
        name: "types",
        packages: &["mcp-types"],
        features: "",
        limit: 15,
    },
    Budget {
        name: "stdio server",
        packages: &["mcp-server", "mcp-transport-stdio"],
        features: "mcp-server/macros",
        limit: 35,
    },
    Budget {
        name: "HTTP server",
        packages: &["mcp-server", "mcp-transport-http"],
        features: "mcp-server/macros,mcp-transport-http/server",
        limit: 60,
    },
    Budget {
        name: "HTTP client with TLS",
        packages: &["mcp-client", "mcp-transport-http"],
        features: "mcp-transport-http/tls",
        limit: 80,
    },
];

/// For each use: its name, the number of crates, and the limit.
pub(crate) fn counts(root: &Path) -> Result<Vec<(&'static str, usize, usize)>, String> {
    let counted = |budget: &Budget| {
        let features = ["--no-default-features", "--features", budget.features];
        let tree = tree(root, budget.packages, &features)?;
        Ok((budget.name, count(&tree), budget.limit))
    };
    BUDGETS.iter().map(counted).collect()
}

/// Prints the numbers and compares them with the limits.
pub(super) fn check(root: &Path) -> Result<Vec<Violation>, String> {
    let mut violations = Vec::new();
    for (budget, (name, crates, limit)) in BUDGETS.iter().zip(counts(root)?) {
        say(&format!("{name}: {crates} crates, limit {limit}"));
        if crates > limit {
            violations.push(Violation::new(
                &format!("crates/{}/Cargo.toml", budget.packages[0]),
                1,
                format!("{name} depends on {crates} crates, limit {limit}: remove some, `cargo tree` shows them"),
            ));
        }
    }
    Ok(violations)
}

/// What these packages link or build with, one crate per line.
pub(super) fn tree(root: &Path, packages: &[&str], features: &[&str]) -> Result<String, String> {
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .args(features)
        .current_dir(root);
    for package in packages {
        command.args(["-p", package]);
    }
    let output = command
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("cargo tree: {error}"))
    }
}

/// Distinct names with versions.
fn count(tree: &str) -> usize {
    let crates: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?))
        })
        .collect();
    crates.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_per_version() {
        let tree = "mcp-a v0.1.0 (crates/mcp-a)\nserde v1.0.1\nserde_derive v1.0.1 (proc-macro)\n\nmcp-b v0.1.0\nserde v1.0.1 (*)\nserde v2.0.0\n";
        assert_eq!(count(tree), 5);
    }
}
