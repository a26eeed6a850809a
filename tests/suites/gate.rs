//! A server whose tools wait for permits, and a record of what the tools did.

use crate::prelude::*;

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
    pub(crate) fn server(&self, name: &str) -> Server {
        let (echo, wait) = (self.clone(), self.clone());
        Server::new(name, "1.0.0")
            .tool(Tool::new("echo", move |Args(echoed): Args<Echo>| {
                echo.calls.fetch_add(1, Ordering::SeqCst);
                echoed.message
            }))
            .tool(Tool::new("wait", move |Args(echoed): Args<Echo>| {
                let gate = wait.clone();
                async move {
                    let _running = Running::new(&gate);
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

/// Counts a call as running until it ends in any way.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(gate: &Gate) -> Self {
        let running = gate.running.fetch_add(1, Ordering::SeqCst) + 1;
        gate.max_running.fetch_max(running, Ordering::SeqCst);
        Self(Arc::clone(&gate.running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
