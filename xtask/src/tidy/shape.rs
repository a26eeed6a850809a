//! Sizes of files and folders, module documentation, and the content of the root folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::workspace::{At as _, File, Result, say};

/// Files with more lines are printed.
const LONG: usize = 500;
/// Files with more lines are refused.
const HARD: usize = 800;
/// Folders of crates may have this many source files.
const FOLDER: usize = 12;

/// Files that tools expect in the root folder, and the folders of the workspace.
const ROOT: &str = "CHANGELOG.md Cargo.lock Cargo.toml LICENSE-APACHE LICENSE-MIT README.md clippy.toml deny.toml \
                    rust-toolchain.toml crates docs target tests xtask";

const GENERATED: &str = "// Generated";

/// Checks the module documentation and the length of a file; prints a note if it is long.
pub(super) fn check(File { path, text }: &File) -> Vec<String> {
    let mut violations = Vec::new();
    let mut lines = text.lines();
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with(GENERATED));
    if !first.is_some_and(|line| line.starts_with("//!")) {
        violations.push(format!(
            "{path}:1: no module documentation: begin the file with //! and its purpose"
        ));
    }
    match text.lines().count() {
        _ if text.starts_with(GENERATED) => {}
        length if length > HARD => violations.push(format!(
            "{path}:{}: {length} lines, limit {HARD}: split the file",
            HARD + 1
        )),
        length if length > LONG => say(&format!("note: {path} has {length} lines")),
        _ => {}
    }
    violations
}

/// Checks how many hand-written files each source folder of the crates has.
pub(super) fn folders<'a>(files: impl Iterator<Item = &'a File>) -> Vec<String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for File { path, text } in files {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_source = folder.starts_with("crates/") && path.contains("/src/");
        if is_source && !text.starts_with(GENERATED) {
            *folders.entry(folder).or_default() += 1;
        }
    }
    folders.retain(|_, files| *files > FOLDER);
    let violation = |(folder, files): (&str, usize)| {
        format!(
            "{folder}:1: {files} files, limit {FOLDER}: move some into a folder for their topic"
        )
    };
    folders.into_iter().map(violation).collect()
}

/// Checks that the root folder has no other files. Names with a dot at the beginning belong to tools.
pub(super) fn root_folder(root: &Path) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    for entry in fs::read_dir(root).at(root.display())? {
        let name = entry.at(root.display())?.file_name();
        violations.extend(unexpected(&name.to_string_lossy()));
    }
    violations.sort();
    Ok(violations)
}

pub(super) fn unexpected(name: &str) -> Option<String> {
    let is_expected = name.starts_with('.') || ROOT.split(' ').any(|known| known == name);
    (!is_expected).then(|| {
        format!("{name}: not allowed in the root folder: move it to crates, docs, tests or xtask")
    })
}
