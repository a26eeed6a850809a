//! `cargo xtask lint`: formatting, clippy, the rules of `tidy`, generated files, and documentation.

use crate::steps::{Steps, say};
use crate::{codegen, support, tidy};

/// Name and arguments of each clippy run: the combinations of features that compile different code.
const CLIPPY: &[(&str, &str)] = &[
    ("clippy", "--workspace --all-targets"),
    (
        "clippy, all features",
        "--workspace --all-targets --all-features",
    ),
    (
        "clippy, no features",
        "-p mcp-protocol -p mcp-server -p mcp-client -p mcp-transport-stdio --no-default-features --all-targets",
    ),
    (
        "clippy, HTTP server alone",
        "-p mcp-transport-http --no-default-features --features server",
    ),
    (
        "clippy, HTTP client alone",
        "-p mcp-transport-http --no-default-features --features client",
    ),
    (
        "clippy, neither HTTP server nor client",
        "-p mcp-transport-http --no-default-features --features legacy",
    ),
];

/// Runs the command. All steps run, also after a failure.
pub(crate) fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    steps.cargo("fmt", "cargo fmt --all --check");
    let check_support = || support::run(true);
    steps.step("tidy", "cargo xtask tidy", tidy::run);
    steps.step("support", "cargo xtask support --check", check_support);
    steps.step("codegen", "cargo xtask codegen --check", check_generated);
    for (name, words) in CLIPPY {
        steps.cargo(name, &format!("cargo clippy {words} -- -D warnings"));
    }
    steps.cargo(
        "docs",
        "RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --all-features --no-deps",
    );
    steps.finish()
}

/// `codegen --check` if the schema is on the disk.
fn check_generated() -> Result<(), String> {
    if codegen::schema_folder().is_dir() {
        return codegen::run(true);
    }
    say(
        "SKIPPED: the official schema is not on the disk; set MCP_SCHEMA_DIR, or run `cargo xtask codegen --check`, which downloads it",
    );
    Ok(())
}
