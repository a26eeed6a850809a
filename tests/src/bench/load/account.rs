//! Memory and processor cores of processes, as the system reports them.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bench::Fault;

/// The resident memory of a process in KiB.
pub(super) fn resident(pid: u32) -> Result<u64, Fault> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    kib(&status).ok_or_else(|| "the system does not tell resident memory".into())
}

fn kib(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// One core for the server and one for the load, if there are two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    both: Option<[usize; 2]>,
}

impl Cores {
    pub(crate) fn new() -> Self {
        let mut may = sched_getaffinity(None)
            .map(|set| (0..CpuSet::MAX_CPU).filter(move |core| set.is_set(*core)))
            .into_iter()
            .flatten();
        Self {
            both: may.next().zip(may.next()).map(|(a, b)| [a, b]),
        }
    }

    /// Pins what this thread starts from now on to the first core.
    pub(crate) fn of_server(self) {
        self.pin(0);
    }

    /// Pins this thread to the second core.
    pub(crate) fn of_load(self) {
        self.pin(1);
    }

    fn pin(self, which: usize) {
        if let Some(both) = self.both {
            let mut set = CpuSet::new();
            set.set(both[which]);
            // Without pinning the figures vary more, which their spread shows.
            let _ = sched_setaffinity(None, &set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read() {
        assert_eq!(
            kib("Name:\tx\nVmRSS:\t    3204 kB\nThreads:\t2\n"),
            Some(3_204)
        );
        assert_eq!(kib("VmSize: 1 kB\n"), None);
        assert!(resident(std::process::id()).is_ok_and(|kib| kib > 0));
    }
}
