//! `cargo xtask fuzz`: runs the targets of `tests/fuzz` with libFuzzer, which the crate libfuzzer-sys contains.
//!
//! The instrumentation is that of cargo-fuzz without sanitizers, which need a nightly compiler and find faults of `unsafe`
//! code, of which this workspace has none.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::programs::{BUILD, SHORT, executable, output_of, run, target, watch};
use crate::steps::cargo;
use crate::workspace::{At as _, none_of, root, say};

/// The programs of `tests/fuzz/src/bin`, and what each receives.
const TARGETS: &[(&str, &str)] = &[
    ("envelope", "JSON-RPC messages and batches"),
    ("uri-template", "a URI template and a URI"),
    ("schema", "a JSON Schema of a peer and a value"),
    ("www-authenticate", "`WWW-Authenticate` headers"),
    ("token", "a signed access token"),
    ("request-state", "the encrypted `requestState` of a call"),
    ("server-pipe", "a whole server on a pipe, all revisions"),
    ("http-headers", "the `Mcp-*` headers of a correct call"),
    ("http-endpoint", "several HTTP requests to one endpoint"),
    (
        "client-pipe",
        "a whole client, with a hostile server on a pipe",
    ),
    (
        "client-sse",
        "a whole client, with hostile HTTP responses and event streams",
    ),
];
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing";
/// Default number of seconds for each target. Shorter runs are not added to the figures.
const SECONDS: u64 = 60;

/// Figures of one target, over all runs.
#[derive(Default, Deserialize, Serialize)]
struct Row {
    name: String,
    input: String,
    executions: u64,
    seconds: u64,
    peak_mib: u64,
}

#[derive(Default, Deserialize, Serialize)]
struct Figures {
    total: u64,
    targets: Vec<Row>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// For each target; the figures of shorter runs than the default are not added.
    #[arg(long, default_value_t = SECONDS)]
    seconds: u64,
    /// A target to run instead of all.
    #[arg(long)]
    target: Vec<String>,
}

pub(crate) fn run_targets(options: &Options) -> Result<(), String> {
    let (seconds, only) = (options.seconds, &options.target);
    let programs = build()?;
    let stored = super::stored("fuzz")?.map(serde_json::from_value);
    let mut figures: Figures = stored.transpose().at("fuzz.json")?.unwrap_or_default();
    let mut failures = Vec::new();
    let is_chosen = |name: &str| only.is_empty() || only.iter().any(|chosen| chosen == name);
    for (name, input) in TARGETS.iter().filter(|(name, _)| is_chosen(name)) {
        match fuzz(&programs, name, seconds) {
            Ok(run) => add(
                &mut figures,
                Row {
                    input: (*input).to_owned(),
                    ..run
                },
            ),
            Err(message) => failures.push(message),
        }
    }
    if seconds >= SECONDS {
        super::publish("fuzz", &serde_json::to_value(figures).at("fuzz.json")?)?;
    }
    none_of(&failures)
}

fn add(figures: &mut Figures, run: Row) {
    figures.total += run.executions;
    match figures.targets.iter_mut().find(|row| row.name == run.name) {
        Some(row) => {
            row.executions += run.executions;
            row.seconds += run.seconds;
            row.peak_mib = row.peak_mib.max(run.peak_mib);
        }
        None => figures.targets.push(run),
    }
}

/// Builds the targets and returns the folder of their programs.
fn build() -> Result<std::path::PathBuf, String> {
    let version = output_of(Command::new("rustc").arg("--print=host-tuple"), SHORT)?;
    let folder = target().join("fuzz");
    let mut command = Command::new(cargo());
    command
        .args(["build", "--target", &version, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root().join("tests/fuzz"));
    run(&mut command, BUILD, say).at("cargo build in tests/fuzz")?;
    Ok(folder.join(version).join("debug"))
}

fn fuzz(programs: &Path, name: &str, seconds: u64) -> Result<Row, String> {
    let found = target().join("fuzz/corpus").join(name);
    let seeds = root().join("tests/fuzz/corpus").join(name);
    for folder in [&found, &seeds] {
        fs::create_dir_all(folder).at(folder.display())?;
    }
    say(&format!("\n== {name}, {seconds} s"));
    let artifacts = target().join("fuzz").join(format!("{name}-"));
    let mut command = Command::new(executable(programs, name));
    command
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096"])
        .args(["-print_final_stats=1", "-print_funcs=0", "-verbosity=0"])
        .arg(format!("-artifact_prefix={}", artifacts.display()))
        .args([&found, &seeds]);
    let (mut executions, mut peak_mib) = (0, 0);
    let silence = Duration::from_secs(seconds + 120);
    let is_clean = watch(&mut command, silence, |line| {
        let value = |name: &str| line.strip_prefix(name)?.trim().parse().ok();
        executions = value("stat::number_of_executed_units:").unwrap_or(executions);
        peak_mib = value("stat::peak_rss_mb:").unwrap_or(peak_mib);
    })?;
    if !is_clean {
        let prefix = artifacts.display();
        return Err(format!("{name}: the target failed; its input is {prefix}*"));
    }
    Ok(Row {
        name: name.to_owned(),
        executions,
        seconds,
        peak_mib,
        ..Row::default()
    })
}
