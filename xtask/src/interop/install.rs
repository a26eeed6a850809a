//! Gets the peers, pinned, into a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{build, executable, npm_ci, python_venv, venv_python};

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
        npm_ci(scripts, &this.npm())?;
        python_venv(scripts, &this.scripts_for_python(), &this.venv())?;
        if let Some(crates) = crates {
            build(crates, &this.crates(), "--locked")?;
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
        let mut command = Command::new(venv_python(&self.venv()));
        let script = self.scripts_for_python().join(name);
        command.args(["-W", "ignore"]).arg(script);
        command
    }

    /// A program that was built from other people's crates.
    pub(super) fn rust(&self, name: &str) -> PathBuf {
        executable(&self.crates().join("debug"), name)
    }

    fn scripts_for_python(&self) -> PathBuf {
        self.folder.join("python")
    }

    fn crates(&self) -> PathBuf {
        self.folder.join("rust")
    }

    fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }
}
