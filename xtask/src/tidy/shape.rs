//! Sizes of files and folders, module documentation, and the content of the root folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::violation::Violation;
use crate::files::File;

/// Files with more lines are printed.
const LONG: usize = 500;
/// Files with more lines are refused.
const HARD: usize = 800;
/// Folders of crates may have this many source files.
pub(super) const FOLDER: usize = 12;

/// Files that tools expect in the root folder, and the folders of the workspace.
const ROOT: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "clippy.toml",
    "deny.toml",
    "rust-toolchain.toml",
    "crates",
    "docs",
    "target",
    "tests",
    "xtask",
];

/// Whether the file is generated.
fn is_generated(file: &File) -> bool {
    file.text.starts_with("// Generated")
}

/// Checks the module documentation and the length of a file.
pub(super) fn check(file: &File, violations: &mut Vec<Violation>) {
    let first = file
        .text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("// Generated"));
    if !first.is_some_and(|line| line.starts_with("//!")) {
        violations.push(Violation::new(
            &file.path,
            1,
            "no module documentation: begin the file with //! and its purpose",
        ));
    }
    let length = file.text.lines().count();
    if length > HARD && !is_generated(file) {
        violations.push(Violation::new(
            &file.path,
            HARD + 1,
            format!("{length} lines, limit {HARD}: split the file"),
        ));
    }
}

/// One note for each long file, the longest first.
pub(super) fn long<'a>(files: impl Iterator<Item = &'a File>) -> Vec<String> {
    let lines = files
        .filter(|file| !is_generated(file))
        .map(|file| (file.text.lines().count(), &file.path));
    let mut long: Vec<_> = lines.filter(|(lines, _)| *lines > LONG).collect();
    long.sort_unstable_by(|a, b| b.cmp(a));
    long.into_iter()
        .map(|(lines, path)| format!("{path} has {lines} lines"))
        .collect()
}

/// The number of hand-written files in each source folder of the crates.
pub(super) fn folders<'a>(files: impl Iterator<Item = &'a File>) -> BTreeMap<String, usize> {
    let mut folders = BTreeMap::new();
    for file in files.filter(|file| !is_generated(file)) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folder.starts_with("crates/") && format!("{folder}/").contains("/src/") {
            *folders.entry(folder.to_owned()).or_default() += 1;
        }
    }
    folders
}

/// Checks that the root folder has no other files. Names with a dot at the beginning belong to tools.
pub(super) fn root_folder(root: &Path) -> Result<Vec<Violation>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(unexpected(&names))
}

fn unexpected(names: &[String]) -> Vec<Violation> {
    let unexpected = names
        .iter()
        .filter(|name| !name.starts_with('.') && !ROOT.contains(&name.as_str()));
    unexpected
        .map(|name| {
            Violation::new(
                name,
                0,
                "not allowed in the root folder: move it to crates, docs, tests or xtask",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut violations = Vec::new();
        check(&File::new("a.rs", text), &mut violations);
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_begins_with_module_documentation() {
        assert!(found("//! A.\n").is_empty());
        assert!(found("// Generated from x.\n\n//! A.\n").is_empty());
        assert_eq!(
            found("use b::C;\n//! A.\n"),
            ["a.rs:1: no module documentation: begin the file with //! and its purpose"]
        );
        assert_eq!(found("").len(), 1);
    }

    #[test]
    fn long_files_are_refused_unless_generated() {
        let long = |first: &str| format!("{first}//! A.\n{}", "\n".repeat(HARD));
        assert_eq!(
            found(&long("")),
            ["a.rs:801: 801 lines, limit 800: split the file"]
        );
        assert!(found(&long("// Generated from x.\n")).is_empty());
    }

    #[test]
    fn the_root_folder_has_no_other_files() {
        let names = [".github", "Cargo.toml", "notes.txt"].map(str::to_owned);
        let found = unexpected(&names);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "notes.txt");
    }
}
