//! `cargo xtask tidy`: the rules of the house that the compiler does not check.
//!
//! Each violation is one line, `path:line: what, and what to do`.

mod budget;
mod code;
mod graph;
mod manifest;
mod shape;
mod source;

use std::fmt;
use std::path::Path;

use crate::files::{self, File};
use crate::steps::say;
use crate::{flags, root};

pub(crate) use budget::counts as crates;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [] = flags("tidy", [], args)?;
    let root = root();
    let mut violations = sources(root)?;
    let members = graph::Members::load(root)?;
    violations.extend(members.check());
    violations.extend(manifest::check(&members.manifests(root)?));
    violations.extend(shape::root_folder(root)?);
    violations.extend(budget::check(root)?);
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(lines.join("\n"))
}

fn sources(root: &Path) -> Result<Vec<Violation>, String> {
    let files = files::read(root, &["crates", "tests", "xtask"], |path| {
        // Snapshots of what the compiler says about wrong code are not modules.
        path.ends_with(".rs") && !path.contains("/ui/")
    })?;
    let methods = source::methods(root)?;
    let mut violations = Vec::new();
    for file in &files {
        shape::check(file, &mut violations);
        source::check(file, &methods, &mut violations);
    }
    for note in long(&files) {
        say(&format!("note: {note}"));
    }
    Ok(violations)
}

/// Files past the length at which one asks whether they hold two ideas.
fn long(files: &[File]) -> Vec<String> {
    let lines = files
        .iter()
        .filter(|file| !shape::is_generated(file))
        .map(|file| (file.text.lines().count(), &file.path));
    let mut long: Vec<_> = lines.filter(|(lines, _)| *lines > shape::ASK).collect();
    long.sort_unstable_by(|a, b| b.cmp(a));
    long.into_iter()
        .map(|(lines, path)| format!("{path} has {lines} lines, is it one idea?"))
        .collect()
}
