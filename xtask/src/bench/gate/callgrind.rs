//! Counting instructions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::paths::Path as Gated;
use crate::programs::{SHORT, ask, run};

/// How long one run may take; under callgrind a program is some fifty times slower.
const LIMIT: Duration = Duration::from_secs(300);

/// Valgrind, if it is there.
pub(super) fn valgrind() -> Result<PathBuf, String> {
    ask(Command::new("valgrind").arg("--version"), SHORT)
        .map(|_| "valgrind".into())
        .map_err(|error| {
            format!(
                "the gate counts instructions with valgrind, which is not here ({error}); install the package valgrind \
                 of your system (apt, dnf, pacman and apk all call it that)"
            )
        })
}

/// Counts what servers do.
#[derive(Debug)]
pub(super) struct Callgrind {
    valgrind: PathBuf,
    load: PathBuf,
    folder: PathBuf,
}

impl Callgrind {
    pub(super) fn new(valgrind: PathBuf, load: PathBuf, folder: PathBuf) -> Self {
        Self {
            valgrind,
            load,
            folder,
        }
    }

    /// Where the files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Instructions per call of a server.
    pub(super) fn per_call(&self, server: &Path, name: &str, path: &Gated) -> Result<u64, String> {
        let few = self.total(server, name, path, path.few)?;
        let many = self.total(server, name, path, path.few + path.more)?;
        let more = many
            .checked_sub(few)
            .ok_or_else(|| format!("{name}, {}: more calls took fewer instructions", path.name))?;
        Ok((more as f64 / f64::from(path.more)).round() as u64)
    }

    /// Instructions of a whole run.
    fn total(&self, server: &Path, name: &str, path: &Gated, calls: u32) -> Result<u64, String> {
        let file = self
            .folder
            .join(format!("{}.{name}.{calls}.out", path.name));
        let mut command = Command::new(&self.load);
        command
            .arg("calls")
            .args(["--wire", path.wire, "--ask", path.ask, "--batch"])
            .args(["--inflight", &path.batch.to_string()])
            .args(["--calls", &calls.to_string()])
            .arg("--")
            .arg(&self.valgrind)
            .args(["--tool=callgrind", "-q"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(server)
            .args(path.server())
            // One worker, so that nobody's waking up is counted by chance.
            .env("TOKIO_WORKER_THREADS", "1");
        run(&mut command, LIMIT, |_| {})
            .map_err(|error| format!("{name}, {}: {error}", path.name))?;
        let failed = |error: String| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
        totals(&text).ok_or_else(|| failed("callgrind wrote no total".to_owned()))
    }
}

/// The total of a file that callgrind wrote; several, if a run has several parts.
fn totals(text: &str) -> Option<u64> {
    let mut totals = text
        .lines()
        .filter_map(|line| line.strip_prefix("totals:"))
        .map(|number| number.trim().parse::<u64>().ok())
        .peekable();
    totals.peek()?;
    totals.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_and_summed() {
        let part =
            |total: &str| format!("events: Ir\nsummary: 1\nfn=(1) main\n3 40\n\ntotals: {total}\n");
        assert_eq!(totals(&part("123456")), Some(123_456));
        assert_eq!(totals(&(part("5") + &part("6"))), Some(11));
        assert_eq!(totals("events: Ir\n"), None);
        assert_eq!(totals("totals: many\n"), None);
    }
}
