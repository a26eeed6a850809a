//! `--gate`: instructions per call, counted by callgrind and compared with `tests/budgets/gates.toml`.
//!
//! Counts of the same program differ by less than 0.1 % from run to run, and those of different compilers by little. A
//! count may differ by 2 % from the recorded one.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml_edit::DocumentMut;

use super::subject::{Subject, build_for_gates, path};
use super::valgrind::{self, CALLGRIND, Valgrind, span};
use super::workloads::{Workload, Workloads};
use crate::programs::{BUILD, cargo, program, run_to_end};
use crate::workspace::{self, At as _, Result, none_of, root, say};

/// The recorded counts and the budgets.
pub(super) const FILE: &str = "tests/budgets/gates.toml";
/// The allowed difference of instructions, in percent.
const TOLERANCE: u64 = 2;
/// The allowed difference of allocations: a buffer may grow once during hundreds of calls.
const GROWTH: f64 = 0.05;

/// One gate. The head of the file explains the members.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) instructions: u64,
    pub(super) baseline: u64,
    pub(super) budget: Option<u64>,
    pub(super) ratio: Option<f64>,
    pub(super) extra: Option<u64>,
    pub(super) allocations: Option<f64>,
    pub(super) allocations_budget: Option<f64>,
}

/// The gates of the file by name.
pub(super) type Entries = BTreeMap<String, Entry>;

impl Entry {
    /// The maximum of instructions by both budgets.
    pub(super) fn max(&self) -> Option<u64> {
        let times_baseline = |ratio| (self.baseline as f64 * ratio) as u64;
        let limits = [
            self.budget,
            self.ratio.map(times_baseline),
            self.extra.map(|extra| self.baseline + extra),
        ];
        limits.into_iter().flatten().min()
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Counting {
    /// Writes the counts to that file, without --only also the allocations.
    #[arg(long, requires = "gate")]
    bless: bool,
    /// A gate to count instead of all.
    #[arg(long, value_name = "NAME", requires = "gate")]
    only: Vec<String>,
    /// Keeps the output, for callgrind_annotate, in this folder.
    #[arg(long, value_name = "DIR", requires = "gate")]
    keep: Option<String>,
}

/// Counts, compares, and with `--bless` writes the counts.
pub(super) fn run(options: Counting) -> Result {
    let Counting { bless, only, keep } = options;
    let mut gates = Workloads::load().gates;
    let mut names: Vec<String> = gates.iter().map(|gate| gate.name.clone()).collect();
    names.push(HOST.to_owned());
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        let names = names.join(", ");
        return Err(format!("unknown gate {unknown}; use one of {names}"));
    }
    gates.retain(|gate| only.is_empty() || only.contains(&gate.name));
    valgrind::check_installed()?;
    build_for_gates()?;
    let valgrind = Valgrind::new(keep)?;
    let text = workspace::load(root(), FILE)?.text;
    let mut entries: Entries = toml::from_str(&text).at(FILE)?;
    let mut document: DocumentMut = text.parse().at(FILE)?;
    if bless && only.is_empty() {
        for (name, count) in allocations()? {
            entries.entry(name.clone()).or_default().allocations = Some(count);
            document[&name]["allocations"] = toml_edit::value(count);
        }
    }
    let mut all = Vec::new();
    for gate in gates {
        let counts = gate_calls(&valgrind, &gate)?;
        all.push((gate.name, counts));
    }
    if only.is_empty() || only.iter().any(|name| name == HOST) {
        all.push((HOST.to_owned(), host_calls(&valgrind)?));
    }
    let mut problems = Vec::new();
    for (name, [baseline, instructions]) in &all {
        let (baseline, instructions) = (*baseline, *instructions);
        let before = entries.get(name).copied().unwrap_or_default();
        let now = Entry {
            instructions,
            baseline,
            ..before
        };
        let ratio = instructions as f64 / baseline.max(1) as f64;
        let budget = now.max().map_or("-".to_owned(), |max| max.to_string());
        say(&format!(
            "{name:24} {instructions} instructions per call; before {}, baseline {baseline}, ratio {ratio:.2}, budget {budget}",
            before.instructions
        ));
        if !bless {
            problems.extend(changes(name, &now, &before));
        }
        problems.extend(excesses(name, &now));
        for (key, count) in [("instructions", instructions), ("baseline", baseline)] {
            document[name][key] = toml_edit::value(count as i64);
        }
    }
    if bless {
        workspace::write(&root().join(FILE), &document.to_string())?;
    }
    none_of(&problems)
}

/// The instructions of a call of the baseline and of our server.
fn gate_calls(valgrind: &Valgrind, gate: &Workload) -> Result<[u64; 2]> {
    let count = |subject| -> Result<u64> {
        let counts = valgrind.per_call(&CALLGRIND, subject, gate, span(gate))?;
        Ok(counts[0].round() as u64)
    };
    Ok([count(Subject::Baseline)?, count(Subject::Ours)?])
}

/// The gate of a tool call of a host, whose baseline is the call of a client.
const HOST: &str = "host-call";
/// Number of tools of all servers of the host, and of the client's server.
const HOST_TOOLS: u32 = 2_000;

/// Counts the instructions of a tool call, first for a client and then for a host.
fn host_calls(valgrind: &Valgrind) -> Result<[u64; 2]> {
    let count = |mode: &str| {
        let counts = valgrind.difference(
            &CALLGRIND,
            &format!("{HOST}.{mode}"),
            1,
            [200, 2_000],
            |calls, wrapper| {
                let mut command = program(wrapper[0], "");
                command.args(&wrapper[1..]).arg(path("bench-host"));
                command.args([
                    mode,
                    "--tools",
                    &HOST_TOOLS.to_string(),
                    "--calls",
                    &calls.to_string(),
                ]);
                Ok(command)
            },
        );
        counts.map(|counts| counts[0].round() as u64)
    };
    Ok([count("client")?, count("host")?])
}

/// The counts that differ from the recorded ones.
pub(super) fn changes(name: &str, now: &Entry, before: &Entry) -> Vec<String> {
    let mut problems = Vec::new();
    for (what, now, before) in [
        ("", now.instructions, before.instructions),
        (", the baseline", now.baseline, before.baseline),
    ] {
        if now.abs_diff(before) * 100 > before * TOLERANCE {
            let way = if now > before { "more" } else { "less" };
            problems.push(format!(
                "{name}{what}: {now} instructions per call, {way} than the {before} in {FILE}; if this is intended, run `cargo xtask bench --gate --bless --only {name}`"
            ));
        }
    }
    problems
}

/// The counts that exceed a budget.
pub(super) fn excesses(name: &str, now: &Entry) -> Vec<String> {
    let instructions = now.max().map(|max| (now.instructions as f64, max as f64));
    let allocations = now.allocations.zip(now.allocations_budget);
    let mut problems = Vec::new();
    for (unit, figure, growth) in [
        ("instructions", instructions, 0.0),
        ("allocations", allocations, GROWTH),
    ] {
        if let Some((count, max)) = figure.filter(|(count, max)| *count > max + growth) {
            problems.push(format!(
                "{name}: {count} {unit} per call exceed the budget of {max}"
            ));
        }
    }
    problems
}

/// Runs the tests of the budgets and returns the allocations that they count. A failure of the tests is ignored: the
/// counts are about to be written.
fn allocations() -> Result<Vec<(String, f64)>> {
    let words = "test -p mcp-tests --test budgets -- --nocapture --test-threads 1";
    let mut counts = Vec::new();
    let mut count = |line: &str| counts.extend(counted(line));
    let ended = run_to_end(&mut cargo(words), BUILD, &mut count).at(format!("cargo {words}"))?;
    match counts.is_empty() {
        true => ended
            .and(Err(String::new()))
            .at("the tests printed no counts"),
        false => Ok(counts),
    }
}

/// The gate and the allocations in a line of the tests.
pub(super) fn counted(line: &str) -> Option<(String, f64)> {
    let (_, rest) = line.split_once("allocations of ")?;
    let (name, count) = rest.split_once(": ")?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}
