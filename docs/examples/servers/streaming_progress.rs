//! A long call: progress and log messages while it runs, and what happens when the client cancels it.
//!
//! ```sh
//! cargo run --example streaming_progress -- 127.0.0.1:8000
//! mcp --verbose call http://127.0.0.1:8000/mcp copy files=20
//! ```
//!
//! The second line shows the progress, and prints `copied 20 files`. After Ctrl-C in the second line, the server prints for example
//! `cancelled after 7 files`.

use std::time::Duration;

use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use mcp_sdk::server::{Ctx, LoggingLevel, Server, tool};
use serde_json::json;
use tokio::net::TcpListener;

/// Reports how far a call was when it was cancelled.
struct Copying {
    done: u32,
    total: u32,
}

impl Drop for Copying {
    fn drop(&mut self) {
        if self.done < self.total {
            eprintln!("cancelled after {} files", self.done);
        }
    }
}

/// Copies files.
#[tool]
async fn copy(
    /** how many */
    files: u32,
    cx: Ctx,
) -> String {
    let mut copying = Copying {
        done: 0,
        total: files,
    };
    for file in 1..=files {
        // A cancelled call ends at the next `.await`: its future is dropped, and `Copying` with it.
        tokio::time::sleep(Duration::from_millis(100)).await;
        copying.done = file;
        // The response becomes an event stream, and the client receives each report at once.
        cx.progress_with(file.into(), f64::from(files), &format!("file {file}"));
        if file == files {
            // Only sent if the client wants messages of this level.
            cx.log_as("copy", LoggingLevel::Info, json!({ "files": files }));
        } else {
            cx.log_as("copy", LoggingLevel::Debug, json!({ "file": file }));
        }
    }
    format!("copied {files} files")
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    let endpoint = Endpoint::new(Server::builder("copier", "1.0.0").tool(copy::tool()))?;
    Ok(serve_with(listener, endpoint, shutdown_signal()).await?)
}
