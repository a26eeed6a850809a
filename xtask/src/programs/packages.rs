//! Packages from registries, pinned by a lock file and installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{output_of, run};
use super::{SHORT, executable};
use crate::steps::say;

/// Time limit of a package manager; the packages are few, but the network may be slow.
const LIMIT: Duration = Duration::from_secs(300);
/// Records the installed packages in their folder.
const MARKER: &str = "installed.txt";
/// The oldest Node that runs npm and all packages.
const NODE: u32 = 20;

/// Installs the npm packages that the lists in `from` name into `folder`, unless they are installed. Also copies the
/// scripts (`.mjs`) of `from`.
pub(crate) fn npm_ci(from: &Path, folder: &Path) -> Result<(), String> {
    let version = output_of(Command::new("node").arg("--version"), SHORT)
        .map_err(|error| format!("node is needed, version {NODE} or newer: {error}"))?;
    if major(&version) < NODE {
        return Err(format!("node is {version}, but {NODE} or newer is needed"));
    }
    let lists = ["package.json", "package-lock.json"];
    copy(from, folder, |name| {
        name.ends_with(".mjs") || lists.contains(&name)
    })?;
    let is_present = folder.join("node_modules").is_dir();
    install_once(folder, &lists, &version, is_present, || {
        say(&format!("npm ci: packages of {}", from.display()));
        let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        run(npm.current_dir(folder), LIMIT, say).map_err(|error| {
            format!("npm ci failed; it needs npm and a registry that it can reach: {error}")
        })
    })
}

/// Copies the Python scripts and `requirements.txt` of `from` to `folder` and installs the requirements into the virtual
/// environment `venv`, unless they are installed.
pub(crate) fn python_venv(from: &Path, folder: &Path, venv: &Path) -> Result<(), String> {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let version = output_of(Command::new(python).arg("--version"), SHORT)
        .map_err(|error| format!("{python} is needed, version 3.10 or newer: {error}"))?;
    let list = "requirements.txt";
    copy(from, folder, |name| name.ends_with(".py") || name == list)?;
    let is_present = venv_python(venv).is_file();
    install_once(folder, &[list], &version, is_present, || {
        say("pip install: packages for Python");
        let mut create = Command::new(python);
        create.args(["-m", "venv", "--clear"]).arg(venv);
        run(&mut create, SHORT, say)
            .map_err(|error| format!("{python} cannot make an environment (venv): {error}"))?;
        let words = "-m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes -r";
        let mut pip = Command::new(venv_python(venv));
        pip.args(words.split(' ')).arg(folder.join(list));
        run(&mut pip, LIMIT, say).map_err(|error| {
            format!("pip install failed; it needs an index that it can reach: {error}")
        })
    })
}

/// The interpreter of a virtual environment.
pub(crate) fn venv_python(venv: &Path) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    executable(&venv.join(folder), "python")
}

/// The major version of Node, or zero if the text is not a version.
pub(crate) fn major(version: &str) -> u32 {
    let digits = version.trim_start_matches('v').split('.').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Copies the wanted files into a folder, which is created if it is missing.
fn copy(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
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

/// Calls `install` unless the marker in `folder` has the same package lists and the same version of the interpreter.
fn install_once(
    folder: &Path,
    lists: &[&str],
    version: &str,
    is_present: bool,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let mut wanted = version.to_owned();
    for list in lists {
        let path = folder.join(list);
        wanted +=
            &fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let marker = folder.join(MARKER);
    if is_present && fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))
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
