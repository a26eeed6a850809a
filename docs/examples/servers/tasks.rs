//! A tool call that outlives its request: the client gets a task, polls it, and fetches the result, also with another connection.
//!
//! ```sh
//! cargo run --example tasks -- 127.0.0.1:8000
//! mcp call http://127.0.0.1:8000/mcp archive year=2026 --task
//! ```
//!
//! The second line waits for the task and prints `3 chapters of 2026 are in the archive`. A client without tasks waits for the
//! same result. The tasks are in memory; `long_job` in `tests/examples` keeps them in a file, and its task survives a restart.

use std::time::Duration;

use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use mcp_sdk::server::{Ctx, HandlerError, Server, TaskOptions, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

const CHAPTERS: u32 = 3;

/// Confirms the archive.
#[derive(Deserialize, JsonSchema)]
struct Sure {
    /// Whether to seal the archive.
    yes: bool,
}

/// Writes a year into the archive.
#[tool(task)]
async fn archive(
    /** the year */
    year: u16,
    cx: Ctx,
) -> Result<String, HandlerError> {
    for chapter in 1..=CHAPTERS {
        // Clients that poll the task see this text.
        cx.status(&format!("writing chapter {chapter} of {CHAPTERS}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(format!("{CHAPTERS} chapters of {year} are in the archive"))
}

/// Seals the archive. The task waits for the user, for hours if necessary.
#[tool(task)]
async fn seal(cx: Ctx) -> Result<&'static str, HandlerError> {
    let sure = cx.elicit::<Sure>("Seal the archive?").await?.accepted();
    Ok(match sure {
        Some(Sure { yes: true }) => "the archive is sealed",
        _ => "the archive stays open",
    })
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let options = TaskOptions::new()
        .with_ttl(Duration::from_secs(8 * 3_600))
        .with_poll_interval(Duration::from_millis(100));
    let server = Server::builder("archive", "1.0.0")
        .task_options(options)
        .tool(archive::tool())
        .tool(seal::tool());
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    Ok(serve_with(listener, Endpoint::new(server)?, shutdown_signal()).await?)
}
