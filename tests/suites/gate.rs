//! A server whose tools wait for permits, and a record of what the tools did.

use crate::prelude::*;
use mcp_server::ServerBuilder;

/// The permits of the tools of [`Gate::server`], and what the tools have done.
#[derive(Clone)]
pub(crate) struct Gate {
    /// `wait` takes one permit before it returns.
    pub(crate) go: Arc<Semaphore>,
    /// `wait` adds one permit when it starts and one when it returns.
    pub(crate) started: Arc<Semaphore>,
    pub(crate) ended: Arc<Semaphore>,
    /// Calls that reached a handler.
    calls: Arc<AtomicUsize>,
    /// Running calls of `wait`, and their maximum.
    pub(crate) running: Arc<AtomicUsize>,
    pub(crate) max_running: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let [go, started, ended] = [0; 3].map(|permits| Arc::new(Semaphore::new(permits)));
        Self {
            go,
            started,
            ended,
            calls: Arc::default(),
            running: Arc::default(),
            max_running: Arc::default(),
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Waits until this many calls of `wait` have started.
    pub(crate) async fn started(&self, calls: u32) {
        self.started.acquire_many(calls).await.unwrap().forget();
    }

    /// Creates a server with two tools: `echo` returns at once, `wait` after it has a permit.
    pub(crate) fn server(&self, name: &str) -> ServerBuilder {
        let (echo, wait) = (self.clone(), self.clone());
        Server::builder(name, "1.0.0")
            .tool(Tool::new("echo", move |Args(echoed): Args<Echo>| {
                echo.calls.fetch_add(1, Ordering::SeqCst);
                echoed.message
            }))
            .tool(Tool::new("wait", move |Args(echoed): Args<Echo>| {
                let gate = wait.clone();
                async move {
                    let (running, _guard) = count_running(&gate.running);
                    gate.max_running.fetch_max(running, Ordering::SeqCst);
                    gate.calls.fetch_add(1, Ordering::SeqCst);
                    gate.started.add_permits(1);
                    pass(&gate.go).await;
                    gate.ended.add_permits(1);
                    echoed.message
                }
            }))
    }
}

/// Takes one permit for good.
pub(crate) async fn pass(semaphore: &Semaphore) {
    semaphore.acquire().await.unwrap().forget();
}

/// Calls a function when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Counts a call as running until the guard is dropped; returns the number of running calls too.
pub(crate) fn count_running(running: &Arc<AtomicUsize>) -> (usize, OnDrop<impl FnMut() + use<>>) {
    let count = running.fetch_add(1, Ordering::SeqCst) + 1;
    let running = Arc::clone(running);
    let guard = OnDrop(move || {
        running.fetch_sub(1, Ordering::SeqCst);
    });
    (count, guard)
}
