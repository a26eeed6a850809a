//! Streamable HTTP against hostile and failing peers. The number at the start of a test name is the
//! attack in the threat model.

mod bodies;
mod floods;
mod h2;
mod isolation;
mod json;
#[cfg(target_os = "linux")]
mod memory;
mod mounts;
mod pieces;
mod reset;
mod slow;
mod source;
mod tasks;

use mcp_tests::tcp::{Conn, RunningServer, Session};

use crate::prelude::*;

/// What the tools of [`server`] have done, and permits for what they may do.
#[derive(Clone)]
struct Witness {
    /// Calls that reached a handler.
    calls: Arc<AtomicUsize>,
    /// Running calls of `wait`, and their maximum.
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// `wait` takes one permit before it returns, and adds one when it starts.
    go: Arc<Semaphore>,
    started: Arc<Semaphore>,
}

impl Witness {
    fn new() -> Self {
        Self {
            calls: Arc::default(),
            running: Arc::default(),
            most: Arc::default(),
            go: Arc::new(Semaphore::new(0)),
            started: Arc::new(Semaphore::new(0)),
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Waits until this many calls of `wait` have started.
    async fn started(&self, calls: u32) {
        self.started.acquire_many(calls).await.unwrap().forget();
    }
}

/// Counts a call as running until it ends in any way.
struct Runs(Arc<AtomicUsize>);

impl Runs {
    fn new(witness: &Witness) -> Self {
        let running = witness.running.fetch_add(1, Ordering::SeqCst) + 1;
        witness.most.fetch_max(running, Ordering::SeqCst);
        Self(Arc::clone(&witness.running))
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many notifications `floods` sends, and their size: more than all buffers of a connection
/// together.
const FLOOD: (usize, usize) = (400, 16 << 10);

/// `echo` returns at once, `wait` after a permit, `speaks` sends a notification first, and `floods` sends far too many.
fn server(witness: &Witness) -> Server {
    let (echo, wait) = (witness.clone(), witness.clone());
    Server::new("attacked", "1.0.0")
        .tool(Tool::new("echo", move |Args(it): Args<Echo>| {
            echo.calls.fetch_add(1, Ordering::SeqCst);
            it.message
        }))
        .tool(Tool::new("wait", move |Args(it): Args<Echo>| {
            let witness = wait.clone();
            async move {
                let _runs = Runs::new(&witness);
                witness.calls.fetch_add(1, Ordering::SeqCst);
                witness.started.add_permits(1);
                witness.go.acquire().await.unwrap().forget();
                it.message
            }
        }))
        .tool(Tool::new("speaks", |Args(it): Args<Echo>, cx: Ctx| {
            cx.log(LoggingLevel::Error, "soon");
            it.message
        }))
        .tool(Tool::new(
            "floods",
            |Args(it): Args<Echo>, cx: Ctx| async move {
                let (events, bytes) = FLOOD;
                for _ in 0..events {
                    cx.log(LoggingLevel::Error, "x".repeat(bytes));
                    // Lets the connection take what it can.
                    tokio::task::yield_now().await;
                }
                it.message
            },
        ))
}

async fn served(witness: &Witness) -> RunningServer {
    RunningServer::start(server(witness), Options::new()).await
}

/// Asserts that a call is served.
async fn healthy(conn: &mut Conn, session: &Session) {
    let answer = conn.ask(&session.tool(1, "echo", "well")).await;
    assert_eq!(answer.said(), "well");
}
