//! `cargo xtask lint`: formatting, clippy, the rules of `tidy`, generated files, and documentation.

use crate::codegen::schema_folder;
use crate::steps::Steps;
use crate::workspace::{Result, say};

/// The arguments of each clippy run: the combinations of features that compile different code.
const CLIPPY: &[&str] = &[
    "--workspace --all-targets",
    "--workspace --all-targets --all-features",
    "-p mcp-protocol -p mcp-server -p mcp-client -p mcp-transport-stdio --no-default-features --all-targets",
    "-p mcp-transport-http --no-default-features --features server",
    "-p mcp-transport-http --no-default-features --features client",
    "-p mcp-transport-http --no-default-features --features legacy",
];

/// Runs the command. All steps run, also after a failure.
pub(crate) fn run() -> Result {
    let mut steps = Steps::default();
    steps.cargo("cargo fmt --all --check");
    steps.cargo("cargo xtask tidy");
    steps.cargo("cargo xtask support --check");
    match schema_folder().is_dir() {
        true => steps.cargo("cargo xtask codegen --check"),
        false => say(
            "SKIPPED: the official schema is not on the disk; set MCP_SCHEMA_DIR, or run `cargo xtask codegen --check`, which downloads it",
        ),
    }
    for words in CLIPPY {
        steps.cargo(&format!("cargo clippy {words} -- -D warnings"));
    }
    steps.cargo("RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --all-features --no-deps");
    steps.cargo("cargo xtask api --check");
    steps.finish()
}
