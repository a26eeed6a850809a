//! `cargo xtask mutants`: draws mutations of the modules in `tests/mutants.toml`, compiles all of them into one build behind
//! switches, and runs the tests of each module once for each of its mutations.
//!
//! cargo-mutants lists the mutations. A build for each of them would take longer than their tests.

mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::programs::{
    BUILD, SHORT, cargo, executable, program, run, run_to_end, run_until, target,
};
use crate::workspace::{At as _, Result, none_of, root, say};

/// The version of cargo-mutants.
const VERSION: &str = "27.1.0";
/// The file that lists the modules, and the reasons of mutations that no test notices.
const LIST: &str = "tests/mutants.toml";
/// Maximum number of builds; each removes the mutations that do not compile.
const MAX_BUILDS: usize = 24;
/// The time limit of tests with a mutation is a minute plus this multiple of their time without a mutation.
const SLOWER: u32 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seed of the choice of mutations. Default: a random seed, which is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Number of mutations to draw.
    #[arg(long, default_value_t = 150)]
    count: usize,
    /// Draws only from files whose path contains this text.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    module: Vec<Module>,
    #[serde(default)]
    survivor: Vec<Survivor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    /// Files, or folders with a slash at the end.
    files: Vec<String>,
    /// Filters of the tests in `tests/suites`, besides all tests of the crate.
    suites: Vec<String>,
}

/// A mutation that no test notices, and the reason why no test is needed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    mutant: String,
    reason: String,
}

/// A mutation, as cargo-mutants lists it.
#[derive(Clone, Debug, Deserialize)]
struct Mutant {
    name: String,
    file: String,
    genre: String,
    replacement: String,
    span: Range,
}

#[derive(Clone, Debug, Deserialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

impl Mutant {
    /// Returns the name without line and column, which change often.
    fn key(&self) -> String {
        let Position { line, column } = self.span.start;
        self.name.replacen(&format!(":{line}:{column}"), "", 1)
    }

    fn package(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }
}

impl List {
    fn module(&self, file: &str) -> Option<&Module> {
        let holds =
            |entry: &String| entry == file || (entry.ends_with('/') && file.starts_with(entry));
        self.module
            .iter()
            .find(|module| module.files.iter().any(holds))
    }
}

pub(crate) fn run_sample(options: &Options) -> Result {
    let list = fs::read_to_string(root().join(LIST)).at(LIST)?;
    let list: List = toml::from_str(&list).at(LIST)?;
    let files = list.module.iter().flat_map(|module| &module.files);
    let missing: Vec<_> = files
        .filter(|file| !root().join(file).exists())
        .map(|file| format!("{LIST}: there is no {file}"))
        .collect();
    none_of(&missing)?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seed = options.seed.unwrap_or(now.as_secs());
    say(&format!("seed {seed}"));
    let mut drawn = all(&list, &options.only)?;
    drawn.sort_by_key(|mutant| Sha256::digest(format!("{seed} {}", mutant.name)));
    let tree = copy_sources()?;
    let mut on = switch(&tree, &drawn, options.count)?;
    let programs = build(&tree, &drawn, &mut on)?;
    test(&list, &drawn, &on, &programs)
}

/// Lists the mutations of all modules.
fn all(list: &List, only: &str) -> Result<Vec<Mutant>> {
    let tools = target().join("tools");
    let tool = executable(&tools.join("bin"), "cargo-mutants");
    if !tool.is_file() {
        let mut install = cargo(&format!(
            "install --locked cargo-mutants --version {VERSION} --root"
        ));
        run(install.arg(&tools), BUILD, say).at("cargo install cargo-mutants")?;
    }
    let mut text = String::new();
    let mut command = program(&tool, "mutants --list --json --workspace");
    run(&mut command, SHORT, |line| text += line)?;
    let mut mutants: Vec<Mutant> = serde_json::from_str(&text).at("cargo mutants --list --json")?;
    // Implementations of `Debug` enforce nothing.
    mutants.retain(|mutant| !mutant.name.contains("Debug for") && mutant.file.contains(only));
    mutants.retain(|mutant| list.module(&mutant.file).is_some());
    let keys: BTreeSet<_> = mutants.iter().map(Mutant::key).collect();
    let unknown = list
        .survivor
        .iter()
        .filter(|survivor| !keys.contains(&survivor.mutant) && only.is_empty());
    let unknown: Vec<_> = unknown
        .map(|survivor| format!("{LIST}: there is no {:?}", survivor.mutant))
        .collect();
    none_of(&unknown)?;
    Ok(mutants)
}

/// Copies the files of the repository, so that the mutations do not change the sources of the user.
fn copy_sources() -> Result<PathBuf> {
    let tree = target().join("mutants");
    let mut files = Vec::new();
    run(&mut program("git", "ls-files"), SHORT, |file| {
        files.push(file.to_owned())
    })?;
    for file in &files {
        // A file that was deleted and not committed yet is still listed.
        if let Ok(content) = fs::read(root().join(file)) {
            write(&tree.join(file), &content)?;
        }
    }
    Ok(tree)
}

/// Writes a file only if its content differs, so that cargo builds only changed files.
fn write(path: &Path, content: &[u8]) -> Result {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .at(path.display())
}

/// Puts the first `count` supported mutations behind switches; returns their numbers.
fn switch(tree: &Path, drawn: &[Mutant], count: usize) -> Result<BTreeSet<usize>> {
    let mut on = BTreeSet::new();
    let mut left = 0..drawn.len();
    while on.len() < count && !left.is_empty() {
        let missing = count - on.len();
        on.extend(left.by_ref().take(missing));
        on = write_switches(tree, drawn, &on)?;
    }
    Ok(on)
}

fn write_switches(tree: &Path, drawn: &[Mutant], on: &BTreeSet<usize>) -> Result<BTreeSet<usize>> {
    let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for number in on {
        let mutant = &drawn[*number];
        files
            .entry(&mutant.file)
            .or_default()
            .push((*number, mutant));
    }
    let mut switched = BTreeSet::new();
    for (file, mutants) in files {
        let source = fs::read_to_string(root().join(file)).at(file)?;
        let (text, numbers) = switch::switched(&source, &mutants).at(file)?;
        write(&tree.join(file), text.as_bytes())?;
        switched.extend(numbers);
    }
    Ok(switched)
}

/// A test program, and the folder of its package.
struct Program {
    path: PathBuf,
    folder: PathBuf,
    is_suites: bool,
}

/// Builds the tests. Removes mutations that do not compile.
fn build(tree: &Path, drawn: &[Mutant], on: &mut BTreeSet<usize>) -> Result<Vec<Program>> {
    let packages: BTreeSet<_> = on.iter().map(|number| drawn[*number].package()).collect();
    let packages: String = packages
        .iter()
        .map(|package| format!(" -p {package}"))
        .collect();
    let words = "test --no-run --tests --all-features --message-format json -p mcp-tests";
    for _ in 0..MAX_BUILDS {
        let mut command = cargo(&format!("{words}{packages} --target-dir"));
        command.arg(target()).current_dir(tree);
        let mut messages: Vec<Value> = Vec::new();
        let outcome = run_to_end(&mut command, 3 * BUILD, |line| {
            messages.extend(serde_json::from_str::<Value>(line));
        })?;
        let Err(problem) = outcome else {
            let mut programs: Vec<_> = messages.iter().filter_map(program_of).collect();
            // The tests of a crate take less time.
            programs.sort_by_key(|program| program.is_suites);
            return Ok(programs);
        };
        let errors = messages
            .iter()
            .filter(|message| message["message"]["level"] == "error");
        let spans =
            errors.flat_map(|message| message["message"]["spans"].as_array().into_iter().flatten());
        let broken: BTreeSet<usize> = spans.flat_map(|span| at(span, drawn, on)).collect();
        if broken.is_empty() {
            return Err(problem);
        }
        say(&format!("{} mutations do not compile", broken.len()));
        on.retain(|number| !broken.contains(number));
        for number in &broken {
            let file = &drawn[*number].file;
            write(&tree.join(file), &fs::read(root().join(file)).at(file)?)?;
        }
        *on = write_switches(tree, drawn, on)?;
    }
    Err(format!(
        "after {MAX_BUILDS} builds, some mutations still do not compile"
    ))
}

/// Returns the mutations at the position of a compiler error.
fn at(span: &Value, drawn: &[Mutant], on: &BTreeSet<usize>) -> Vec<usize> {
    let line = |name: &str| span[name].as_u64().unwrap_or_default() as usize;
    let lines = line("line_start")..=line("line_end");
    let is_there = |mutant: &Mutant| {
        let file = span["file_name"].as_str().unwrap_or_default();
        let (start, end) = (mutant.span.start.line, mutant.span.end.line);
        file == mutant.file && start <= *lines.end() + 1 && *lines.start() <= end + 1
    };
    on.iter()
        .copied()
        .filter(|number| is_there(&drawn[*number]))
        .collect()
}

fn program_of(message: &Value) -> Option<Program> {
    let path = message["executable"]
        .as_str()
        .filter(|_| message["profile"]["test"] == true)?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Program {
        path: path.into(),
        folder: manifest.parent()?.to_owned(),
        is_suites: message["target"]["name"] == "suites",
    })
}

/// Runs the tests of a module with the mutation `number`, until one fails. Returns the failed test; `None` if no test noticed the mutation.
fn tests(
    module: &Module,
    package: &str,
    number: Option<usize>,
    limit: Duration,
    programs: &[Program],
) -> Result<Option<String>> {
    for program in programs {
        let is_own = program.folder.ends_with(Path::new("crates").join(package));
        let runs_suites = program.is_suites && !module.suites.is_empty();
        if !(is_own || runs_suites) {
            continue;
        }
        let mut command = Command::new(&program.path);
        command
            .current_dir(&program.folder)
            .env_remove(switch::VARIABLE);
        if let Some(number) = number {
            command.env(switch::VARIABLE, number.to_string());
        }
        if !is_own {
            command.args(&module.suites);
        }
        let outcome = run_until(&mut command, limit, |line| {
            let name = line.strip_suffix(" ... FAILED")?;
            Some(name.trim_start_matches("test ").to_owned())
        });
        match outcome {
            Ok(Ok(None)) => {}
            Ok(Ok(failed)) => return Ok(failed),
            Ok(Err(_)) => return Ok(Some("the program ended".to_owned())),
            Err(_) => return Ok(Some("only the time limit".to_owned())),
        }
    }
    Ok(None)
}

fn test(list: &List, drawn: &[Mutant], on: &BTreeSet<usize>, programs: &[Program]) -> Result {
    let mut limits: BTreeMap<(&str, &str), Duration> = BTreeMap::new();
    let (mut killed, mut argued, mut problems) = (0, 0, Vec::new());
    let start = Instant::now();
    for number in on {
        let mutant = &drawn[*number];
        let Some(module) = list.module(&mutant.file) else {
            continue;
        };
        let package = mutant.package();
        let key = (package, module.files.first().map_or("", String::as_str));
        let limit = match limits.get(&key) {
            Some(limit) => *limit,
            None => {
                let begin = Instant::now();
                if let Some(test) = tests(module, package, None, BUILD, programs)? {
                    return Err(format!("without a mutation: {test} fails"));
                }
                let limit = begin.elapsed() * SLOWER + Duration::from_secs(60);
                limits.insert(key, limit);
                limit
            }
        };
        let reason = list
            .survivor
            .iter()
            .find(|survivor| survivor.mutant == mutant.key());
        match (
            tests(module, package, Some(*number), limit, programs)?,
            reason,
        ) {
            (Some(test), _) => {
                killed += 1;
                say(&format!("killed    {}: {test}", mutant.name));
            }
            (None, Some(Survivor { reason, .. })) => {
                argued += 1;
                say(&format!("argued    {}: {reason}", mutant.name));
            }
            (None, None) => {
                say(&format!("SURVIVED  {}", mutant.name));
                problems.push(format!(
                    "no test notices {:?}: write a test, or give a reason in {LIST}",
                    mutant.key()
                ));
            }
        }
    }
    let seconds = start.elapsed().as_secs();
    say(&format!(
        "{killed} of {} killed, {argued} argued, in {seconds} s",
        on.len()
    ));
    none_of(&problems)
}
