//! A server as a child process.
//!
//! The child leads a separate process group. All processes that the child starts therefore end with it (`npx` starts `node`, and
//! `node` starts further processes). One task owns the child. This task moves the bytes, drains stderr, shuts the process down
//! gracefully and always reaps it.
//!
//! Specification:
//! [stdio](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio),
//! [shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown).

mod group;
mod program;
mod stderr;
mod supervisor;

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{BoxFuture, Connection, Inbound, Transport, TransportError};
use tokio::process::Command;

use crate::client;
use crate::connection::channel;
use crate::options::StdioOptions;
use group::Group;
pub use stderr::Stderr;
use stderr::Tail;
use supervisor::{Supervisor, Waits};

/// The process creation flag that prevents Windows from opening a console window for each server.
#[cfg(windows)]
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// A function that receives the id of each started process. The value that it returns is dropped when the process has ended.
type ProcessGuard = Arc<dyn Fn(u32) -> Box<dyn Any + Send> + Send + Sync>;

/// The environment variables that a child inherits from this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inherited {
    /// The variables in [`BASIC_VARIABLES`].
    Basic,
    All,
    Nothing,
}

/// The variables that programs need to run. The official SDKs pass the same variables.
#[cfg(unix)]
const BASIC_VARIABLES: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
/// The variables that programs need to run. The official SDKs pass the same variables.
#[cfg(not(unix))]
const BASIC_VARIABLES: [&str; 12] = [
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// A transport that starts a server as a child process and uses its stdin and stdout.
///
/// Arguments are passed to the program unchanged; no shell is involved. The child receives only some of this process's
/// environment variables; see [`env_inherit`](Self::env_inherit).
///
/// [`Connection::close`] closes the child's stdin, waits, sends `SIGTERM`, waits, sends `SIGKILL`,
/// and completes when the process is reaped. Signals are sent to its whole process group. Dropping
/// the connection does the same in the background, with shorter waits. If the runtime ends first,
/// the group is killed at once. On systems without process groups (Windows), only the process
/// itself is ended, and `SIGTERM` is omitted. The transport must be started within a tokio runtime
/// with I/O and timer enabled; a task of that runtime owns the process.
///
/// ```no_run
/// use mcp_transport_stdio::ChildProcess;
///
/// let transport = ChildProcess::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("LOG_LEVEL", "debug");
/// ```
#[derive(Clone)]
pub struct ChildProcess {
    program: OsString,
    args: Vec<OsString>,
    inherited: Inherited,
    env: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    stderr: Stderr,
    stderr_lines: usize,
    stderr_width: usize,
    waits: Waits,
    process_guard: Option<ProcessGuard>,
    options: StdioOptions,
}

impl ChildProcess {
    /// Creates a transport that runs `program`. A name without a path separator is looked up in
    /// `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            inherited: Inherited::Basic,
            env: Vec::new(),
            directory: None,
            stderr: Stderr::Capture,
            stderr_lines: 20,
            stderr_width: 500,
            waits: Waits::default(),
            process_guard: None,
            options: StdioOptions::for_client(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the child's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes a variable from the child's environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Starts the child with the whole environment of this process. By default, the child receives only a short list of variables
    /// that programs need to run, such as `PATH` and `HOME`. This default keeps API keys of this process away from servers.
    #[must_use]
    pub fn env_inherit(mut self) -> Self {
        self.inherited = Inherited::All;
        self
    }

    /// Starts the child without any variable of this process. The child receives only the variables that [`env`](Self::env) sets,
    /// even if `env` was called before.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherited = Inherited::Nothing;
        self
    }

    /// Sets the working directory of the child.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the handling of the child's stderr. Default: captured.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets how many of the last stderr lines are included in the error when the child ends.
    /// Default 20.
    #[must_use]
    pub fn stderr_lines(mut self, lines: usize) -> Self {
        self.stderr_lines = lines;
        self
    }

    /// Sets how many characters of a stderr line are kept. Default 500.
    #[must_use]
    pub fn stderr_width(mut self, characters: usize) -> Self {
        self.stderr_width = characters;
        self
    }

    /// Sets how long the child may run after its stdin was closed, before it gets `SIGTERM`.
    /// Default 2 s.
    #[must_use]
    pub fn eof_wait(mut self, wait: Duration) -> Self {
        self.waits.eof = wait;
        self
    }

    /// Sets how long the child may run after `SIGTERM`, before it gets `SIGKILL`. Default 2 s.
    #[must_use]
    pub fn term_wait(mut self, wait: Duration) -> Self {
        self.waits.term = wait;
        self
    }

    /// Sets the waits before `SIGTERM` and before `SIGKILL` for a connection that is dropped
    /// without being closed. Default 250 ms each.
    #[must_use]
    pub fn drop_wait(mut self, wait: Duration) -> Self {
        self.waits.dropped = wait;
        self
    }

    /// Sets a function that receives the id of the started process. On Unix, this id is also the id of the process group. The
    /// value that the function returns is dropped when the process and its group have ended. A host can use the function to keep
    /// a list of its children, for example to end them if the host is killed. The function must not block.
    #[must_use]
    pub fn process_guard<G: Send + 'static>(
        mut self,
        guard: impl Fn(u32) -> G + Send + Sync + 'static,
    ) -> Self {
        self.process_guard = Some(Arc::new(move |id| Box::new(guard(id))));
        self
    }

    /// Sets limits and timeouts of the pipe; the default is [`StdioOptions::for_client`].
    #[must_use]
    pub fn options(mut self, options: StdioOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns the absolute path of the program. Looks up a name in the `PATH` of the child's environment. Resolves a path
    /// relative to the child's working directory. Returns `None` if there is no such executable file. This method reads the file
    /// system.
    pub fn locate(&self) -> Option<PathBuf> {
        let is_cleared = self.inherited == Inherited::Nothing;
        program::locate(
            &self.program,
            &self.env,
            is_cleared,
            self.directory.as_deref(),
        )
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program::resolve(&self.program, &self.env));
        command.args(&self.args);
        if self.inherited != Inherited::All {
            command.env_clear();
        }
        if self.inherited == Inherited::Basic {
            let set = |name| Some((name, std::env::var_os(name)?));
            command.envs(BASIC_VARIABLES.iter().filter_map(set));
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(match self.stderr {
            Stderr::Inherit => Stdio::inherit(),
            _ => Stdio::piped(),
        });
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(CREATE_NO_WINDOW);
        command
    }

    fn spawn(self, inbound: Arc<dyn Inbound>) -> Result<Arc<dyn Connection>, TransportError> {
        let mut child = self.command().spawn().map_err(|error| {
            let message = program::explain(
                &self.program,
                &self.env,
                self.inherited == Inherited::Nothing,
                self.directory.as_deref(),
                &error,
            );
            TransportError::new(message).with_source(error)
        })?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(TransportError::new("the child has no stdin or stdout"));
        };
        let tail = Tail::new(
            child.stderr.take(),
            self.stderr,
            self.stderr_lines,
            self.stderr_width,
        );
        let guard = self.process_guard.zip(child.id());
        let guard = guard.map(|(guard, id)| guard(id));
        let group = Group::new(child);
        let (mux, stray, driver) = client::open(inbound, (stdout, stdin), &self.options);
        let (handle, control) = channel(mux);
        let supervisor = Supervisor {
            group,
            driver,
            tail,
            stray,
            drain: self.options.drain_timeout,
            waits: self.waits,
            _guard: guard,
        };
        tokio::spawn(supervisor.run(control));
        Ok(handle)
    }
}

impl Transport for ChildProcess {
    /// Starts the child.
    ///
    /// # Errors
    /// The program cannot be started; the message names the program and the directories that were searched.
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move { self.spawn(inbound) })
    }

    /// Returns a transport that starts the same program again.
    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

impl fmt::Debug for ChildProcess {
    /// Formats the transport without the arguments and the environment, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
