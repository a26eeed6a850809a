//! A run of named steps: each prints its name and how long it took; the first failure ends the run with the command
//! that repeats it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Prints one line (or several) to stdout.
pub(crate) fn say(text: &str) {
    // Nobody is left to hear that stdout is closed.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The cargo that started us, else the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Tests that passed and failed, summed over every `test result:` line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
}

impl Totals {
    /// Adds what one line of `cargo test` says, if it is a summary.
    fn read(&mut self, line: &str) {
        let Some((_, summary)) = line.split_once("test result: ") else {
            return;
        };
        let counts = summary.split_once(". ").map_or(summary, |(_, rest)| rest);
        for part in counts.split(';') {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// The run.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    root: &'a Path,
    done: Vec<(String, Duration)>,
    totals: Totals,
}

impl<'a> Steps<'a> {
    /// A run in this folder.
    pub(crate) fn new(root: &'a Path) -> Self {
        Self {
            root,
            done: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// One step inside this process; `repeat` is the command that runs it alone.
    pub(crate) fn step(
        &mut self,
        name: &str,
        repeat: &str,
        body: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        say(&format!("\n== {name}"));
        let start = Instant::now();
        let outcome = body();
        let took = start.elapsed();
        self.done.push((name.to_owned(), took));
        match outcome {
            Ok(()) => {
                say(&format!("== {name}: ok, {:.1} s", took.as_secs_f64()));
                Ok(())
            }
            Err(message) => Err(format!(
                "{message}\n\n{name} failed after {:.1} s; to repeat it: {repeat}",
                took.as_secs_f64()
            )),
        }
    }

    /// One step that is a cargo command, given as its words, with additions to the environment.
    pub(crate) fn cargo(
        &mut self,
        name: &str,
        environment: &[(&str, &str)],
        words: &str,
    ) -> Result<(), String> {
        let root = self.root;
        let mut totals = self.totals;
        let repeat = repeat(environment, words);
        let outcome = self.step(name, &repeat, || {
            run(root, environment, words, |line| totals.read(line))
        });
        self.totals = totals;
        outcome
    }

    /// Tells the outcome, how long each step took and, as the last line, how many tests passed and failed.
    ///
    /// # Errors
    /// With an empty message, as the failure has been told.
    pub(crate) fn finish(&self, outcome: Result<(), String>) -> Result<(), String> {
        say("");
        for (name, took) in &self.done {
            say(&format!("{:>8.1} s  {name}", took.as_secs_f64()));
        }
        let all: Duration = self.done.iter().map(|(_, took)| *took).sum();
        say(&format!("{:>8.1} s  in all\n", all.as_secs_f64()));
        if let Err(message) = &outcome {
            say(&format!("{message}\n"));
        }
        let Totals { passed, failed } = self.totals;
        say(&format!("{passed} passed, {failed} failed"));
        outcome.map_err(|_| String::new())
    }
}

/// The command as a person types it.
fn repeat(environment: &[(&str, &str)], words: &str) -> String {
    let mut line = String::new();
    for (name, value) in environment {
        line += &format!("{name}=\"{value}\" ");
    }
    line + "cargo " + words
}

/// Runs cargo, passes its stdout on line by line, and shows each line to `watch`.
fn run(
    root: &Path,
    environment: &[(&str, &str)],
    words: &str,
    mut watch: impl FnMut(&str),
) -> Result<(), String> {
    let mut command = Command::new(cargo());
    command
        .args(words.split_whitespace())
        .envs(environment.iter().copied())
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let failed = |error: std::io::Error| format!("cargo: {error}");
    let mut child = command.spawn().map_err(failed)?;
    let stdout = child.stdout.take().ok_or("cargo has no stdout")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(failed)?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        watch(line);
        say(line);
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo ended with {status}"))
    }
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
            "9 passed; 9 failed",
        ] {
            totals.read(line);
        }
        assert_eq!(
            totals,
            Totals {
                passed: 14,
                failed: 3
            }
        );
    }

    #[test]
    fn the_first_failure_names_the_command_that_repeats_it() {
        let mut steps = Steps::new(Path::new("."));
        let error = steps
            .step(
                "doc",
                &repeat(&[("RUSTDOCFLAGS", "-D warnings")], "doc --no-deps"),
                || Err("broken link".to_owned()),
            )
            .unwrap_err();
        assert!(error.starts_with("broken link\n"), "{error}");
        assert!(
            error.ends_with("to repeat it: RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps"),
            "{error}"
        );
    }
}
