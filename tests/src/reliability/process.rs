//! Server processes, and what the system says about a process.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::bench::Fault;
use crate::bench::load::family;

const START: Duration = Duration::from_secs(30);

/// The path of this program.
pub(super) fn own() -> Result<String, Fault> {
    let path = std::env::current_exe()?;
    path.into_os_string()
        .into_string()
        .map_err(|path| format!("{} is not UTF-8", path.display()).into())
}

/// A process that is killed on drop.
pub(super) struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts this program with other arguments.
    pub(super) fn start(args: &[&str]) -> Result<Self, Fault> {
        Self::start_program(&own()?, args)
    }

    /// Starts a program.
    pub(super) fn start_program(program: &str, args: &[&str]) -> Result<Self, Fault> {
        let mut child = Command::new(program)
            .args(args)
            // Returns freed memory at once. Otherwise it cannot be told apart from used memory.
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .env("MALLOC_TRIM_THRESHOLD_", "131072")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        Ok(Self {
            child,
            stdout: BufReader::new(stdout),
        })
    }

    /// Starts the server over HTTP, and returns it with its address.
    pub(super) async fn server(args: &[&str]) -> Result<(Self, String), Fault> {
        let words = [&["server", "--http"], args].concat();
        Self::serving(&own()?, &words).await
    }

    /// Starts a program that prints the URL at which it serves, and returns it with its address.
    pub(super) async fn serving(program: &str, args: &[&str]) -> Result<(Self, String), Fault> {
        let mut server = Self::start_program(program, args)?;
        let url = server.line().await?;
        let host = url.strip_prefix("http://");
        let host = host.and_then(|url| url.strip_suffix("/mcp"));
        let host = host.ok_or_else(|| format!("{url:?} is not the URL of a server"))?;
        Ok((server, host.to_owned()))
    }

    /// The next line of its stdout.
    pub(super) async fn line(&mut self) -> Result<String, Fault> {
        let mut line = String::new();
        timeout(START, self.stdout.read_line(&mut line)).await??;
        Ok(line.trim().to_owned())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Kills the process and waits until it has ended.
    pub(super) async fn kill(&mut self) -> Result<(), Fault> {
        Ok(self.child.kill().await?)
    }
}

/// Kills a process that is not a child.
pub(super) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended already.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// A line of `/proc/PID/status` in KiB, for example `VmRSS` or the peak, `VmHWM`.
pub(super) fn memory(pid: u32, name: &str) -> Result<u64, Fault> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim_matches([':', ' ', '\t']).strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| format!("no {name} of process {pid}"))?;
    Ok(kib.trim().parse()?)
}

/// The numbers of descendants of a process that run, and that have ended and were not waited for.
pub(super) fn descendants(pid: u32) -> (usize, usize) {
    let all = family(pid);
    let is_zombie = |pid: &&u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status
            .lines()
            .any(|line| line.starts_with("State:") && line.contains('Z'))
    };
    let zombies = all[1..].iter().filter(is_zombie).count();
    (all.len() - 1 - zombies, zombies)
}

/// The number of open descriptors.
pub(super) fn descriptors(pid: u32) -> Result<usize, Fault> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}
