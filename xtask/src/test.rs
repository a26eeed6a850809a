//! `cargo xtask test`: everything that must be green without Node, cheapest first.
//!
//! xtask is tested by itself: built with the workspace's feature set it would have to be linked anew while it runs,
//! which Windows refuses.
//!
//! The crates are tested with all features and with none: what a workspace build calls default is what `mcp-tests` asks
//! for, which is nearly everything.

use std::path::PathBuf;

use crate::steps::{Steps, say};
use crate::{codegen, flags, root, support, tidy};

/// Cargo commands before and after the checks of our own: name, then words.
const LINTS: &[(&str, &str)] = &[
    ("clippy", "clippy --workspace --all-targets -- -D warnings"),
    (
        "clippy, all features",
        "clippy --workspace --all-targets --all-features -- -D warnings",
    ),
    (
        "clippy, no features",
        "clippy -p mcp-protocol -p mcp-server -p mcp-client --no-default-features --all-targets -- -D warnings",
    ),
    (
        "clippy, stdio without child processes",
        "clippy -p mcp-transport-stdio --no-default-features -- -D warnings",
    ),
    (
        "clippy, http server alone",
        "clippy -p mcp-transport-http --no-default-features --features server -- -D warnings",
    ),
    (
        "clippy, http client alone",
        "clippy -p mcp-transport-http --no-default-features --features client -- -D warnings",
    ),
    (
        "clippy, http neither",
        "clippy -p mcp-transport-http --no-default-features --features legacy -- -D warnings",
    ),
];

const TESTS: &[(&str, &str)] = &[
    ("xtask", "test -p xtask --no-fail-fast"),
    (
        "tests, all features",
        "test --workspace --exclude xtask --all-features --no-fail-fast",
    ),
    (
        "tests, no features",
        "test -p mcp-protocol -p mcp-server -p mcp-client --no-default-features --no-fail-fast",
    ),
    (
        "tests, http without HTTP/2",
        "test -p mcp-transport-http --no-default-features --features server,client --no-fail-fast",
    ),
    (
        "examples",
        "build --workspace --exclude xtask --all-features --examples",
    ),
    ("quickstart", "run --example quickstart"),
];

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [] = flags("test", [], args)?;
    let mut steps = Steps::new(root());
    let outcome = all(&mut steps);
    steps.finish(outcome)
}

fn all(steps: &mut Steps<'_>) -> Result<(), String> {
    steps.cargo("fmt", &[], "fmt --all --check")?;
    steps.step("tidy", "cargo xtask tidy", || tidy::run(&[]))?;
    steps.step("support", "cargo xtask support --check", || {
        support::run(&["--check".to_owned()])
    })?;
    steps.step("codegen", "cargo xtask codegen --check", generated)?;
    for (name, words) in LINTS.iter().chain(TESTS) {
        steps.cargo(name, &[], words)?;
    }
    steps.cargo(
        "docs",
        &[("RUSTDOCFLAGS", "-D warnings")],
        "doc --workspace --all-features --no-deps",
    )
}

/// `codegen --check`, where the schema can be had without the network.
fn generated() -> Result<(), String> {
    let Some(dir) = schema_dir() else {
        say(
            "SKIPPED: the official schema is not here; set MCP_SCHEMA_DIR or run `cargo xtask codegen --check`",
        );
        return Ok(());
    };
    let dir = dir
        .to_str()
        .ok_or("the schema folder's name is not UTF-8")?;
    codegen::run(&["--check", "--schema-dir", dir].map(str::to_owned))
}

/// The folder that was named, else the first of the usual ones that holds a schema.
fn schema_dir() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("MCP_SCHEMA_DIR") {
        return Some(dir.into());
    }
    ["../shared/schema", "target/schema"]
        .map(|place| root().join(place))
        .into_iter()
        .find(|place| place.join("2025-11-25/schema.json").is_file())
}
