//! What a file and the root folder look like from outside.

use std::fs;
use std::path::Path;

use super::Violation;
use crate::files::File;

/// Past this many lines a file is mentioned.
pub(super) const ASK: usize = 500;
/// Past this many lines a file is refused.
const HARD: usize = 800;

/// What tools insist on finding in the root folder, and the four folders.
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

/// Whether the generator wrote it.
pub(super) fn is_generated(file: &File) -> bool {
    file.text.starts_with("// Generated")
}

/// Module docs and length.
pub(super) fn check(file: &File, violations: &mut Vec<Violation>) {
    let first = file
        .text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("// Generated"));
    if !first.is_some_and(|line| line.starts_with("//!")) {
        violations.push(Violation::new(
            &file.path,
            1,
            "no module documentation, open the file with //! and what it is for",
        ));
    }
    let length = file.text.lines().count();
    if length > HARD && !is_generated(file) {
        violations.push(Violation::new(
            &file.path,
            HARD + 1,
            format!("{length} lines where {HARD} are the limit, split the file by idea"),
        ));
    }
}

/// Strangers in the root folder; dot files belong to tools.
pub(super) fn root_folder(root: &Path) -> Result<Vec<Violation>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(strangers(&names))
}

fn strangers(names: &[String]) -> Vec<Violation> {
    let strangers = names
        .iter()
        .filter(|name| !name.starts_with('.') && !ROOT.contains(&name.as_str()));
    strangers
        .map(|name| {
            Violation::new(
                name,
                1,
                "does not belong into the root folder, move it under crates, docs, tests or xtask",
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
    fn a_file_opens_with_module_docs() {
        assert!(found("//! A.\n").is_empty());
        assert!(found("// Generated from x.\n\n//! A.\n").is_empty());
        assert_eq!(
            found("use b::C;\n//! A.\n"),
            ["a.rs:1: no module documentation, open the file with //! and what it is for"]
        );
        assert_eq!(found("").len(), 1);
    }

    #[test]
    fn long_files_are_refused_unless_generated() {
        let long = |first: &str| format!("{first}//! A.\n{}", "\n".repeat(HARD));
        assert_eq!(
            found(&long("")),
            ["a.rs:801: 801 lines where 800 are the limit, split the file by idea"]
        );
        assert!(found(&long("// Generated from x.\n")).is_empty());
    }

    #[test]
    fn the_root_folder_holds_what_tools_look_for() {
        let names = [".github", "Cargo.toml", "notes.txt"].map(str::to_owned);
        let strangers = strangers(&names);
        assert_eq!(strangers.len(), 1);
        assert_eq!(strangers[0].path, "notes.txt");
    }
}
