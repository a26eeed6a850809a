//! Memory and processor cores of processes, as the system reports them.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bench::Fault;

/// The resident memory of a process in KiB.
pub(super) fn resident(pid: u32) -> Result<u64, Fault> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    kib(&status).ok_or_else(|| "the system does not tell resident memory".into())
}

/// A process and its descendants that have not ended.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let children: Vec<(u32, u32)> = processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // A process may end in between.
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((parent(&stat)?, pid))
        })
        .collect();
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(&parent) = all.get(next) {
        next += 1;
        let own = children.iter().filter(|(of, _)| *of == parent);
        all.extend(own.map(|(_, pid)| pid));
    }
    all
}

/// The id of the parent, which follows the name in parentheses and the state.
fn parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
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

    #[test]
    fn memory_of_child_processes_is_counted() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let own = std::process::id();
        let family = family(own);
        child.kill().expect("the child runs");
        child.wait().expect("the child ends");
        assert!(
            family.contains(&own) && family.contains(&child.id()),
            "{family:?}"
        );
    }
}
