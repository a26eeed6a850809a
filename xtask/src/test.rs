//! `cargo xtask test`: all tests, without Node and Python. Each test has a deadline.
//!
//! `cargo nextest` runs the tests if it is installed; `.config/nextest.toml` has the deadlines. Otherwise `cargo test`
//! runs each test binary below [`mod@watchdog`], which kills a binary that is silent for too long.
//!
//! xtask is tested in a separate build: the build with all features would replace the running xtask, which Windows
//! refuses.

mod watchdog;

use std::process::{Command, Stdio};

use crate::programs::target;
use crate::steps::{Steps, cargo};
use crate::workspace::{flags, root};

pub(crate) use watchdog::run as watchdog;

/// Name and packages, with features, of each build whose tests run.
const BUILDS: &[(&str, &str)] = &[
    (
        "tests with all features",
        "--workspace --exclude xtask --all-features",
    ),
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

/// The documentation tests, which nextest does not run, and the examples.
const ALL: &str = "--workspace --exclude xtask --all-features";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [] = flags("test", [], args)?;
    let mut steps = Steps::new(root());
    let has_nextest = has_nextest();
    for (name, build) in BUILDS {
        if has_nextest {
            let words = format!("nextest run --no-fail-fast {build}");
            tests(&mut steps, name, &words, false)?;
        } else {
            tests(
                &mut steps,
                name,
                &format!("test --tests --no-fail-fast {build}"),
                true,
            )?;
        }
    }
    let doc = format!("test --doc --no-fail-fast {ALL}");
    tests(&mut steps, "documentation tests", &doc, true)?;
    steps.cargo("examples", &[], &format!("build --examples {ALL}"));
    // Started directly: `cargo run` would build it again with other features.
    let example = format!("debug/examples/quickstart{}", std::env::consts::EXE_SUFFIX);
    let mut quickstart = Command::new(target().join(example));
    steps.tests(
        "quickstart",
        "cargo run --example quickstart",
        &mut quickstart,
    );
    steps.finish_tests()
}

fn tests(steps: &mut Steps<'_>, name: &str, words: &str, is_watched: bool) -> Result<(), String> {
    let mut command = Command::new(cargo());
    if is_watched {
        command.args(["--config", &watchdog::runner()?]);
    }
    command.args(words.split_whitespace());
    steps.tests(name, &format!("cargo {words}"), &mut command);
    Ok(())
}

fn has_nextest() -> bool {
    let mut command = Command::new(cargo());
    command
        .args(["nextest", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
