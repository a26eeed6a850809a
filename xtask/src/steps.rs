//! A sequence of commands. Each prints itself and its duration.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::{cargo, watch};
use crate::workspace::{At as _, Result, say};

/// Idle timeout of a command that builds and runs tests. Each test has its own time limit, but the compiler prints nothing
/// while it compiles the largest crate of tests, which takes more than 5 minutes on a busy machine.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Number of tests that passed and failed, summed over the summaries of libtest and nextest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
}

impl Totals {
    /// Adds the counts of one output line if it is a summary.
    fn read(&mut self, line: &str) {
        // libtest: `test result: ok. 12 passed; 0 failed; ...`
        // nextest: `Summary [ 1.5s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 0 skipped`
        let is_nextest = line.trim_start().starts_with("Summary [");
        if !(is_nextest || line.starts_with("test result: ")) {
            return;
        }
        for part in line.split([':', ';', ',', '(', '.']) {
            let Some((count, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let count = count.parse().unwrap_or(0);
            match what.trim_end() {
                "passed" => self.passed += count,
                "failed" | "timed out" | "exec failed" => self.failed += count,
                _ => {}
            }
        }
    }
}

/// The commands that have run, with their outcome.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
    failures: Vec<String>,
    totals: Totals,
    /// The packages whose tests are left out, and the reasons.
    skipped: Vec<String>,
}

impl Steps {
    /// Records a package whose tests are left out, and why.
    pub(crate) fn skip(&mut self, what: &str) {
        self.skipped.push(what.to_owned());
    }

    /// Runs one step, which is named for the command that repeats it.
    fn step(&mut self, name: &str, body: impl FnOnce() -> Result) {
        say(&format!("\n== {name}"));
        let start = Instant::now();
        let outcome = body();
        let took = start.elapsed();
        self.done.push((name.to_owned(), took));
        match outcome {
            Ok(()) => say(&format!("== ok, {:.1} s", took.as_secs_f64())),
            Err(message) => {
                let message = format!("failed: {name}: {message}");
                say(&message);
                self.failures.push(message);
            }
        }
    }

    /// Runs cargo with the arguments in `words`; words before `cargo` are environment variables.
    pub(crate) fn cargo(&mut self, words: &str) {
        self.step(words, || {
            let status = command(words).stdin(Stdio::null()).status().at("cargo")?;
            match status.success() {
                true => Ok(()),
                false => Err(format!("ended with {status}")),
            }
        });
    }

    pub(crate) fn cargo_tests(&mut self, words: &str) {
        self.tests(words, command(words));
    }

    /// Runs a command that runs tests, and adds the counts of its summaries. A command that fails without a failed test,
    /// for example because a test does not compile, counts as one failed test.
    pub(crate) fn tests(&mut self, name: &str, mut command: Command) {
        let mut totals = Totals::default();
        self.step(name, || {
            let success = watch(&mut command, IDLE_TIMEOUT, |line| totals.read(line))?;
            if !success {
                totals.failed = totals.failed.max(1);
            }
            match totals.failed {
                0 => Ok(()),
                failed => Err(format!("{failed} tests failed")),
            }
        });
        self.totals.passed += totals.passed;
        self.totals.failed += totals.failed;
    }

    /// Prints the duration of each command and the failures. If tests ran, the last line is `N passed, N failed`, followed by the skipped packages. The error of
    /// a failed step has no message: the failures are already printed.
    pub(crate) fn finish(&self) -> Result {
        say("");
        for (name, took) in &self.done {
            say(&format!("{:>8.1} s  {name}", took.as_secs_f64()));
        }
        let all: Duration = self.done.iter().map(|(_, took)| *took).sum();
        say(&format!("{:>8.1} s  total\n", all.as_secs_f64()));
        for message in &self.failures {
            say(&format!("{message}\n"));
        }
        let Totals { passed, failed } = self.totals;
        if self.totals != Totals::default() {
            let skipped = self.skipped.iter();
            let skipped: String = skipped.map(|what| format!(", skipped: {what}")).collect();
            say(&format!("{passed} passed, {failed} failed{skipped}"));
        }
        match self.failures[..] {
            [] => Ok(()),
            _ => Err(String::new()),
        }
    }
}

/// Cargo in the root folder, with the arguments and environment variables in `words`.
fn command(words: &str) -> Command {
    let (variables, words) = words.split_once("cargo ").unwrap_or_default();
    let variables = variables.split_whitespace();
    let mut command = cargo(words);
    command.envs(variables.filter_map(|variable| variable.split_once('=')));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_summed_over_summaries_and_nothing_else() {
        let mut totals = Totals::default();
        for line in [
            "test a::b ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
            "     Summary [   0.005s] 8 tests run: 5 passed (2 slow, 1 flaky), 1 failed, 1 timed out, 1 exec failed, 9 skipped",
            "9 passed; 9 failed",
        ] {
            totals.read(line);
        }
        assert_eq!((totals.passed, totals.failed), (19, 6));
    }

    #[cfg(unix)]
    #[test]
    fn a_test_command_that_dies_is_a_failed_test() {
        let mut steps = Steps::default();
        let script = "echo 'test result: ok. 2 passed; 0 failed' >&2; kill -9 $$";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        steps.tests("cargo test", command);
        assert_eq!((steps.totals.passed, steps.totals.failed), (2, 1));
        assert_eq!(steps.failures, ["failed: cargo test: 1 tests failed"]);
        assert_eq!(steps.finish(), Err(String::new()));
    }
}
