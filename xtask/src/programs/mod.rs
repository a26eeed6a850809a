//! Child processes: packages from registries, programs that run to their end, and servers. Each has a time limit and is
//! read line by line; a server is killed when its handle is dropped.

mod packages;
mod process;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::workspace::{At as _, Result, root, say};

pub(crate) use packages::{check_node, install, npm_ci, python_venv, venv_python};
pub(crate) use process::{Server, lines_of, output_of, run, run_to_end, watch};

pub(crate) const BUILD: Duration = Duration::from_secs(1_800);
/// Time limit of programs that only print something, for example a version.
pub(crate) const SHORT: Duration = Duration::from_secs(120);

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR");
    root().join(folder.unwrap_or_else(|| "target".into()))
}

/// A program with the arguments in `words`, in the root folder.
pub(crate) fn program(name: impl AsRef<OsStr>, words: &str) -> Command {
    let mut command = Command::new(name);
    command.args(words.split_whitespace()).current_dir(root());
    command
}

/// The cargo that started xtask, else the one on the path, with the arguments in `words`, in the root folder.
pub(crate) fn cargo(words: &str) -> Command {
    program(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        words,
    )
}

/// Runs `cargo build` with the arguments in `words`.
pub(crate) fn build(workspace: &Path, target: &Path, words: &str) -> Result {
    let mut command = cargo(&format!("build {words} --target-dir"));
    let place = workspace.display();
    run(command.arg(target).current_dir(workspace), BUILD, say)
        .at(format!("cargo build {words} in {place}"))
}

/// The path of a program in a folder.
pub(crate) fn executable(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Copies a program of this workspace out of cargo's folder, so that a later build does not replace it while it runs. A
/// program that still runs from an earlier copy keeps its file: the new copy replaces only the name.
pub(crate) fn copy_program(name: &str, folder: &Path) -> Result<PathBuf> {
    let built = executable(&target().join("debug"), name);
    let copy = executable(folder, name);
    let fresh = folder.join(format!("{}-{name}", std::process::id()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(&built, &fresh))
        .and_then(|_| fs::rename(&fresh, &copy))
        .at(format!("{} to {}", built.display(), copy.display()))?;
    Ok(copy)
}
