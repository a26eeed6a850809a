//! `cargo xtask test`: all tests, without Node and Python. Each test has a deadline.
//!
//! `cargo nextest` runs the tests if it is installed; `.config/nextest.toml` has the deadlines. Otherwise `cargo test`
//! runs them, and a test program that is silent for too long is killed.
//!
//! xtask is tested in a separate build: the build with all features would replace the running xtask, which Windows
//! refuses.

use std::process::Command;

use crate::programs::{SHORT, executable, output_of, target};
use crate::steps::{Steps, cargo};

/// Name and packages, with features, of each build whose tests run.
const BUILDS: &[(&str, &str)] = &[
    ("tests with all features", ALL),
    ("tests of xtask", "-p xtask"),
    (
        "tests without features",
        "-p mcp-protocol -p mcp-server -p mcp-client --no-default-features",
    ),
    (
        "tests of HTTP without HTTP/2",
        "-p mcp-transport-http --no-default-features --features server,client",
    ),
];

const ALL: &str = "--workspace --exclude xtask --all-features";

/// Runs the command.
pub(crate) fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    let mut nextest = Command::new(cargo());
    nextest.args(["nextest", "--version"]);
    let runner = match output_of(&mut nextest, SHORT).is_ok() {
        true => "nextest run --no-fail-fast",
        false => "test --tests --no-fail-fast",
    };
    for (name, build) in BUILDS {
        steps.cargo_tests(name, &format!("cargo {runner} {build}"));
    }
    // nextest does not run these.
    let doc = format!("cargo test --doc --no-fail-fast {ALL}");
    steps.cargo_tests("documentation tests", &doc);
    steps.cargo("examples", &format!("cargo build --examples {ALL}"));
    // Started directly: `cargo run` would build it again with other features.
    let quickstart = executable(&target().join("debug/examples"), "quickstart");
    let repeat = "cargo run --example quickstart";
    steps.tests("quickstart", repeat, Command::new(quickstart));
    steps.finish()
}
