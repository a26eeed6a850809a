//! Runs each test once without a mutation, to learn which mutations it reaches, and then for each mutation the tests that
//! reach it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::switch;
use crate::programs::{SHORT, lines_of, run_to_end, target};
use crate::workspace::{At as _, Result, say};

/// The time limit of a test without a mutation.
const UNCHANGED: Duration = Duration::from_secs(180);
/// After a test that exceeds its time limit, so many others are run, to find one that fails.
const AFTER_TIMEOUT: usize = 10;
/// The time limit of a test with a mutation is this constant plus a multiple of its time without a mutation.
const LEAST: Duration = Duration::from_secs(30);
const SLOWER: u32 = 6;

/// A test program, and the folder of its package.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
}

/// A test that succeeds without a mutation.
#[derive(Debug)]
pub(super) struct Test<'a> {
    program: &'a Program,
    name: String,
    time: Duration,
}

impl Test<'_> {
    fn command(program: &Program, name: &str) -> Command {
        let mut command = Command::new(&program.path);
        command
            .args(["--exact", name])
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .env_remove(switch::VARIABLE)
            .env_remove(switch::REACHED);
        command
    }

    /// Runs the test with a mutation.
    fn run(&self, number: usize) -> Result<Outcome> {
        let mut command = Self::command(self.program, &self.name);
        command.env(switch::VARIABLE, number.to_string());
        match run_to_end(&mut command, LEAST + self.time * SLOWER, |_| {}) {
            Ok(Ok(())) => Ok(Outcome::Passed),
            Ok(Err(_)) => Ok(Outcome::Failed),
            Err(_) => Ok(Outcome::TimedOut),
        }
    }
}

enum Outcome {
    Passed,
    Failed,
    TimedOut,
}

/// Runs all tests without a mutation. Returns the tests that reach each mutation, the fast ones first.
pub(super) fn tests(programs: &[Program]) -> Result<BTreeMap<usize, Vec<Test<'_>>>> {
    let mut names = Vec::new();
    for program in programs {
        let mut list = Command::new(&program.path);
        list.args(["--list", "--format", "terse"]);
        for line in lines_of(&mut list, SHORT)? {
            names.extend(
                line.strip_suffix(": test")
                    .map(|name| (program, name.to_owned())),
            );
        }
    }
    say(&format!("{} tests without a mutation", names.len()));
    let folder = target().join("mutants-reached");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).at(folder.display())?;
    let results = in_parallel(names.len(), |index| {
        let (program, name) = &names[index];
        let log = folder.join(index.to_string());
        let mut command = Test::command(program, name);
        let start = Instant::now();
        let outcome = run_to_end(command.env(switch::REACHED, &log), UNCHANGED, |_| {});
        let reached: BTreeSet<usize> = fs::read_to_string(&log)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect();
        let time = start.elapsed();
        Ok(matches!(outcome, Ok(Ok(()))).then_some((reached, time)))
    })?;
    let mut tests: BTreeMap<usize, Vec<Test<'_>>> = BTreeMap::new();
    for ((program, name), result) in names.into_iter().zip(results) {
        let Some((reached, time)) = result else {
            say(&format!(
                "left out, because it fails or takes too long without a mutation: {name}"
            ));
            continue;
        };
        for number in reached {
            let name = name.clone();
            tests.entry(number).or_default().push(Test {
                program,
                name,
                time,
            });
        }
    }
    for tests in tests.values_mut() {
        tests.sort_by_key(|test| test.time);
    }
    Ok(tests)
}

/// Returns what noticed each mutation: a test, or `None`.
pub(super) fn run(
    numbers: &BTreeSet<usize>,
    tests: &BTreeMap<usize, Vec<Test<'_>>>,
    report: impl Fn(usize, Option<&str>) + Sync,
) -> Result<Vec<Option<String>>> {
    let numbers: Vec<usize> = numbers.iter().copied().collect();
    in_parallel(numbers.len(), |index| {
        let number = numbers[index];
        let (mut found, mut left) = (None, usize::MAX);
        for test in tests.get(&number).into_iter().flatten() {
            match test.run(number)? {
                Outcome::Passed => {}
                Outcome::Failed => {
                    found = Some(test.name.clone());
                    break;
                }
                Outcome::TimedOut if found.is_none() => {
                    found = Some(format!("only the time limit of {}", test.name));
                    left = AFTER_TIMEOUT;
                }
                Outcome::TimedOut => {}
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        report(number, found.as_deref());
        Ok(found)
    })
}

/// Calls `job` with each number below `count`, with one thread for each processor.
fn in_parallel<T: Send>(count: usize, job: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::from_fn(|| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            (number < count).then_some(number)
        });
        numbers
            .map(|number| Ok((number, job(number)?)))
            .collect::<Result<Vec<_>>>()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut results = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut results = Vec::new();
        for thread in running {
            let result = thread
                .join()
                .map_err(|_| "a thread panicked".to_owned())??;
            results.extend(result);
        }
        Ok::<_, String>(results)
    })?;
    results.sort_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
