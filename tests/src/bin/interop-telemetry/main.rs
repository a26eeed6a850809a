//! Sends telemetry of this SDK through a collector of another project, for `cargo xtask interop`.
//!
//! `interop-telemetry PROGRAM ARGS..` starts the collector and lets a client call a server over HTTP. Both export spans
//! and metrics with OTLP to the collector, which passes them on to a sink in this process. The program then checks what
//! arrived, and prints one JSON line per feature, as `interop-client` does. The collector is
//! `tests/interop/wide/pip-collector/collector.py`.

mod checks;
mod collector;
mod conversation;
mod export;
mod records;
#[path = "../interop-client/report.rs"]
#[expect(dead_code, reason = "here nothing may be absent")]
mod report;

use std::process::ExitCode;

use collector::Collector;
use report::{Fault, row};

#[tokio::main]
async fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    match run(&command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: &[String]) -> Result<(), Fault> {
    let collector = Collector::start(command).await?;
    conversation::hold(&collector.url).await?;
    let records = collector.records().await;
    row("spans", async { checks::spans(&records) }).await;
    row("attributes", async { checks::attributes(&records) }).await;
    row("errors", async { checks::errors(&records) }).await;
    row("server-requests", async {
        checks::server_requests(&records)
    })
    .await;
    row("metrics", async { checks::metrics(&records) }).await;
    Ok(())
}
