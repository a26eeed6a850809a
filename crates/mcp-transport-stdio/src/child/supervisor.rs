//! The task that owns a child process: it moves the bytes, and then ends the process in steps.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_protocol::Closed;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};

use super::group::Group;
use super::stderr::Tail;
use crate::client::reason;
use crate::connection::Control;
use crate::driver::Driver;
use crate::error::End;
use crate::stray::StrayOutput;

/// Maximum time between the two events that end a child: the end of its output and its exit. After the first event, the task waits
/// this long for the second. Pending calls fail after this time at the latest.
const SETTLE: Duration = Duration::from_millis(50);

/// Maximum time that the task waits to reap a killed process.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Interval at which the task checks whether processes of the group are alive after their leader has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The waits before the steps of the shutdown.
#[derive(Debug, Clone)]
pub(crate) struct Waits {
    pub(crate) eof: Duration,
    pub(crate) term: Duration,
    pub(crate) dropped: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            eof: Duration::from_secs(2),
            term: Duration::from_secs(2),
            dropped: Duration::from_millis(250),
        }
    }
}

pub(crate) struct Supervisor {
    pub(crate) group: Group,
    pub(crate) driver: Driver<ChildStdout, ChildStdin>,
    pub(crate) tail: Tail,
    pub(crate) stray: Arc<StrayOutput>,
    pub(crate) drain: Duration,
    pub(crate) waits: Waits,
    /// The value that [`ChildProcess::process_guard`](super::ChildProcess::process_guard) returned. This is the last field, so
    /// that the value is dropped after the group was killed.
    pub(crate) _guard: Option<Box<dyn Any + Send>>,
}

/// The event that ended the session.
enum Event {
    Stopped,
    Exited(io::Result<ExitStatus>),
    Ended(End),
}

impl Supervisor {
    pub(crate) async fn run(mut self, control: Control) {
        let event = match control.until_stopped(self.serve()).await {
            Some(event) => event,
            None => Event::Stopped,
        };
        let event = self.settle(event).await;
        let (mut reason, exited) = self.closed_reason(event);
        control.close(self.stray.explain(reason.clone()));
        let trouble = match exited {
            true => None,
            false => self.end(&control).await,
        };
        self.group.kill();
        if !exited {
            reason = reason.with_stderr(&self.tail.last_lines());
        }
        reason = self.stray.explain(reason);
        drop(self);
        control.gone(reason, trouble);
    }

    /// Moves bytes until the pipe or the process ends.
    async fn serve(&mut self) -> Event {
        let mut exit = pin!(self.group.wait());
        poll_fn(|cx| {
            if let Poll::Ready(end) = self.driver.poll_run(cx) {
                return Poll::Ready(Event::Ended(end));
            }
            let _ = self.tail.poll_drain(cx);
            exit.as_mut().poll(cx).map(Event::Exited)
        })
        .await
    }

    /// Waits for the remaining output and the exit of a child that is ending. The two can occur in any order. The function waits
    /// for both, because otherwise responses or the last stderr lines could be lost.
    async fn settle(&mut self, event: Event) -> Event {
        match event {
            Event::Exited(status) => {
                // Remaining processes of the group must not keep stdout open.
                self.group.kill();
                let rest = pin!(self.driver.read_rest());
                let _ = timeout(SETTLE, drained(rest, &mut self.tail)).await;
                Event::Exited(status)
            }
            Event::Ended(end) if end.is_peer_gone() => {
                let exit = async {
                    if matches!(end, End::Write(_)) {
                        self.driver.read_rest().await;
                    }
                    self.group.wait().await
                };
                let exit = with_background(exit, |cx| self.tail.poll_drain(cx));
                match timeout(SETTLE, exit).await {
                    Ok(status) => {
                        self.group.kill();
                        Event::Exited(status)
                    }
                    Err(_) => Event::Ended(end),
                }
            }
            other => other,
        }
    }

    /// Returns the reason with which pending calls fail, and whether the process has exited. The reason does not contain the
    /// stray lines yet.
    fn closed_reason(&mut self, event: Event) -> (Closed, bool) {
        match event {
            Event::Stopped => (Closed::local(), false),
            Event::Exited(Ok(status)) => {
                let lines = self.tail.last_lines();
                (Closed::exited(status.to_string(), &lines), true)
            }
            Event::Exited(Err(error)) => (Closed::io(error), false),
            Event::Ended(end) => (reason(end, &self.stray), false),
        }
    }

    /// Closes stdin, waits, sends `SIGTERM`, waits, sends `SIGKILL`, and reaps the process. Returns a text for the user if the
    /// process could not be ended.
    async fn end(&mut self, control: &Control) -> Option<String> {
        let (eof, term) = match control.is_awaited() {
            true => (self.waits.eof, self.waits.term),
            false => (self.waits.dropped, self.waits.dropped),
        };
        let name = self.group.name();
        let _ = timeout(self.drain.min(eof), self.driver.finish()).await;
        self.driver.close_output();
        let Self {
            group,
            driver,
            tail,
            ..
        } = self;
        // Output is discarded meanwhile, because a child that cannot write does not exit.
        let (mut discarded, silent) = (false, AtomicBool::new(false));
        let keep_draining = |cx: &mut Context<'_>| {
            discarded = discarded || driver.poll_discard(cx).is_ready();
            let drained = tail.poll_drain(cx).is_ready();
            silent.store(discarded && drained, Ordering::Relaxed);
            if discarded && drained {
                return Poll::Ready(());
            }
            Poll::Pending
        };
        with_background(run_steps(group, eof, term, &silent), keep_draining)
            .await
            .map_err(|error| format!("{name} did not end: {error}"))
            .err()
    }
}

/// Runs the steps that follow after stdin was closed. `silent` becomes `true` when no process has stdout or stderr open any more.
async fn run_steps(
    group: &mut Group,
    eof: Duration,
    term: Duration,
    silent: &AtomicBool,
) -> io::Result<()> {
    if let Ok(status) = timeout(eof, group.wait()).await {
        return status.map(drop);
    }
    if group.terminate() && timeout(term, group_exited(group, silent)).await.is_ok() {
        return Ok(());
    }
    group.kill();
    match timeout(KILL_WAIT, group.wait()).await {
        Ok(status) => status.map(drop),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "it was killed but is still alive",
        )),
    }
}

/// Completes when the whole group has exited. This process can wait only for the leader. The other processes may never be reaped,
/// so they count as exited when all output has ended.
async fn group_exited(group: &mut Group, silent: &AtomicBool) {
    if group.wait().await.is_ok() {
        while group.is_alive() && !silent.load(Ordering::Relaxed) {
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Waits for `work` and returns its result. Meanwhile, polls `background` until it is ready.
async fn with_background<T>(
    work: impl Future<Output = T>,
    mut background: impl FnMut(&mut Context<'_>) -> Poll<()>,
) -> T {
    let mut work = pin!(work);
    let mut done = false;
    poll_fn(|cx| {
        done = done || background(cx).is_ready();
        work.as_mut().poll(cx)
    })
    .await
}

/// Completes when both stdout and stderr of the child have ended.
async fn drained(rest: impl Future<Output = ()>, tail: &mut Tail) {
    let mut rest = pin!(rest);
    let mut read = false;
    poll_fn(|cx| {
        read = read || rest.as_mut().poll(cx).is_ready();
        match tail.poll_drain(cx) {
            Poll::Ready(()) if read => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
}
