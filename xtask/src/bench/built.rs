//! The programs of the bench, built in release.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{self, BUILD, target};
use crate::steps::{cargo, say};

/// Where the programs are.
#[derive(Debug)]
pub(super) struct Built {
    own: PathBuf,
}

impl Built {
    /// Builds what belongs to this workspace.
    pub(super) fn own(root: &Path) -> Result<Self, String> {
        let words =
            "build --release -p mcp-tests --bin bench-server --bin bench-floor --bin bench-load";
        let mut command = Command::new(cargo());
        command.args(words.split(' ')).current_dir(root);
        programs::run(&mut command, BUILD, say)
            .map_err(|error| format!("cargo {words}: {error}"))?;
        Ok(Self {
            own: target().join("release"),
        })
    }

    /// A program of this workspace.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.own
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }
}
