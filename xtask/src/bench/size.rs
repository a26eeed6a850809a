//! What a program weighs: its file, its tree, the time to build it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::built::{OWN, PEERS, build};
use super::subject::Subject;
use crate::programs::{SHORT, output_of, run, target};
use crate::steps::{cargo, say};

/// The size of a program without its symbols, in bytes.
pub(super) fn stripped(program: &Path) -> Result<u64, String> {
    let folder = target().join("bench");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let out = folder.join("stripped");
    let mut command = Command::new("strip");
    command.arg("-o").arg(&out).arg(program);
    output_of(&mut command, SHORT).map_err(|error| format!("strip, of the binutils: {error}"))?;
    let size = fs::metadata(&out).map_err(failed)?.len();
    fs::remove_file(&out).map_err(failed)?;
    Ok(size)
}

/// Where a server is built, and with which words. The baseline is no package of its own.
fn package(root: &Path, subject: Subject) -> Option<(PathBuf, String)> {
    let peers = root.join(PEERS);
    match subject {
        Subject::Baseline => None,
        Subject::Ours => Some((root.to_owned(), format!("{OWN} --bin bench-server"))),
        Subject::Rmcp => Some((peers, "--locked -p bench-rmcp-server".to_owned())),
        Subject::Tower => Some((peers, "--locked -p bench-tower-mcp-server".to_owned())),
    }
}

/// How many crates a server over both transports is made of, the bench's own left out; of the baseline nothing.
pub(super) fn crates(root: &Path, subject: Subject) -> Result<Option<usize>, String> {
    let what = match subject {
        Subject::Baseline => return Ok(None),
        Subject::Ours => {
            "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
             --features mcp-server/macros,mcp-server/seal,mcp-server/tasks,mcp-transport-http/server"
        }
        Subject::Rmcp => "--locked -p bench-rmcp-server",
        Subject::Tower => "--locked -p bench-tower-mcp-server",
    };
    let Some((folder, _)) = package(root, subject) else {
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

/// How long a server takes to be built for release from nothing, in seconds; of the baseline nothing.
pub(super) fn build_time(root: &Path, subject: Subject) -> Result<Option<f64>, String> {
    let Some((workspace, what)) = package(root, subject) else {
        return Ok(None);
    };
    let folder = target().join("bench-clean");
    let gone = |folder: &Path| match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    };
    gone(&folder)?;
    say(&format!("\nbuilding from nothing: {}", subject.name()));
    let start = Instant::now();
    build(&workspace, &folder, &what)?;
    let took = start.elapsed().as_secs_f64();
    gone(&folder)?;
    Ok(Some(took))
}
