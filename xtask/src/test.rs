//! `cargo xtask test`: all tests, without Node and Python. Each test has a deadline.
//!
//! `cargo nextest` runs the tests if it is installed; `.config/nextest.toml` has the deadlines. Otherwise `cargo test`
//! runs them, and a test program that is silent for too long is killed.
//!
//! xtask is tested in a separate build: the build with all features would replace the running xtask, which Windows
//! refuses.

use crate::programs::{SHORT, cargo, executable, output_of, program, target};
use crate::steps::Steps;

/// Packages, with features, of each build whose tests run.
const BUILDS: &[&str] = &[
    ALL,
    "-p xtask",
    "-p mcp-protocol -p mcp-server -p mcp-client --no-default-features",
    // HTTP without HTTP/2.
    "-p mcp-transport-http --no-default-features --features server,client",
];

const ALL: &str = "--workspace --exclude xtask --all-features";

/// Runs the command.
pub(crate) fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    let runner = match output_of(&mut cargo("nextest --version"), SHORT).is_ok() {
        true => "nextest run --no-fail-fast",
        false => "test --tests --no-fail-fast",
    };
    for build in BUILDS {
        steps.cargo_tests(&format!("cargo {runner} {build}"));
    }
    // Loom runs every interleaving of three operations. A workspace of its own, in a folder of its own.
    let folder = target().join("interleavings");
    steps.cargo_tests(&format!(
        "cargo test --manifest-path tests/interleavings/Cargo.toml --target-dir {}",
        folder.display()
    ));
    // nextest does not run these.
    steps.cargo_tests(&format!("cargo test --doc --no-fail-fast {ALL}"));
    steps.cargo(&format!("cargo build --examples {ALL}"));
    // Started directly: `cargo run` would build it again with other features.
    let quickstart = executable(&target().join("debug/examples"), "quickstart");
    let quickstart = program(quickstart, "");
    steps.tests("cargo run --example quickstart", quickstart);
    steps.finish()
}
