//! The root folder and the files of the workspace, the terminal, and errors with their place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use walkdir::{DirEntry, WalkDir};

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// A result whose error is a text for the user.
pub(crate) type Result<T = (), E = String> = std::result::Result<T, E>;

pub(crate) fn say(text: &str) {
    // If stdout is closed, nothing can be reported.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Adds to an error where it occurred.
pub(crate) trait At<T> {
    /// Puts the place, for example a file or a command, in front of the error.
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Display> At<T> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|error| format!("{place}: {error}"))
    }
}

/// Returns an error with all problems, one a line, if there are any.
pub(crate) fn none_of(problems: &[String]) -> Result {
    match problems {
        [] => Ok(()),
        _ => Err(problems.join("\n")),
    }
}

/// Returns an error with the problem that the names have, and the names, if there are any.
pub(crate) fn none_in(names: &BTreeSet<String>, problem: &str) -> Result {
    let lines = names.iter().map(|name| format!("\n  {name}"));
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("{problem}{}", lines.collect::<String>())),
    }
}

#[derive(Clone, Debug)]
pub(crate) struct File {
    /// From the root, with slashes on every platform.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let [path, text] = [path, text].map(str::to_owned);
        Self { path, text }
    }

    /// Its lines, counted from one, without comments and empty lines.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.text.lines());
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    }
}

/// The files under these folders whose path satisfies `wanted`; folders that hold build output are left out.
pub(crate) fn read(
    root: &Path,
    folders: &[&str],
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<File>> {
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_output = matches!(&*name, "target" | "node_modules") || name.starts_with('.');
        entry.depth() == 0 || !entry.file_type().is_dir() || !is_output
    };
    let mut paths = Vec::new();
    let folders = folders.iter().map(|folder| root.join(folder));
    for folder in folders.filter(|folder| folder.is_dir()) {
        for entry in WalkDir::new(&folder).into_iter().filter_entry(is_source) {
            let entry = entry.at(folder.display())?;
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let path = path.to_string_lossy().replace('\\', "/");
            if !entry.file_type().is_dir() && wanted(&path) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| load(root, path)).collect()
}

pub(crate) fn load(root: &Path, path: &str) -> Result<File> {
    let text = fs::read_to_string(root.join(path)).at(path)?;
    Ok(File::new(path, &text))
}

/// The entries of a TOML file that is one array of tables.
pub(crate) fn tables<T: DeserializeOwned>(path: &str, text: &str) -> Result<Vec<T>> {
    let tables: BTreeMap<String, Vec<T>> = toml::from_str(text).at(path)?;
    Ok(tables.into_values().flatten().collect())
}

/// The module of a Rust file, as the names of its path from the root of the crate.
pub(crate) fn module(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs").split('/');
    let mut path: Vec<String> = path.map(str::to_owned).collect();
    path.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    path
}

/// Writes a file, and creates its folder if that is missing.
pub(crate) fn write(path: &Path, text: &str) -> Result {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .at(path.display())
}

/// Generated texts by path from the root.
pub(crate) type Files = BTreeMap<String, String>;

/// Writes the files that differ from those that are present, and removes the others. A check only lists them, after the problem.
pub(crate) fn apply(
    root: &Path,
    files: &Files,
    present: Vec<File>,
    check: bool,
    problem: &str,
) -> Result {
    let present = present.into_iter().map(|file| (file.path, file.text));
    let present: Files = present.collect();
    let all = present.keys().chain(files.keys());
    let stale = all.filter(|path| present.get(*path) != files.get(*path));
    let stale: BTreeSet<String> = stale.cloned().collect();
    if check {
        return none_in(&stale, problem);
    }
    for path in stale {
        match files.get(&path) {
            None => fs::remove_file(root.join(&path)).at(path)?,
            Some(text) => write(&root.join(path), text)?,
        }
    }
    Ok(())
}
