//! `cargo xtask test` and `cargo xtask lint`: the commands of cargo that must pass.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::thread::available_parallelism;

use serde::Deserialize;

use crate::codegen::schema_folder;
use crate::programs::{SHORT, cargo, executable, output_of, program, target};
use crate::steps::Steps;
use crate::workspace::{At as _, Result, root, say};

/// Packages and features of the largest build whose tests run. xtask is tested in a separate build: the build with all features
/// would replace the running xtask, which Windows refuses.
const ALL: &str = "--workspace --exclude xtask --all-features";

/// Packages and features of the other builds whose tests run.
const FURTHER_BUILDS: &[&str] = &[
    "-p xtask",
    "-p mcp-protocol -p mcp-server -p mcp-client --no-default-features",
    // HTTP without HTTP/2.
    "-p mcp-transport-http --no-default-features --features server,client",
];

/// Options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct TestOptions {
    /// Runs only the tests of the largest build and, with nextest, only the quick ones: the profile `fast` of `.config/nextest.toml`.
    #[arg(long)]
    fast: bool,
}

/// Returns whether the tests of mcp-store-redis run: if Redis is installed, or if `MCP_REDIS_TESTS` requires them, so that they fail without Redis.
fn has_redis() -> bool {
    let is_installed = |name| output_of(&mut program(name, "--version"), SHORT).is_ok();
    std::env::var_os("MCP_REDIS_TESTS").is_some()
        || ["redis-server", "redis-sentinel", "redis-cli"]
            .into_iter()
            .all(is_installed)
}

/// Runs all tests, without Node and Python. Each test has a deadline: `cargo nextest` runs the tests if it is installed, and
/// `.config/nextest.toml` has the deadlines. Otherwise `cargo test` runs them, and a test program that is silent for too long
/// is killed.
pub(crate) fn test(options: &TestOptions) -> Result {
    let mut steps = Steps::default();
    let excluded = match has_redis() {
        true => "",
        false => {
            steps.skip(
                "mcp-store-redis, because redis-server, redis-sentinel or redis-cli is missing",
            );
            " --exclude mcp-store-redis"
        }
    };
    // Some tests wait for timeouts or for other programs.
    let threads = available_parallelism().map_or(2, NonZero::get) * 3 / 2;
    let nextest = format!("nextest run --no-fail-fast --test-threads {threads}");
    // Tests start these programs. `cargo test --tests` does not build them.
    steps.cargo(&format!("cargo build --examples {ALL}"));
    let runner = match output_of(&mut cargo("nextest --version"), SHORT).is_ok() {
        true if options.fast => format!("{nextest} --profile fast"),
        true => nextest,
        false => "test --tests --no-fail-fast".to_owned(),
    };
    steps.cargo_tests(&format!("cargo {runner} {ALL}{excluded}"));
    if options.fast {
        return steps.finish();
    }
    for build in FURTHER_BUILDS {
        steps.cargo_tests(&format!("cargo {runner} {build}"));
    }
    // Loom runs every interleaving of three operations. A separate workspace with a separate target folder.
    let folder = target().join("interleavings");
    steps.cargo_tests(&format!(
        "cargo test --manifest-path tests/interleavings/Cargo.toml --target-dir {}",
        folder.display()
    ));
    // nextest does not run these.
    steps.cargo_tests(&format!("cargo test --doc --no-fail-fast {ALL}"));
    // Started directly: `cargo run` would build it again with other features.
    let quickstart = executable(&target().join("debug/examples"), "quickstart");
    let quickstart = program(quickstart, "");
    steps.tests("cargo run --example quickstart", quickstart);
    steps.finish()
}

/// The arguments of each clippy run: the combinations of features that compile different code.
const CLIPPY: &[&str] = &[
    "--workspace --all-targets",
    "--workspace --all-targets --all-features",
    "-p mcp-protocol -p mcp-server -p mcp-client -p mcp-transport-stdio --no-default-features --all-targets",
    "-p mcp-transport-http --no-default-features --features server",
    "-p mcp-transport-http --no-default-features --features server,proxy",
    "-p mcp-transport-http --no-default-features --features client",
    "-p mcp-transport-http --no-default-features --features legacy",
];

/// Checks formatting, clippy, the rules of `tidy`, generated files, and documentation. All steps run, even after a failure.
pub(crate) fn lint() -> Result {
    let mut steps = Steps::default();
    steps.cargo("cargo fmt --all --check");
    steps.cargo("cargo xtask tidy");
    steps.cargo("cargo xtask support --check");
    steps.cargo("cargo xtask limits --check");
    steps.cargo("cargo xtask events --check");
    steps.cargo("cargo xtask readmes --check");
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

/// The parts of a manifest that define features.
#[derive(Deserialize)]
struct Manifest {
    package: Package,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// Checks that each crate compiles without features, and with each of its features alone, without a warning.
pub(crate) fn features() -> Result {
    let mut steps = Steps::default();
    let crates = root().join("crates");
    let mut manifests: Vec<_> = fs::read_dir(&crates)
        .at(crates.display())?
        .filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml")))
        .collect();
    manifests.sort();
    for path in manifests {
        let text = fs::read_to_string(&path).at(path.display())?;
        let manifest: Manifest = toml::from_str(&text).at(path.display())?;
        let check = format!(
            "cargo clippy -p {} --no-default-features",
            manifest.package.name
        );
        steps.cargo(&format!("{check} -- -D warnings"));
        for feature in manifest.features.keys().filter(|name| *name != "default") {
            steps.cargo(&format!("{check} --features {feature} -- -D warnings"));
        }
    }
    steps.finish()
}
