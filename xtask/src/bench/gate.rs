//! `--gate`: instructions per call, counted by callgrind and compared with `tests/budgets/gates.toml`.
//!
//! Counts of the same program differ by less than 0.1 % from run to run, and those of different compilers by little. A
//! count may differ by 2 % from the recorded one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use toml_edit::DocumentMut;

use super::subject::{Programs, Subject};
use super::valgrind::{self, CALLGRIND, Span, Valgrind};
use super::workloads::{Workload, Workloads};
use crate::files;
use crate::programs::{BUILD, run_to_end, target};
use crate::steps::{cargo, say};

/// The recorded counts and the budgets.
const FILE: &str = "tests/budgets/gates.toml";
/// The allowed difference of instructions, in percent.
const TOLERANCE: u64 = 2;
/// The allowed difference of allocations: a buffer may grow once during hundreds of calls.
const GROWTH: f64 = 0.05;

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    bless: bool,
    only: Vec<String>,
    keep: Option<PathBuf>,
}

impl Options {
    /// `None` if an argument is unknown.
    pub(super) fn parse(args: &[String]) -> Option<Self> {
        let mut this = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--bless" => this.bless = true,
                "--only" => this.only.push(args.next()?.clone()),
                "--keep" => this.keep = Some(args.next()?.into()),
                _ => return None,
            }
        }
        Some(this)
    }

    fn gates(&self) -> Result<Vec<Workload>, String> {
        let mut gates = Workloads::load().gates;
        let known: Vec<String> = gates.iter().map(|gate| gate.name.clone()).collect();
        if let Some(unknown) = self.only.iter().find(|name| !known.contains(name)) {
            return Err(format!(
                "unknown gate {unknown}; use one of {}",
                known.join(", ")
            ));
        }
        gates.retain(|gate| self.only.is_empty() || self.only.contains(&gate.name));
        Ok(gates)
    }
}

/// One gate. The head of the file explains the members.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Entry {
    instructions: u64,
    baseline: u64,
    budget: Option<u64>,
    ratio: Option<f64>,
    allocations: Option<f64>,
    allocations_budget: Option<f64>,
}

impl Entry {
    /// The maximum of instructions by both budgets.
    fn max(&self) -> Option<u64> {
        let times_baseline = |ratio| (self.baseline as f64 * ratio) as u64;
        let limits = [self.budget, self.ratio.map(times_baseline)];
        limits.into_iter().flatten().min()
    }
}

/// Counts, compares, and with `--bless` writes the counts.
pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let gates = options.gates()?;
    valgrind::check_installed()?;
    let programs = Programs::for_gates(root)?;
    let folder = match &options.keep {
        Some(folder) => root.join(folder),
        None => target().join("bench/callgrind"),
    };
    let valgrind = Valgrind::new(&programs, folder.clone())?;
    let text = files::load(root, FILE)?.text;
    let mut entries: BTreeMap<String, Entry> = toml::from_str(&text).map_err(in_file)?;
    let mut document: DocumentMut = text.parse().map_err(in_file)?;
    if options.bless && options.only.is_empty() {
        for (name, count) in allocations(root)? {
            entries.entry(name.clone()).or_default().allocations = Some(count);
            document[&name]["allocations"] = toml_edit::value(count);
        }
    }
    let mut problems = Vec::new();
    for gate in gates {
        let count = |subject| -> Result<u64, String> {
            let rounds = gate.rounds.unwrap_or(1);
            let [count, _] =
                valgrind.per_call(&CALLGRIND, subject, &gate, Span::of(&gate), rounds)?;
            Ok(count.round() as u64)
        };
        let (baseline, instructions) = (count(Subject::Baseline)?, count(Subject::Ours)?);
        let before = entries.get(&gate.name).copied().unwrap_or_default();
        let now = Entry {
            instructions,
            baseline,
            ..before
        };
        let ratio = instructions as f64 / baseline.max(1) as f64;
        let budget = now.max().map_or("-".to_owned(), |max| max.to_string());
        say(&format!(
            "{:24} {instructions} instructions per call; before {}, baseline {baseline}, ratio {ratio:.2}, budget {budget}",
            gate.name, before.instructions
        ));
        problems.extend(judge(&gate.name, &now, &before, options.bless));
        for (key, count) in [("instructions", instructions), ("baseline", baseline)] {
            document[&gate.name][key] = toml_edit::value(count as i64);
        }
    }
    if options.keep.is_none() {
        // The next run would overwrite the files.
        let _ = fs::remove_dir_all(folder);
    }
    if options.bless {
        fs::write(root.join(FILE), document.to_string()).map_err(in_file)?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.join("\n"))
}

fn in_file(error: impl std::fmt::Display) -> String {
    format!("{FILE}: {error}")
}

/// The problems of a count.
fn judge(name: &str, now: &Entry, before: &Entry, is_blessed: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let figures = [
        ("", now.instructions, before.instructions),
        (", the baseline", now.baseline, before.baseline),
    ];
    for (what, now, before) in figures {
        if !is_blessed && now.abs_diff(before) * 100 > before * TOLERANCE {
            let way = if now > before { "more" } else { "less" };
            problems.push(format!(
                "{name}{what}: {now} instructions per call, {way} than the {before} in {FILE}; if this is intended, run `cargo xtask bench --gate --bless --only {name}`"
            ));
        }
    }
    let mut exceeds = |count: String, max: String| {
        problems.push(format!(
            "{name}: {count} per call exceed the budget of {max}"
        ));
    };
    if let Some(max) = now.max().filter(|max| now.instructions > *max) {
        exceeds(
            format!("{} instructions", now.instructions),
            max.to_string(),
        );
    }
    if let (Some(count), Some(max)) = (now.allocations, now.allocations_budget)
        && count > max + GROWTH
    {
        exceeds(format!("{count} allocations"), max.to_string());
    }
    problems
}

/// Runs the tests of the budgets and returns the allocations that they count. A failure of the tests is ignored: the
/// counts are about to be written.
fn allocations(root: &Path) -> Result<Vec<(String, f64)>, String> {
    let words = "test -p mcp-tests --test budgets -- --nocapture --test-threads 1";
    let mut command = Command::new(cargo());
    command.args(words.split(' ')).current_dir(root);
    let mut counts = Vec::new();
    let ended = run_to_end(&mut command, BUILD, |line| counts.extend(counted(line)))
        .map_err(|error| format!("cargo {words}: {error}"))?;
    if counts.is_empty() {
        return Err(format!(
            "cargo {words}: the tests printed no counts\n{}",
            ended.text
        ));
    }
    Ok(counts)
}

/// The gate and the allocations in a line of the tests.
fn counted(line: &str) -> Option<(String, f64)> {
    let (_, rest) = line.split_once("allocations of ")?;
    let (name, count) = rest.split_once(": ")?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(instructions: u64, budget: Option<u64>) -> Entry {
        Entry {
            instructions,
            baseline: 5_000,
            budget,
            ..Entry::default()
        }
    }

    #[test]
    fn counts_that_differ_or_exceed_a_budget_are_problems() {
        let judge = |now: u64, budget, is_blessed| {
            let problems = judge(
                "stdio",
                &entry(now, budget),
                &entry(10_000, None),
                is_blessed,
            );
            problems.join("\n")
        };
        for (now, part) in [
            (10_201, "more than the 10000"),
            (10_200, ""),
            (9_800, ""),
            (9_700, "less than the 10000"),
        ] {
            let problems = judge(now, None, false);
            assert_eq!(problems.is_empty(), part.is_empty(), "{now}: {problems}");
            assert!(problems.contains(part), "{now}: {problems}");
        }
        assert_eq!(judge(1, None, true), "");
        assert_eq!(judge(8_500, Some(8_500), true), "");
        assert_eq!(
            judge(9_000, Some(8_500), true),
            "stdio: 9000 instructions per call exceed the budget of 8500"
        );
        let by_ratio = Entry {
            ratio: Some(1.2),
            ..entry(1, Some(8_500))
        };
        assert_eq!(by_ratio.max(), Some(6_000));
    }

    #[test]
    fn every_gate_is_recorded_and_unknown_members_are_rejected() {
        let text = files::load(crate::workspace::root(), FILE).unwrap().text;
        let entries: BTreeMap<String, Entry> = toml::from_str(&text).unwrap();
        for gate in Workloads::load().gates {
            assert!(entries[&gate.name].instructions > 0, "{}", gate.name);
        }
        assert!(toml::from_str::<Entry>("budgte = 1\n").is_err());
    }

    #[test]
    fn counts_are_found_in_the_output_of_tests() {
        assert_eq!(
            counted("test a ... allocations of http-modern: 17.01"),
            Some(("http-modern".to_owned(), 17.01))
        );
        assert_eq!(counted("test result: ok"), None);
    }

    #[test]
    fn arguments_are_read_and_unknown_gates_rejected() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let options = Options::parse(&words("--only http-modern --keep a --bless")).unwrap();
        assert!(options.bless && options.keep.is_some());
        assert_eq!(options.gates().unwrap().len(), 1);
        assert_eq!(Options::parse(&words("--onyl http")), None);
        let unknown = Options::parse(&words("--only telepathy")).unwrap();
        assert!(unknown.gates().unwrap_err().contains("stdio"));
    }
}
