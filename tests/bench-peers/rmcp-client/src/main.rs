//! `bench-client`, written with the client of the official Rust SDK.

#[allow(dead_code)]
#[path = "../../../src/bench/load/cpu.rs"]
mod cpu;
#[allow(dead_code)]
#[path = "../../../src/bench/load/figures.rs"]
mod figures;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ContentBlock};
use rmcp::service::{Peer, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt as _};
use tokio::task::JoinSet;

use cpu::cpu;
use figures::{Figures, Times};

type Fault = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str =
    "usage: bench-rmcp-client INFLIGHT WARM SECONDS (--http URL | --stdio PROGRAM...)";

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let mut args = std::env::args().skip(1);
    let mut number = || -> Result<f64, Fault> { Ok(args.next().ok_or(USAGE)?.parse()?) };
    let inflight = number()? as usize;
    let [warm, time] = [number()?, number()?].map(Duration::try_from_secs_f64);
    let (warm, time) = (warm?, time?);
    let kind = args.next();
    let target = args.next().ok_or(USAGE)?;
    let client: RunningService<RoleClient, ()> = match kind.as_deref() {
        Some("--http") => {
            ().serve(StreamableHttpClientTransport::from_uri(target))
                .await?
        }
        Some("--stdio") => {
            let mut command = tokio::process::Command::new(target);
            command.args(args);
            ().serve(TokioChildProcess::new(command)?).await?
        }
        _ => return Err(USAGE.into()),
    };
    calls(client.peer(), inflight, warm).await?;
    let own = std::process::id();
    let (before, start) = (cpu(own)?, Instant::now());
    let times = calls(client.peer(), inflight, time).await?;
    let (took, spent) = (start.elapsed(), cpu(own)?.saturating_sub(before));
    let figures = Figures::new(times, took, Duration::ZERO, spent);
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&figures)?)?;
    client.cancel().await?;
    Ok(())
}

/// Makes calls until the time has passed.
async fn calls(peer: &Peer<RoleClient>, inflight: usize, time: Duration) -> Result<Times, Fault> {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..inflight {
        let (peer, over) = (peer.clone(), Arc::clone(&over));
        tasks.spawn(async move {
            let mut times = Times::default();
            let text = "x".repeat(64);
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let message = serde_json::Value::from(text.clone());
                let arguments = serde_json::Map::from_iter([("message".to_owned(), message)]);
                let call = CallToolRequestParams::new("echo").with_arguments(arguments);
                let response = peer.call_tool_once(call).await?;
                let rmcp::model::CallToolResponse::Complete(result) = response else {
                    return Err(Fault::from("no result"));
                };
                match result.content.first() {
                    Some(ContentBlock::Text(content)) if content.text == text => {}
                    _ => return Err(Fault::from("the response is not the expected one")),
                }
                times.note(start.elapsed());
            }
            Ok(times)
        });
    }
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let mut times = Times::default();
    while let Some(done) = tasks.join_next().await {
        times.add(&done??);
    }
    Ok(times)
}
