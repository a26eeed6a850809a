//! A child process that leads a process group, and that must be reaped.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;

/// Maximum time that dropping a [`Group`] waits to reap the killed process.
const LAST_WAIT: Duration = Duration::from_millis(50);

/// A child process that leads a process group. Dropping this value kills the group.
pub(crate) struct Group {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
    reaped: bool,
    /// Whether the leader was reaped and all other processes were killed. The system may then reuse the id of the group.
    over: bool,
}

impl Group {
    pub(crate) fn new(child: Child) -> Self {
        #[cfg(unix)]
        let id = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        Self {
            child,
            #[cfg(unix)]
            id,
            reaped: false,
            over: false,
        }
    }

    /// Returns the leader's process id as text, for messages.
    pub(crate) fn name(&self) -> String {
        self.child
            .id()
            .map_or_else(|| "the process".to_owned(), |id| format!("process {id}"))
    }

    /// Waits for the leader and reaps it. Cancel safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.reaped = status.is_ok();
        status
    }

    /// Sends `SIGTERM` to the group. Returns `false` if this is not possible.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) -> bool {
        self.signal(rustix::process::Signal::TERM);
        true
    }

    /// Sends `SIGTERM` to the group. Returns `false` if this is not possible.
    #[cfg(not(unix))]
    pub(crate) fn terminate(&self) -> bool {
        false
    }

    /// Kills the group, whether or not its leader has exited.
    #[cfg(unix)]
    pub(crate) fn kill(&mut self) {
        if !self.over {
            self.signal(rustix::process::Signal::KILL);
            self.over = self.reaped;
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn kill(&mut self) {
        if !self.over && !self.reaped {
            let _ = self.child.start_kill();
        }
        self.over = self.reaped;
    }

    /// Returns whether any process of the group is alive.
    #[cfg(unix)]
    pub(crate) fn is_alive(&self) -> bool {
        self.id
            .is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    /// Returns whether any process of the group is alive.
    #[cfg(not(unix))]
    pub(crate) fn is_alive(&self) -> bool {
        !self.reaped
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // The error means that there is no such group: all of its processes have exited.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    /// Kills the group at once, because a graceful shutdown needs a runtime.
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill();
        let started = std::time::Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if started.elapsed() > LAST_WAIT {
                return; // tokio reaps it later
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
