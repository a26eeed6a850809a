//! How many crates each use of the SDK costs, own crates included.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::Violation;
use crate::steps::{cargo, say};

/// One use, the crates a user names for it, and how many it may cost.
struct Budget {
    name: &'static str,
    packages: &'static [&'static str],
    /// On top of no default features.
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

/// How many crates each use costs, and how many it may.
pub(crate) fn counts(root: &Path) -> Result<Vec<(&'static str, usize, usize)>, String> {
    let counted = |budget: &Budget| Ok((budget.name, count(&tree(root, budget)?), budget.limit));
    BUDGETS.iter().map(counted).collect()
}

/// Prints the counts; more than the limit is a violation.
pub(super) fn check(root: &Path) -> Result<Vec<Violation>, String> {
    let mut violations = Vec::new();
    for (budget, (_, crates, _)) in BUDGETS.iter().zip(counts(root)?) {
        let Budget {
            name,
            packages,
            limit,
            ..
        } = budget;
        say(&format!("{name}: {crates} crates, {limit} allowed"));
        if crates > *limit {
            violations.push(Violation::new(
                &format!("crates/{}/Cargo.toml", packages[0]),
                1,
                format!("{name} costs {crates} crates where {limit} are the limit, look at cargo tree and remove some"),
            ));
        }
    }
    Ok(violations)
}

fn tree(root: &Path, budget: &Budget) -> Result<String, String> {
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .current_dir(root);
    command.args(["--no-default-features", "--features", budget.features]);
    for package in budget.packages {
        command.args(["-p", package]);
    }
    let output = command
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "cargo tree: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
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
