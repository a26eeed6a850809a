//! `cargo xtask fuzz`: runs the targets of `tests/fuzz` with libFuzzer, which the crate libfuzzer-sys contains.
//!
//! The instrumentation is that of cargo-fuzz without sanitizers, which need a nightly compiler and find faults of `unsafe`
//! code, of which this workspace has none.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::programs::{BUILD, SHORT, cargo, executable, output_of, program, run, target, watch};
use crate::workspace::{self, At as _, File, Result, none_of, root, say};

/// The folder of the programs. The first line of each says what the program receives.
const TARGETS: &str = "tests/fuzz/src/bin";
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing";
/// Default number of seconds for each target. Shorter runs are not added to the figures.
const SECONDS: u64 = 60;

/// Figures of one target, over all runs.
#[derive(Deserialize, Serialize)]
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

pub(crate) fn run_targets(options: &Options) -> Result {
    let (seconds, only) = (options.seconds, &options.target);
    let programs = build()?;
    let stored = super::stored("fuzz")?.map(serde_json::from_value);
    let mut figures: Figures = stored.transpose().at("fuzz.json")?.unwrap_or_default();
    let mut failures = Vec::new();
    for file in workspace::read(root(), &[TARGETS], |path| path.ends_with(".rs"))? {
        let name = workspace::module(&file.path).pop().unwrap_or_default();
        if !(only.is_empty() || only.contains(&name)) {
            continue;
        }
        match fuzz(&programs, &file, name, seconds) {
            Ok(run) => add(&mut figures, run),
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
fn build() -> Result<PathBuf> {
    let host = output_of(&mut program("rustc", "--print=host-tuple"), SHORT)?;
    let folder = target().join("fuzz");
    let mut command = cargo(&format!("build --target {host} --target-dir"));
    command.arg(&folder).env("RUSTFLAGS", FLAGS);
    command.current_dir(root().join("tests/fuzz"));
    run(&mut command, BUILD, say).at("cargo build in tests/fuzz")?;
    Ok(folder.join(host).join("debug"))
}

fn fuzz(programs: &Path, source: &File, name: String, seconds: u64) -> Result<Row> {
    let found = target().join("fuzz/corpus").join(&name);
    let seeds = root().join("tests/fuzz/corpus").join(&name);
    for folder in [&found, &seeds] {
        fs::create_dir_all(folder).at(folder.display())?;
    }
    say(&format!("\n== {name}, {seconds} s"));
    let artifacts = target().join("fuzz").join(format!("{name}-"));
    let options = "-timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 -print_funcs=0 -verbosity=0";
    let mut command = program(executable(programs, &name), options);
    command
        .arg(format!("-max_total_time={seconds}"))
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
    let first = source.text.lines().next().unwrap_or_default();
    let input = first.trim_start_matches("//! ").trim_end_matches('.');
    Ok(Row {
        name,
        input: input.to_owned(),
        executions,
        seconds,
        peak_mib,
    })
}
