//! Packages from registries, pinned by a lock file and installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::process::{output_of, run};
use crate::steps::say;

/// How long a package manager may take; the packages are few, but the network may be slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);
/// How long a program may take to tell its version, or to make an empty environment.
pub(crate) const SHORT: Duration = Duration::from_secs(120);

/// Records the installed packages.
const STAMP: &str = "installed.sha256";
/// The lists that npm reads.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs what the lists in `from` name into `folder`, unless that is there; files that are `wanted` are copied in
/// any case. `least` is the oldest Node that will do for installing.
pub(crate) fn npm_ci(
    from: &Path,
    folder: &Path,
    least: u32,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let version = output_of(Command::new("node").arg("--version"), SHORT)
        .map_err(|error| format!("node is needed, version {least} or newer: {error}"))?;
    if major(&version) < least {
        return Err(format!("node is {version}, but {least} or newer is needed"));
    }
    copy(from, folder, |name| wanted(name) || LISTS.contains(&name))?;
    let marker = InstallMarker::of(folder, &LISTS, &version)?;
    if marker.is_current() && folder.join("node_modules").is_dir() {
        return Ok(());
    }
    say(&format!("npm ci: packages of {}", from.display()));
    let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run(
        Command::new(program).args(words).current_dir(folder),
        LIMIT,
        say,
    )
    .map_err(|error| {
        format!("npm ci failed; it needs npm and a registry that it can reach: {error}")
    })?;
    marker.write()
}

/// The major version of Node, or zero if the text is not a version.
pub(crate) fn major(version: &str) -> u32 {
    let digits = version.trim_start_matches('v').split('.').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Copies the files that are wanted into a folder, which is made if it is not there.
pub(crate) fn copy(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_str().is_some_and(&wanted) {
            fs::copy(entry.path(), to.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// A file that records the packages that are installed in its folder.
#[derive(Debug)]
pub(crate) struct InstallMarker {
    file: PathBuf,
    text: String,
}

impl InstallMarker {
    /// The stamp for these lists of packages and this version of what runs them.
    pub(crate) fn of(folder: &Path, lists: &[&str], version: &str) -> Result<Self, String> {
        let mut hash = Sha256::new();
        hash.update(version);
        for list in lists {
            let path = folder.join(list);
            hash.update(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        }
        let text = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            file: folder.join(STAMP),
            text,
        })
    }

    /// Whether exactly these packages are installed.
    pub(crate) fn is_current(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == self.text)
    }

    /// Records them.
    pub(crate) fn write(&self) -> Result<(), String> {
        fs::write(&self.file, &self.text)
            .map_err(|error| format!("{}: {error}", self.file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_are_read() {
        assert_eq!(major("v22.23.2"), 22);
        assert_eq!(major("20.1"), 20);
        assert_eq!(major("no such program"), 0);
    }
}
