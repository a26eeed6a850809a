//! The size of programs and dependency trees, and the class of the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::subject::{PEERS, Subject};
use crate::programs::{SHORT, output_of, run, target};
use crate::steps::cargo;

/// A server of this SDK over both transports, for cargo.
const OURS: &str = "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
     --features mcp-server/macros,mcp-server/seal,mcp-server/tasks,mcp-transport-http/server";

/// The size of a program without its symbols, in bytes.
pub(super) fn stripped_size(program: &Path) -> Result<u64, String> {
    let stripped = target().join("bench/stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(program);
    output_of(&mut strip, SHORT).map_err(|error| format!("strip, of the binutils: {error}"))?;
    let size = fs::metadata(&stripped).map(|metadata| metadata.len());
    size.map_err(|error| format!("{}: {error}", stripped.display()))
}

/// The number of crates of a server over both transports, without those of the benchmark.
pub(super) fn crates(root: &Path, subject: Subject) -> Result<usize, String> {
    let (workspace, words) = match subject.is_peer() {
        true => (
            root.join(PEERS),
            format!("--locked -p {}", subject.program()),
        ),
        false => (root.to_owned(), OURS.to_owned()),
    };
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(words.split_whitespace())
        .current_dir(workspace);
    let mut crates = BTreeSet::new();
    run(&mut command, SHORT, |line| {
        let name_and_version: Vec<&str> = line.split(' ').take(2).collect();
        if name_and_version.len() == 2 && !line.starts_with("bench-") {
            crates.insert(name_and_version.join(" "));
        }
    })?;
    Ok(crates.len())
}

/// The class of this machine in one line, without its name.
pub(super) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    // The first line is `MemTotal:  N kB`.
    let kib: f64 = memory
        .split_whitespace()
        .nth(1)
        .map_or(0.0, |kib| kib.parse().unwrap_or(0.0));
    let gib = kib / 1_048_576.0;
    let rustc = output_of(Command::new("rustc").arg("--version"), SHORT).unwrap_or_default();
    let compiler: Vec<&str> = rustc.split(' ').take(2).collect();
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!(
        "{cores} cores ({processor}), {gib:.0} GiB of memory, {system}, {}",
        compiler.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_is_described_by_its_class() {
        let machine = machine();
        assert!(machine.contains(" GiB of memory, linux"), "{machine}");
    }
}
