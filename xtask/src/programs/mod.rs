//! Child processes: packages from registries, programs that run to their end, and servers. Each has a time limit and is
//! read line by line; a server ends when its handle is dropped.

mod packages;
mod process;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::workspace::root;

pub(crate) use packages::{InstallMarker, LIMIT, SHORT, copy, major, npm_ci};
pub(crate) use process::{output_of, run, run_to_end};
pub(crate) use server::Server;

/// How long cargo may take to build something.
pub(crate) const BUILD: Duration = Duration::from_secs(1_800);

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Copies a program of this workspace out of cargo's folder, so that a later build does not replace it while it runs. A
/// program that still runs from an earlier copy keeps its file: the new copy replaces only the name.
pub(crate) fn copy_program(name: &str, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let copy = folder.join(&file);
    let fresh = folder.join(format!("{}-{file}", std::process::id()));
    let built = target().join("debug").join(file);
    std::fs::copy(&built, &fresh)
        .and_then(|_| std::fs::rename(&fresh, &copy))
        .map(|()| copy)
        .map_err(|error| format!("{}: {error}", built.display()))
}
