//! The programs of the bench, built in release, each with the features it needs and no others.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{BUILD, run, target};
use crate::steps::{cargo, say};

/// The workspace of the peers.
pub(super) const PEERS: &str = "tests/bench-peers";
/// The package of the other programs.
pub(super) const OWN: &str = "-p mcp-tests --no-default-features";

/// The folders of the programs.
#[derive(Debug)]
pub(super) struct Built {
    own: PathBuf,
    peers: PathBuf,
}

impl Built {
    /// Builds the programs that the gates need.
    pub(super) fn own(root: &Path) -> Result<Self, String> {
        // A separate folder: a build with other features at the same time does not replace these programs.
        let this = Self {
            own: target().join("bench"),
            peers: target().join("bench-peers"),
        };
        build(
            root,
            &this.own,
            &format!("{OWN} --bin bench-server --bin bench-baseline --bin bench-load"),
        )?;
        Ok(this)
    }

    /// Builds all programs.
    pub(super) fn all(root: &Path) -> Result<Self, String> {
        let this = Self::own(root)?;
        build(
            root,
            &this.own,
            &format!("{OWN} --features client --bin bench-client"),
        )?;
        for peer in [
            "bench-rmcp-server",
            "bench-rmcp-client",
            "bench-tower-mcp-server",
        ] {
            build(
                &root.join(PEERS),
                &this.peers,
                &format!("--locked -p {peer}"),
            )?;
        }
        Ok(this)
    }

    /// A program of this workspace.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        program(&self.own, name)
    }

    /// A program of a peer.
    pub(super) fn peer(&self, name: &str) -> PathBuf {
        program(&self.peers, name)
    }
}

fn program(folder: &Path, name: &str) -> PathBuf {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folder.join("release").join(file)
}

/// Builds for release.
pub(super) fn build(workspace: &Path, folder: &Path, what: &str) -> Result<(), String> {
    let mut command = Command::new(cargo());
    command
        .args(["build", "--release", "--target-dir"])
        .arg(folder)
        .args(what.split(' '))
        .current_dir(workspace);
    run(&mut command, BUILD, say).map_err(|error| format!("cargo build --release {what}: {error}"))
}
