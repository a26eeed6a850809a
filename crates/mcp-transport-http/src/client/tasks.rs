//! The tasks of one connection: all of them end with it.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::runtime::Handle;
use tokio::sync::watch;

/// Starts tasks, stops them, and knows when none is left.
pub(crate) struct Tasks {
    /// Kept, so that a call can be dropped anywhere.
    runtime: Handle,
    state: watch::Sender<State>,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    live: usize,
    stopped: bool,
}

/// One task that runs.
struct Live(watch::Sender<State>);

impl Tasks {
    /// # Panics
    /// Outside of a runtime.
    pub(crate) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            state: watch::Sender::default(),
        }
    }

    /// Runs `task` until it is done or all tasks are stopped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.state.send_modify(|state| state.live += 1);
        let live = Live(self.state.clone());
        let mut state = self.state.subscribe();
        self.runtime.spawn(async move {
            let stopped = state.wait_for(|state| state.stopped);
            either(stopped, task).await;
            drop(live);
        });
    }

    /// Runs what outlives the others.
    pub(crate) fn spawn_last(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime.spawn_blocking(work)
    }

    pub(crate) fn stop(&self) {
        self.state.send_modify(|state| state.stopped = true);
    }

    /// Completes when no task is left. Cancel safe.
    pub(crate) async fn ended(&self) {
        let _ = self.state.subscribe().wait_for(|it| it.live == 0).await;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.live -= 1);
    }
}

/// What came first.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for two futures, the first of which goes first.
pub(crate) async fn either<A: Future, B: Future>(
    first: A,
    second: B,
) -> Either<A::Output, B::Output> {
    let mut first = pin!(first);
    let mut second = pin!(second);
    poll_fn(|cx| {
        if let Poll::Ready(output) = first.as_mut().poll(cx) {
            return Poll::Ready(Either::First(output));
        }
        second.as_mut().poll(cx).map(Either::Second)
    })
    .await
}
