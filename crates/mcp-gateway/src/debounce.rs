//! Work that runs at most once in 50 ms.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::lock;
use tokio::time::sleep;

/// Delay between the first request for a piece of work and its start. Requests during the delay do not repeat the work.
const DELAY: Duration = Duration::from_millis(50);

/// The state of each kind of work, by key. Requests for the same work that follow each other quickly are combined: at most one
/// task runs for each key.
#[derive(Default)]
pub(crate) struct Debounce(Mutex<BTreeMap<&'static str, State>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    /// The work is running, and was requested again.
    RunningAndRequested,
}

impl Debounce {
    /// Does the work after a short delay. If the work is requested several times during the delay, it runs once.
    pub(crate) fn run<F, W>(self: &Arc<Self>, key: &'static str, work: F)
    where
        F: Fn() -> W + Send + 'static,
        W: Future<Output = ()> + Send,
    {
        match lock(&self.0).entry(key) {
            std::collections::btree_map::Entry::Occupied(mut state) => {
                if *state.get() == State::Running {
                    state.insert(State::RunningAndRequested);
                }
                return;
            }
            std::collections::btree_map::Entry::Vacant(state) => state.insert(State::Waiting),
        };
        let debounce = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(DELAY).await;
                lock(&debounce.0).insert(key, State::Running);
                work().await;
                let mut states = lock(&debounce.0);
                if states.get(key) == Some(&State::Running) {
                    states.remove(key);
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_requests_for_the_same_work_run_one_task() {
        let (sender, mut done) = mpsc::channel(64);
        let debounce = Arc::new(Debounce::default());
        for _ in 0..1_000 {
            let sender = sender.clone();
            debounce.run("list", move || {
                let sender = sender.clone();
                async move { sender.send(()).await.unwrap() }
            });
        }
        done.recv().await.unwrap();
        sleep(DELAY * 4).await;
        assert!(done.try_recv().is_err());
        assert!(lock(&debounce.0).is_empty());
    }
}
