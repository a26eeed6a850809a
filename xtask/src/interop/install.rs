//! Gets the peers, pinned, into a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{BUILD, InstallMarker, LIMIT, SHORT, copy, npm_ci, output_of, run};
use crate::steps::{cargo, say};

/// The oldest Node that every package from npm runs on.
const NODE: u32 = 20;

/// A folder with everything in it.
#[derive(Debug)]
pub(super) struct Installed {
    /// The folder.
    pub(super) folder: PathBuf,
}

impl Installed {
    /// Gets what is missing. `scripts` is the folder with the lists of packages and the drivers; `crates`, if anybody
    /// needs them, the one with the programs in Rust.
    pub(super) fn new(
        folder: PathBuf,
        scripts: &Path,
        crates: Option<&Path>,
    ) -> Result<Self, String> {
        let this = Self { folder };
        npm_ci(scripts, &this.npm(), NODE, |name| name.ends_with(".mjs"))?;
        this.venv(scripts)?;
        if let Some(crates) = crates {
            this.cargo(crates)?;
        }
        Ok(this)
    }

    /// The folder of packages from npm, and of the scripts that use them.
    pub(super) fn npm(&self) -> PathBuf {
        self.folder.join("npm")
    }

    /// A script on the Node or the Python that has the packages.
    pub(super) fn script(&self, name: &str) -> Command {
        if name.ends_with(".mjs") {
            let mut command = Command::new("node");
            command.arg(self.npm().join(name));
            return command;
        }
        let mut command = Command::new(self.python());
        let script = self.scripts_for_python().join(name);
        command.args(["-W", "ignore"]).arg(script);
        command
    }

    /// A program that was built from other people's crates.
    pub(super) fn rust(&self, name: &str) -> PathBuf {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.crates().join("debug").join(file)
    }

    fn scripts_for_python(&self) -> PathBuf {
        self.folder.join("python")
    }

    fn crates(&self) -> PathBuf {
        self.folder.join("rust")
    }

    fn python(&self) -> PathBuf {
        let venv = self.folder.join("venv");
        if cfg!(windows) {
            venv.join("Scripts").join("python.exe")
        } else {
            venv.join("bin").join("python")
        }
    }

    fn cargo(&self, crates: &Path) -> Result<(), String> {
        let mut command = Command::new(cargo());
        command
            .args(["build", "--locked", "--target-dir"])
            .arg(self.crates())
            .current_dir(crates);
        run(&mut command, BUILD, say)
            .map_err(|error| format!("cargo build in {}: {error}", crates.display()))
    }

    fn venv(&self, scripts: &Path) -> Result<(), String> {
        let python = if cfg!(windows) { "python" } else { "python3" };
        let version = output_of(Command::new(python).arg("--version"), SHORT)
            .map_err(|error| format!("{python} is needed, version 3.10 or newer: {error}"))?;
        let folder = self.scripts_for_python();
        copy(scripts, &folder, |name| {
            name.ends_with(".py") || name == "requirements.txt"
        })?;
        let marker = InstallMarker::of(&folder, &["requirements.txt"], &version)?;
        if marker.is_current() && self.python().is_file() {
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
        marker.write()
    }
}
