//! A sequence of named steps. Each step prints its name and its duration; a failed step prints the command that repeats
//! it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Prints text to stdout.
pub(crate) fn say(text: &str) {
    // If stdout is closed, nothing can be reported.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The cargo that started xtask, else the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

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
        let counts = if let Some((_, summary)) = line.split_once("test result: ") {
            summary.split_once(". ").map_or(summary, |(_, rest)| rest)
        } else if let Some((_, summary)) = line.split_once(" run: ")
            && line.trim_start().starts_with("Summary [")
        {
            summary
        } else {
            return;
        };
        for part in counts.split([';', ',', '(']) {
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

/// The steps that have run, with their outcome.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    root: &'a Path,
    done: Vec<(String, Duration)>,
    failures: Vec<String>,
    totals: Totals,
}

impl<'a> Steps<'a> {
    /// An empty sequence; commands run in the folder `root`.
    pub(crate) fn new(root: &'a Path) -> Self {
        Self {
            root,
            done: Vec::new(),
            failures: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Runs one step. `repeat` is the command that runs this step alone.
    pub(crate) fn step(
        &mut self,
        name: &str,
        repeat: &str,
        body: impl FnOnce() -> Result<(), String>,
    ) {
        say(&format!("\n== {name}"));
        let start = Instant::now();
        let outcome = body();
        let took = start.elapsed();
        self.done.push((name.to_owned(), took));
        match outcome {
            Ok(()) => say(&format!("== {name}: ok, {:.1} s", took.as_secs_f64())),
            Err(message) => {
                let message = format!("{name} failed: {message}\nto repeat it: {repeat}");
                say(&message);
                self.failures.push(message);
            }
        }
    }

    /// Runs cargo with the arguments in `words` and additional environment variables.
    pub(crate) fn cargo(&mut self, name: &str, environment: &[(&str, &str)], words: &str) {
        let mut command = Command::new(cargo());
        command
            .args(words.split_whitespace())
            .envs(environment.iter().copied())
            .current_dir(self.root)
            .stdin(Stdio::null());
        let variables: String = environment
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\" "))
            .collect();
        self.step(name, &format!("{variables}cargo {words}"), || {
            let status = command
                .status()
                .map_err(|error| format!("cargo does not start: {error}"))?;
            if status.success() {
                Ok(())
            } else {
                Err(format!("cargo ended with {status}"))
            }
        });
    }

    /// Runs a command that runs tests, and adds the counts of its summaries. A command that fails without a failed test,
    /// for example because a test does not compile, counts as one failed test.
    pub(crate) fn tests(&mut self, name: &str, repeat: &str, command: &mut Command) {
        command.current_dir(self.root).stdin(Stdio::null());
        let mut totals = Totals::default();
        self.step(name, repeat, || {
            let success = run(command, |line| totals.read(line))
                .map_err(|error| format!("{repeat}: {error}"))?;
            match (success, totals.failed) {
                (true, 0) => Ok(()),
                (_, failed) => Err(format!("{failed} tests failed")),
            }
        });
        if totals.failed == 0
            && self
                .failures
                .last()
                .is_some_and(|text| text.starts_with(name))
        {
            totals.failed = 1;
        }
        self.totals.passed += totals.passed;
        self.totals.failed += totals.failed;
    }

    /// Prints the duration of each step and the failures.
    ///
    /// # Errors
    /// A step failed. The message is empty because the failures are already printed.
    pub(crate) fn finish(&self) -> Result<(), String> {
        say("");
        for (name, took) in &self.done {
            say(&format!("{:>8.1} s  {name}", took.as_secs_f64()));
        }
        let all: Duration = self.done.iter().map(|(_, took)| *took).sum();
        say(&format!("{:>8.1} s  total\n", all.as_secs_f64()));
        for message in &self.failures {
            say(&format!("{message}\n"));
        }
        if self.failures.is_empty() {
            Ok(())
        } else {
            Err(String::new())
        }
    }

    /// [`finish`](Self::finish) for tests: the last line is `N passed, N failed`.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish).
    pub(crate) fn finish_tests(&self) -> Result<(), String> {
        let outcome = self.finish();
        let Totals { passed, failed } = self.totals;
        say(&format!("{passed} passed, {failed} failed"));
        outcome
    }
}

/// Runs a command, prints its output line by line (stdout and stderr in order), and passes each line to `watch`.
/// Returns whether the command succeeded.
fn run(command: &mut Command, watch: impl FnMut(&str)) -> std::io::Result<bool> {
    let (output, input) = std::io::pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn()?;
    // The command holds the writing end of the pipe, which has to be closed for the end to be seen.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    each_line(output, watch)?;
    Ok(child.wait()?.success())
}

/// Prints each line and passes it to `watch`.
pub(crate) fn each_line(output: impl Read, mut watch: impl FnMut(&str)) -> std::io::Result<()> {
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        watch(line);
        say(line);
    }
    Ok(())
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
        assert_eq!(
            totals,
            Totals {
                passed: 19,
                failed: 6
            }
        );
    }

    #[test]
    fn a_failure_names_the_command_that_repeats_it() {
        let mut steps = Steps::new(Path::new("."));
        steps.step("docs", "cargo doc --no-deps", || {
            Err("broken link".to_owned())
        });
        assert_eq!(
            steps.failures,
            ["docs failed: broken link\nto repeat it: cargo doc --no-deps"]
        );
        assert_eq!(steps.finish(), Err(String::new()));
    }

    #[cfg(unix)]
    #[test]
    fn a_test_command_that_dies_counts_as_a_failed_test() {
        let mut steps = Steps::new(Path::new("."));
        let mut sh = Command::new("sh");
        sh.args([
            "-c",
            "echo 'test result: ok. 2 passed; 0 failed' >&2; kill -9 $$",
        ]);
        steps.tests("dies", "sh", &mut sh);
        assert_eq!(
            steps.totals,
            Totals {
                passed: 2,
                failed: 1
            }
        );
    }
}
