//! The files of the workspace, by path from the root, in a fixed order.

use std::fs;
use std::path::Path;

/// One text file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// From the root, with slashes on every platform.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

impl File {
    /// A file with this content.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
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
) -> Result<Vec<File>, String> {
    let mut paths = Vec::new();
    for folder in folders {
        if root.join(folder).is_dir() {
            walk(root, folder, &mut paths)?;
        }
    }
    paths.retain(|path| wanted(path));
    paths.sort();
    paths.into_iter().map(|path| load(root, path)).collect()
}

/// One file by its path.
pub(crate) fn load(root: &Path, path: String) -> Result<File, String> {
    let text = fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
    Ok(File { path, text })
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    for entry in fs::read_dir(root.join(folder)).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = format!("{folder}/{name}");
        if !entry.file_type().map_err(failed)?.is_dir() {
            found.push(path);
        } else if !matches!(&*name, "target" | "node_modules") && !name.starts_with('.') {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}
