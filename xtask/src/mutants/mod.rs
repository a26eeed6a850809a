//! `cargo xtask mutants`: draws mutations of the files in `tests/mutants.toml`, compiles all of them into one build behind
//! switches, and runs for each of them the tests that reach it.
//!
//! cargo-mutants lists the mutations. A build for each of them would take longer than their tests.

mod sample;
mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::sample::Program;
use crate::programs::{BUILD, SHORT, cargo, executable, program, run, run_to_end, target};
use crate::workspace::{At as _, Result, none_of, root, say};

/// The version of cargo-mutants.
const VERSION: &str = "27.1.0";
/// The file that lists the files, and the reasons of mutations that no test notices.
const LIST: &str = "tests/mutants.toml";
/// Maximum number of builds; each removes the mutations that do not compile.
const MAX_BUILDS: usize = 24;

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
    /// Files, or folders with a slash at the end.
    files: Vec<String>,
    /// Files of these folders that are left out.
    without: Vec<String>,
    #[serde(default)]
    survivor: Vec<Survivor>,
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
    fn contains(&self, file: &str) -> bool {
        let is_listed =
            |entry: &String| entry == file || (entry.ends_with('/') && file.starts_with(&**entry));
        self.files.iter().any(is_listed) && !self.without.iter().any(|entry| entry == file)
    }

    fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let key = mutant.key();
        let survivor = self.survivor.iter().find(|it| it.mutant == key)?;
        Some(&survivor.reason)
    }
}

pub(crate) fn run_sample(options: &Options) -> Result {
    let list = fs::read_to_string(root().join(LIST)).at(LIST)?;
    let list: List = toml::from_str(&list).at(LIST)?;
    let missing: Vec<_> = list
        .files
        .iter()
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

/// Lists the mutations of all files.
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
    mutants.retain(|mutant| list.contains(&mutant.file));
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
    // Of an earlier run, which had files that were moved since.
    let _ = fs::remove_dir_all(&tree);
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

/// Builds the tests. Removes mutations that do not compile.
fn build(tree: &Path, drawn: &[Mutant], on: &mut BTreeSet<usize>) -> Result<Vec<Program>> {
    let packages: BTreeSet<_> = on.iter().map(|number| drawn[*number].package()).collect();
    let packages: String = packages
        .iter()
        .map(|package| format!(" -p {package}"))
        .collect();
    let features = format!("--all-features -p mcp-tests -p mcp-cli{packages} --target-dir");
    let words = "test --no-run --tests --message-format json";
    for _ in 0..MAX_BUILDS {
        let mut command = cargo(&format!("{words} {features}"));
        command.arg(target()).current_dir(tree);
        let mut messages: Vec<Value> = Vec::new();
        let outcome = run_to_end(&mut command, 3 * BUILD, |line| {
            messages.extend(serde_json::from_str::<Value>(line));
        })?;
        let Err(problem) = outcome else {
            // Tests start them.
            let mut examples = cargo(&format!("build --examples {features}"));
            run(examples.arg(target()).current_dir(tree), BUILD, say)
                .at("cargo build --examples")?;
            return Ok(messages.iter().filter_map(program_of).collect());
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
    // The body of a function can begin lines after its switch.
    let switched: String = (span["text"].as_array().into_iter().flatten())
        .filter_map(|line| line["text"].as_str())
        .collect();
    let is_switched = |number: usize| switched.contains(&format!("xtask_mutant({number})"));
    on.iter()
        .copied()
        .filter(|number| is_there(&drawn[*number]) || is_switched(*number))
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
    })
}

fn test(list: &List, drawn: &[Mutant], on: &BTreeSet<usize>, programs: &[Program]) -> Result {
    let start = Instant::now();
    let tests = sample::tests(programs)?;
    let report = |number: usize, found: Option<&str>| {
        let mutant = &drawn[number];
        say(&match (found, list.reason(mutant)) {
            (Some(test), _) => format!("killed    {}: {test}", mutant.name),
            (None, Some(reason)) => format!("argued    {}: {reason}", mutant.name),
            (None, None) => format!("SURVIVED  {}", mutant.name),
        });
    };
    let found = sample::run(on, &tests, report)?;
    let survivors = on.iter().zip(&found).filter(|(_, found)| found.is_none());
    let survivors: Vec<_> = survivors.map(|(number, _)| &drawn[*number]).collect();
    let new = survivors
        .iter()
        .filter(|mutant| list.reason(mutant).is_none());
    let problems: Vec<_> = new
        .map(|mutant| {
            let key = mutant.key();
            format!("no test notices {key:?}: write a test, or give a reason in {LIST}")
        })
        .collect();
    let (all, seconds) = (on.len(), start.elapsed().as_secs());
    let (killed, argued) = (all - survivors.len(), survivors.len() - problems.len());
    say(&format!(
        "{killed} of {all} killed, {argued} argued, in {seconds} s"
    ));
    none_of(&problems)
}
