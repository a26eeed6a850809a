//! The server as a child process.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::net::unix::pipe;

use super::account::{self, Cores};
use super::cpu;
use crate::bench::Fault;

/// Time limit for the end of the server.
const END: Duration = Duration::from_secs(30);
/// Delay before the signal is sent again: under valgrind a signal can be lost between two system
/// calls.
const AGAIN: Duration = Duration::from_secs(3);
/// Interval at which the end of the process is checked.
const LOOK: Duration = Duration::from_millis(5);

/// A server process, which is killed on drop.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl ServerProcess {
    /// Starts a program on the server's core and moves this thread to the other core.
    pub(super) fn start(program: &[String]) -> Result<Self, Fault> {
        let cores = Cores::new();
        let (name, args) = program.split_first().ok_or("no program")?;
        let mut command = Command::new(name);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        cores.of_server();
        let spawned = command.spawn();
        cores.of_load();
        let mut child = spawned.map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take().map(BufReader::new),
            child,
        })
    }

    /// The host and port that a server over HTTP prints as a URL.
    pub(super) fn host(&mut self) -> Result<String, Fault> {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().ok_or("stdout is in use")?;
        stdout.read_line(&mut line)?;
        let url = line.trim().strip_prefix("http://");
        let host = url.and_then(|url| url.split('/').next());
        host.map(str::to_owned)
            .ok_or_else(|| format!("the server printed {line:?} instead of its URL").into())
    }

    /// The pipes of a server on stdin and stdout.
    pub(super) fn pipes(&mut self) -> Result<(pipe::Sender, pipe::Receiver), Fault> {
        let stdin = self.stdin.take().ok_or("stdin is in use")?;
        let stdout = self.stdout.take().ok_or("stdout is in use")?;
        Ok((
            pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?,
            pipe::Receiver::from_owned_fd(OwnedFd::from(stdout.into_inner()))?,
        ))
    }

    /// The processor time of the server so far.
    pub(super) fn cpu(&self) -> Result<Duration, Fault> {
        Ok(cpu::cpu(self.child.id())?)
    }

    /// Its resident memory in KiB.
    pub(super) fn resident(&self) -> Result<u64, Fault> {
        account::resident(self.child.id())
    }

    /// Ends the server with SIGTERM, so that a profiler can write its report. SIGINT would not do: the background jobs
    /// of a shell ignore it, and so do the programs that they start.
    ///
    /// # Errors
    /// The server does not end in time and is killed.
    pub(super) fn end(mut self) -> Result<(), Fault> {
        self.stdin = None;
        let end = Instant::now() + END;
        let mut ask = Instant::now();
        while Instant::now() < end {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            if ask <= Instant::now() {
                // The child was not waited for yet, so its id cannot belong to another process.
                let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
                ask += AGAIN;
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("the server did not end within {} s", END.as_secs()).into())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // This has no effect on a child that was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
