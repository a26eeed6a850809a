//! A process, the group it leads, and the duty to reap it.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;

/// How long a killed process may take to be reaped when nobody can wait for it asynchronously.
const LAST_WAIT: Duration = Duration::from_millis(50);

/// A child that leads its own process group. Dropping it kills the group.
pub(crate) struct Group {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
    reaped: bool,
    /// The leader was reaped and the rest killed: its number may be somebody else's from now on.
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

    /// The process id of the leader, for messages.
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

    /// Asks the group to leave; `false` where that cannot be asked.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) -> bool {
        self.signal(rustix::process::Signal::TERM);
        true
    }

    /// Asks the group to leave; `false` where that cannot be asked.
    #[cfg(not(unix))]
    pub(crate) fn terminate(&self) -> bool {
        false
    }

    /// Ends the group, whether its leader has left or not.
    #[cfg(unix)]
    pub(crate) fn kill(&mut self) {
        if !self.over {
            self.signal(rustix::process::Signal::KILL);
            self.over = self.reaped;
        }
    }

    /// Ends the process.
    #[cfg(not(unix))]
    pub(crate) fn kill(&mut self) {
        if !self.over && !self.reaped {
            let _ = self.child.start_kill();
        }
        self.over = self.reaped;
    }

    /// Whether anything of the group is left.
    #[cfg(unix)]
    pub(crate) fn is_alive(&self) -> bool {
        self.id
            .is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    /// Whether anything of the group is left.
    #[cfg(not(unix))]
    pub(crate) fn is_alive(&self) -> bool {
        !self.reaped
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // No such group: all of it has left.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    /// Without a runtime there is no waiting in good order.
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill();
        let started = std::time::Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if started.elapsed() > LAST_WAIT {
                return; // tokio reaps it when it can
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
