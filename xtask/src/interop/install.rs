//! Gets the peers, pinned, into a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{LIMIT, SHORT, Stamp, ask, copy, npm_ci, run};
use crate::steps::say;

/// The oldest Node that every package from npm runs on.
const NODE: u32 = 20;

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
        npm_ci(scripts, &this.npm(), NODE, |name| name.ends_with(".mjs"))?;
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
