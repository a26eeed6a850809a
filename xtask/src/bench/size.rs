//! The size of programs and dependency trees, and the class of the machine.

use std::fs;
use std::path::Path;

use super::subject::{PEERS, Subject};
use crate::programs::{SHORT, output_of, program, target};
use crate::tidy::tree;
use crate::workspace::{At as _, Result, root};

/// A server of this SDK over both transports, for cargo.
const OURS: &str = "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
     --features mcp-server/macros,mcp-server/seal,mcp-server/tasks,mcp-transport-http/server";

/// The size of a program without its symbols, in bytes.
pub(super) fn stripped_size(built: &Path) -> Result<u64> {
    let stripped = target().join("bench/stripped");
    let mut strip = program("strip", "-o");
    output_of(strip.arg(&stripped).arg(built), SHORT).at("strip, of the binutils")?;
    let metadata = fs::metadata(&stripped).at(stripped.display())?;
    Ok(metadata.len())
}

/// The number of crates of a server over both transports, without those of the benchmark.
pub(super) fn crates(subject: Subject) -> Result<usize> {
    let package = format!("--locked -p {}", subject.program());
    let crates = match subject.is_peer() {
        true => tree(&root().join(PEERS), &package)?,
        false => tree(root(), OURS)?,
    };
    let names = crates.iter().map(|(name, _)| name);
    Ok(names.filter(|name| !name.starts_with("bench-")).count())
}

/// The class of this machine in one line, without its name.
pub(super) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // The first line is `MemTotal:  N kB`.
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_whitespace().nth(1);
    let kib: f64 = kib.and_then(|kib| kib.parse().ok()).unwrap_or(0.0);
    let gib = kib / 1_048_576.0;
    let rustc = output_of(&mut program("rustc", "--version"), SHORT).unwrap_or_default();
    let compiler = Vec::from_iter(rustc.split(' ').take(2)).join(" ");
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{cores} cores ({processor}), {gib:.0} GiB of memory, {system}, {compiler}")
}
