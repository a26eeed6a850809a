//! The server as a child process.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::net::unix::pipe;

use super::account::{self, Cores};
use super::cpu;
use super::options::Options;
use crate::bench::Fault;
use crate::bench::requests::address_and_path;

/// Time limit for the start of a server that does not print its URL.
const START: Duration = Duration::from_secs(60);
/// Time limit for the end of the server.
const END: Duration = Duration::from_secs(30);
/// Delay before the signal is sent again: under valgrind a signal can be lost between two system
/// calls.
const AGAIN: Duration = Duration::from_secs(3);
/// Interval at which the start and the end of the process are checked.
const LOOK: Duration = Duration::from_millis(5);

/// A server process with its descendants, which are killed on drop.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    /// The address and path of a server that does not print its URL.
    address: Option<String>,
    /// The server behind this one, which is then a proxy.
    upstream: Option<Box<Self>>,
}

impl ServerProcess {
    /// Starts the program of the command line, after its upstream server if it has one.
    pub(super) fn start(options: &Options) -> Result<Self, Fault> {
        let mut program = options.program.clone();
        let mut upstream = None;
        if !options.upstream.is_empty() {
            let mut started = Self::start_program(&options.upstream)?;
            let url = format!("http://{}/mcp", started.host()?);
            replace(&mut program, "{upstream}", &url);
            upstream = Some(Box::new(started));
        }
        let mut address = None;
        if program.iter().any(|word| word.contains("{port}")) {
            // The port is free again when the listener is dropped.
            let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            replace(&mut program, "{port}", &free.port().to_string());
            address = Some(format!("{free}{}", options.path));
        }
        let mut started = Self::start_program(&program)?;
        started.address = address;
        started.upstream = upstream;
        Ok(started)
    }

    /// Starts a program on the server's core and moves this thread to the other core.
    fn start_program(program: &[String]) -> Result<Self, Fault> {
        let cores = Cores::new();
        let (name, args) = program.split_first().ok_or("no program")?;
        let mut command = Command::new(name);
        command
            .args(args)
            .process_group(0)
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
            address: None,
            upstream: None,
        })
    }

    /// The address of a server over HTTP, perhaps with a path, which it prints as a URL, or which it was told to use.
    pub(super) fn host(&mut self) -> Result<String, Fault> {
        if let Some(address) = &self.address {
            let end = Instant::now() + START;
            while TcpStream::connect(address_and_path(address).0).is_err() {
                if Instant::now() > end || self.child.try_wait()?.is_some() {
                    return Err(format!("the server does not listen on {address}").into());
                }
                std::thread::sleep(LOOK);
            }
            return Ok(address.clone());
        }
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

    /// The processor time so far of the server, its descendants and its upstream server.
    pub(super) fn cpu(&self) -> Result<Duration, Fault> {
        let mut total = cpu::cpu(self.child.id())?;
        if let Some(upstream) = &self.upstream {
            total += upstream.cpu()?;
        }
        for pid in account::family(self.child.id()).into_iter().skip(1) {
            // A process may end in between.
            total += cpu::cpu(pid).unwrap_or_default();
        }
        Ok(total)
    }

    /// The resident memory of the server and its descendants in KiB, without its upstream server.
    pub(super) fn resident(&self) -> Result<u64, Fault> {
        let mut total = account::resident(self.child.id())?;
        for pid in account::family(self.child.id()).into_iter().skip(1) {
            total += account::resident(pid).unwrap_or_default();
        }
        Ok(total)
    }

    /// Ends the server with SIGTERM, so that a profiler can write its report. SIGINT would not do: the background jobs
    /// of a shell ignore it, and so do the programs that they start.
    ///
    /// # Errors
    /// The server does not end in time and is killed.
    pub(super) fn end(mut self) -> Result<(), Fault> {
        self.stdin = None;
        let upstream = self.upstream.take();
        self.end_process()?;
        upstream.map_or(Ok(()), |upstream| upstream.end())
    }

    fn end_process(&mut self) -> Result<(), Fault> {
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
        // The group has ended already if all went well.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Replaces a placeholder in all words.
fn replace(words: &mut [String], placeholder: &str, value: &str) {
    for word in words {
        *word = word.replace(placeholder, value);
    }
}
