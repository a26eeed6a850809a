//! Packages from registries, pinned by a lock file and installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{output_of, run};
use super::{SHORT, build, executable, program};
use crate::workspace::{At as _, Result, say};

/// Time limit of a package manager: the network may be slow, and `cargo xtask interop --all` needs two thousand packages.
const LIMIT: Duration = Duration::from_secs(1_800);
/// Records the packages that are installed in a folder. Package managers remove it before they install others.
const MARKER: &str = "installed.txt";
/// The oldest Node that runs npm and all packages.
const NODE: u32 = 20;

/// Returns the version of the Node on the path, which must have at least this major version.
pub(crate) fn check_node(min: u32) -> Result<String> {
    let version = output_of(&mut program("node", "--version"), SHORT)
        .at(format!("node is needed, version {min} or newer"))?;
    let major = version.trim_start_matches('v').split('.').next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= min => Ok(version),
        _ => Err(format!("node is {version}, but {min} or newer is needed")),
    }
}

/// Installs the packages of a folder, whose name begins with `npm`, `pip` or `rust`. Folders with other names have none.
pub(crate) fn install(from: &Path, to: &Path) -> Result {
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    match name.split('-').next() {
        Some("npm") => npm_ci(from, to),
        Some("pip") => python_venv(from, to, &to.join("venv")),
        Some("rust") => build(from, to, "--locked"),
        _ => Ok(()),
    }
}

/// Copies the scripts and lists of `from` to `folder` and installs the npm packages that the lists name, unless they are
/// installed.
pub(crate) fn npm_ci(from: &Path, folder: &Path) -> Result {
    let version = check_node(NODE)?;
    let lists = ["package.json", "package-lock.json"];
    let modules = folder.join("node_modules");
    install_once(from, folder, &lists, &version, &modules, || {
        say(&format!("npm ci: packages of {}", from.display()));
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let mut npm = program(npm, "ci --ignore-scripts --no-audit --no-fund");
        run(npm.current_dir(folder), LIMIT, say)
            .at("npm ci failed; it needs npm and a registry that it can reach")
    })
}

/// Copies the scripts and `requirements.txt` of `from` to `folder` and installs the requirements into the virtual
/// environment `venv`, unless they are installed.
pub(crate) fn python_venv(from: &Path, folder: &Path, venv: &Path) -> Result {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let version = output_of(&mut program(python, "--version"), SHORT)
        .at(format!("{python} is needed, version 3.11 or newer"))?;
    let list = "requirements.txt";
    install_once(from, folder, &[list], &version, venv, || {
        say("pip install: packages for Python");
        run(program(python, "-m venv --clear").arg(venv), SHORT, say)
            .at(format!("{python} cannot make an environment (venv)"))?;
        let words = "-m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes -r";
        let mut pip = program(venv_python(venv), words);
        run(pip.arg(folder.join(list)), LIMIT, say)
            .at("pip install failed; it needs an index that it can reach")
    })
}

/// The interpreter of a virtual environment.
pub(crate) fn venv_python(venv: &Path) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    executable(&venv.join(folder), "python")
}

/// Copies the files of `from` to `folder`, and calls `install` unless the marker in `installed` has the package lists and this
/// version of the interpreter.
fn install_once(
    from: &Path,
    folder: &Path,
    lists: &[&str],
    version: &str,
    installed: &Path,
    install: impl FnOnce() -> Result,
) -> Result {
    let place = from.display();
    fs::create_dir_all(folder).at(folder.display())?;
    for entry in fs::read_dir(from).at(&place)? {
        let path = entry.at(&place)?.path();
        if path.is_file() {
            let copy = folder.join(path.file_name().unwrap_or_default());
            fs::copy(&path, copy).at(path.display())?;
        }
    }
    let mut wanted = version.to_owned();
    for list in lists {
        wanted += &fs::read_to_string(folder.join(list)).at(list)?;
    }
    let marker = installed.join(MARKER);
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(&marker, wanted).at(marker.display())
}

#[cfg(test)]
mod tests {
    use crate::workspace::{File, read, root};

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        for (name, present, absent) in [
            ("/package.json", ": \"", &["\"^", "\"~"][..]),
            ("/package-lock.json", "\"integrity\"", &["\"resolved\""]),
            ("/requirements.txt", "--hash=sha256:", &["://"]),
        ] {
            let lists = read(root(), &["tests"], |path| path.ends_with(name)).unwrap();
            assert!(!lists.is_empty(), "{name}");
            for File { path, text } in lists {
                let is_absent = |part: &&str| !text.contains(*part);
                assert!(
                    text.contains(present) && absent.iter().all(is_absent),
                    "{path}"
                );
            }
        }
    }
}
