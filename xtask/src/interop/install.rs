//! Gets the peers, pinned, into a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::process::{ask, run};
use crate::steps::say;

/// How long a package manager may take; the packages are few, but the network may be slow.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a program may take to tell its version, or to make an empty environment.
const SHORT: Duration = Duration::from_secs(120);

/// Says which packages are installed.
const STAMP: &str = "installed.sha256";

/// A folder with everything in it.
#[derive(Debug)]
pub(super) struct Installed {
    /// The folder.
    pub(super) folder: PathBuf,
}

impl Installed {
    /// Gets what is missing. `scripts` is the folder with the lists of packages and the drivers.
    pub(super) fn new(folder: PathBuf, scripts: &Path) -> Result<Self, String> {
        let this = Self { folder };
        this.node(scripts)?;
        this.venv(scripts)?;
        Ok(this)
    }

    /// The folder of packages from npm, and of the scripts that use them.
    pub(super) fn npm(&self) -> PathBuf {
        self.folder.join("npm")
    }

    /// The folder of scripts for Python.
    pub(super) fn scripts_for_python(&self) -> PathBuf {
        self.folder.join("python")
    }

    /// The Python that has the packages.
    pub(super) fn python(&self) -> PathBuf {
        let venv = self.folder.join("venv");
        if cfg!(windows) {
            venv.join("Scripts").join("python.exe")
        } else {
            venv.join("bin").join("python")
        }
    }

    fn node(&self, scripts: &Path) -> Result<(), String> {
        let version = ask(Command::new("node").arg("--version"), SHORT)
            .map_err(|error| format!("node is needed, version 18 or newer: {error}"))?;
        let major = version.trim_start_matches('v').split('.').next();
        if major.and_then(|major| major.parse().ok()).unwrap_or(0) < 18 {
            return Err(format!("node is {version}, but 18 or newer is needed"));
        }
        let npm = self.npm();
        let lists = ["package.json", "package-lock.json"];
        copy(scripts, &npm, |name| {
            name.ends_with(".mjs") || lists.contains(&name)
        })?;
        let stamp = Stamp::of(&npm, &lists, &version)?;
        if stamp.is_set() && npm.join("node_modules").is_dir() {
            return Ok(());
        }
        say("npm ci: packages for node");
        let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
        run(
            Command::new(program).args(words).current_dir(&npm),
            LIMIT,
            say,
        )
        .map_err(|error| {
            format!("npm ci failed; it needs npm and a registry that it can reach: {error}")
        })?;
        stamp.set()
    }

    fn venv(&self, scripts: &Path) -> Result<(), String> {
        let python = if cfg!(windows) { "python" } else { "python3" };
        let version = ask(Command::new(python).arg("--version"), SHORT)
            .map_err(|error| format!("{python} is needed, version 3.10 or newer: {error}"))?;
        let folder = self.scripts_for_python();
        copy(scripts, &folder, |name| {
            name.ends_with(".py") || name == "requirements.txt"
        })?;
        let stamp = Stamp::of(&folder, &["requirements.txt"], &version)?;
        if stamp.is_set() && self.python().is_file() {
            return Ok(());
        }
        say("pip install: packages for Python");
        let venv = self.folder.join("venv");
        run(
            Command::new(python)
                .args(["-m", "venv", "--clear"])
                .arg(venv),
            SHORT,
            say,
        )
        .map_err(|error| format!("{python} cannot make an environment (venv): {error}"))?;
        let words = "-m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes -r";
        let list = folder.join("requirements.txt");
        let mut pip = Command::new(self.python());
        pip.args(words.split(' ')).arg(list);
        run(&mut pip, LIMIT, say).map_err(|error| {
            format!("pip install failed; it needs an index that it can reach: {error}")
        })?;
        stamp.set()
    }
}

/// Copies the files that are wanted into a folder, which is made if it is not there.
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

/// A file that says what is installed beside it.
#[derive(Debug)]
struct Stamp {
    file: PathBuf,
    text: String,
}

impl Stamp {
    /// The stamp for these lists of packages and this version of what runs them.
    fn of(folder: &Path, lists: &[&str], version: &str) -> Result<Self, String> {
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

    fn is_set(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == self.text)
    }

    fn set(&self) -> Result<(), String> {
        fs::write(&self.file, &self.text)
            .map_err(|error| format!("{}: {error}", self.file.display()))
    }
}
