//! What a program weighs: its file, its tree, the time to build it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::built::{OWN, PEERS, build};
use super::who::Who;
use crate::programs::{SHORT, ask, run, target};
use crate::steps::{cargo, say};

/// The size of a program without its symbols, in bytes.
pub(super) fn stripped(program: &Path) -> Result<u64, String> {
    let folder = target().join("bench");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let out = folder.join("stripped");
    let mut command = Command::new("strip");
    command.arg("-o").arg(&out).arg(program);
    ask(&mut command, SHORT).map_err(|error| format!("strip, of the binutils: {error}"))?;
    let size = fs::metadata(&out).map_err(failed)?.len();
    fs::remove_file(&out).map_err(failed)?;
    Ok(size)
}

/// Where a server is built, and with which words. The floor is no package of its own.
fn package(root: &Path, who: Who) -> Option<(PathBuf, String)> {
    let peers = root.join(PEERS);
    match who {
        Who::Floor => None,
        Who::Ours => Some((root.to_owned(), format!("{OWN} --bin bench-server"))),
        Who::Rmcp => Some((peers, "--locked -p bench-rmcp-server".to_owned())),
        Who::Tower => Some((peers, "--locked -p bench-tower-mcp-server".to_owned())),
    }
}

/// How many crates a server over both transports is made of, the bench's own left out; of the floor nothing.
pub(super) fn crates(root: &Path, who: Who) -> Result<Option<usize>, String> {
    let what = match who {
        Who::Floor => return Ok(None),
        Who::Ours => {
            "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
             --features mcp-server/macros,mcp-server/seal,mcp-server/tasks,mcp-transport-http/server"
        }
        Who::Rmcp => "--locked -p bench-rmcp-server",
        Who::Tower => "--locked -p bench-tower-mcp-server",
    };
    let Some((folder, _)) = package(root, who) else {
        return Ok(None);
    };
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(what.split_whitespace())
        .current_dir(folder);
    let mut crates = BTreeSet::new();
    run(&mut command, SHORT, |line| {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next())
            && !name.starts_with("bench-")
        {
            crates.insert((name.to_owned(), version.to_owned()));
        }
    })?;
    Ok(Some(crates.len()))
}

/// How long a server takes to be built for release from nothing, in seconds; of the floor nothing.
pub(super) fn build_time(root: &Path, who: Who) -> Result<Option<f64>, String> {
    let Some((workspace, what)) = package(root, who) else {
        return Ok(None);
    };
    let folder = target().join("bench-clean");
    let gone = |folder: &Path| match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    };
    gone(&folder)?;
    say(&format!("\nbuilding from nothing: {}", who.name()));
    let start = Instant::now();
    build(&workspace, &folder, &what)?;
    let took = start.elapsed().as_secs_f64();
    gone(&folder)?;
    Ok(Some(took))
}
