//! The files of the workspace, by path from the root, in a fixed order.

use std::fs;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::workspace::{At as _, Result};

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

    /// Its lines, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(n, line)| (n + 1, line))
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
