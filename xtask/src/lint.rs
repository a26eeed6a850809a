//! `cargo xtask lint`: formatting, clippy, the rules of `tidy`, generated files, and documentation.

use crate::codegen::schema_folder;
use crate::steps::{Steps, say};

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
    steps.cargo("tidy", "cargo xtask tidy");
    steps.cargo("support", "cargo xtask support --check");
    match schema_folder().is_dir() {
        true => steps.cargo("codegen", "cargo xtask codegen --check"),
        false => say(
            "SKIPPED: the official schema is not on the disk; set MCP_SCHEMA_DIR, or run `cargo xtask codegen --check`, which downloads it",
        ),
    }
    for (name, words) in CLIPPY {
        steps.cargo(name, &format!("cargo clippy {words} -- -D warnings"));
    }
    steps.cargo(
        "docs",
        "RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --all-features --no-deps",
    );
    steps.finish()
}
