//! Streamable HTTP against hostile and failing peers. The number at the start of a test name is the
//! attack in the threat model.

mod bodies;
#[cfg(target_os = "linux")]
mod exhaustion;
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
#[cfg(target_os = "linux")]
mod trees;

use mcp_server::ServerBuilder;
use mcp_tests::tcp::{Conn, RunningServer, Session};

use crate::gate::Gate;
use crate::prelude::*;

/// How many notifications `floods` sends, and their size: more than all buffers of a connection
/// together.
const FLOOD: (usize, usize) = (400, 16 << 10);

/// Adds tools to those of the gate: `speaks` sends a notification before it returns, and `floods` sends too many.
fn server(gate: &Gate) -> ServerBuilder {
    gate.server("attacked")
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

async fn served(gate: &Gate) -> RunningServer {
    RunningServer::start(server(gate), ServerOptions::new()).await
}

/// Asserts that a call is served.
async fn healthy(conn: &mut Conn, session: &Session) {
    let answer = conn.ask(&session.tool(1, "echo", "well")).await;
    assert_eq!(answer.said(), "well");
}
