//! Which crates depend on which, what may be below the pure crates, how many crates a user of the SDK builds, that
//! dependencies and lints come from the workspace, and that docs.rs documents all features.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::programs::{SHORT, cargo, lines_of};
use crate::workspace::{self, At as _, File, Result, say};

/// `crates.toml`, which explains the members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) pure: Vec<String>,
    impure: Vec<String>,
    external: BTreeMap<String, Vec<String>>,
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
    for name in &RULES.pure {
        let tree = tree(root, &format!("-p {name} --all-features"))?;
        let names = tree.iter().map(|(found, _)| found);
        for found in names.filter(|found| RULES.impure.contains(found)) {
            violations.push(format!(
                "crates/{name}/Cargo.toml:1: {name} depends on {found}: runtime, network and randomness belong in a transport"
            ));
        }
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

/// Name and version of the crates that a build with these arguments of cargo links or runs.
pub(crate) fn tree(root: &Path, words: &str) -> Result<BTreeSet<(String, String)>> {
    let options = "-e normal,build --prefix none --target x86_64-unknown-linux-gnu";
    let mut command = cargo(&format!("tree {options} {words}"));
    let lines = lines_of(command.current_dir(root), SHORT)?;
    let listed = |line: &String| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    Ok(lines.iter().filter_map(listed).collect())
}

const DEV: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

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

    /// Returns the value at `path` in the table `package`.
    fn package(&self, path: &[&str]) -> Option<&Value> {
        let package = self.table.get("package")?;
        path.iter().try_fold(package, |table, key| table.get(*key))
    }

    fn name(&self) -> &str {
        let name = self.package(&["name"]);
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether docs.rs shows this crate.
    fn is_published_library(&self) -> bool {
        let is_program = self.table.contains_key("bin") && !self.table.contains_key("lib");
        let publish = self.package(&["publish"]);
        !is_program && publish.and_then(Value::as_bool) != Some(false)
    }

    fn documents_all_features(&self) -> bool {
        let value = self.package(&["metadata", "docs", "rs", "all-features"]);
        value.and_then(Value::as_bool) == Some(true)
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

pub(super) fn load(root: &Path) -> Result<Vec<Manifest>> {
    let is_member = |path: &str| {
        matches!(
            path.split('/').collect::<Vec<_>>()[..],
            ["crates" | "docs", _, "Cargo.toml"] | ["tests" | "xtask", "Cargo.toml"]
        )
    };
    let files = workspace::read(root, &["crates", "docs", "tests", "xtask"], is_member)?;
    files.into_iter().map(Manifest::parse).collect()
}

pub(super) fn check_manifests(manifests: &[Manifest]) -> Vec<String> {
    let own: BTreeSet<&str> = manifests.iter().map(Manifest::name).collect();
    let mut violations = Vec::new();
    for manifest in manifests {
        let name = manifest.name();
        let allowed = RULES.edges.get(name);
        let mut violation = |problem| violations.push(format!("{}:1: {problem}", manifest.path));
        if allowed.is_none() {
            violation(format!(
                "{name} has no dependency rules: add it to xtask/src/tidy/crates.toml and write an ADR"
            ));
        }
        let has = |list: &Vec<String>, used: &str| {
            list.iter().any(|allowed| allowed == used || allowed == "*")
        };
        let is_edge = |kind, used| {
            let of_tests = RULES.test_edges.get(name).filter(|_| kind == DEV);
            let listed = allowed.into_iter().chain(of_tests);
            allowed.is_none() || listed.into_iter().any(|list| has(list, used))
        };
        for (kind, used, value) in manifest.dependencies() {
            let is_allowed = match own.contains(used) {
                true => is_edge(kind, used),
                false => kind == DEV || RULES.external.get(name).is_none_or(|list| has(list, used)),
            };
            if !is_allowed {
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
        if manifest.is_published_library() && !manifest.documents_all_features() {
            violation(
                "docs.rs leaves out the features: add [package.metadata.docs.rs] with all-features = true"
                    .to_owned(),
            );
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
