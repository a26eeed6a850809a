//! The measured client: many calls of the tool `echo`, and the cost of one call for its process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Client, Negotiation};
use mcp_transport_http::HttpTransport;
use mcp_transport_stdio::ChildProcess;
use serde_json::json;
use tokio::task::JoinSet;

use super::Fault;
use super::load::cpu::cpu;
use super::load::{Figures, Times};
use super::requests::Workload;

const USAGE: &str = "usage: bench-client INFLIGHT WARM SECONDS (--http URL | --stdio PROGRAM...)";

/// Limit of calls in flight.
const MOST_INFLIGHT: usize = 4_096;
const ASKED: Workload = Workload::Echo(64);

/// Connects, calls, prints the figures.
///
/// # Errors
/// The arguments are wrong, the server cannot be reached, or an answer is wrong.
pub async fn run(mut args: impl Iterator<Item = String>) -> Result<(), Fault> {
    let mut number = || -> Result<f64, Fault> { Ok(args.next().ok_or(USAGE)?.parse()?) };
    let inflight = number()? as usize;
    let [warm, time] = [number()?, number()?].map(Duration::try_from_secs_f64);
    let (warm, time) = (warm?, time?);
    if !(1..=MOST_INFLIGHT).contains(&inflight) {
        return Err(USAGE.into());
    }
    let builder = Client::builder("bench", "1.0.0").negotiation(Negotiation::SessionBased);
    let kind = args.next();
    let target = args.next().ok_or(USAGE)?;
    let client = match kind.as_deref() {
        Some("--http") => builder.connect(HttpTransport::new(target)?).await?,
        Some("--stdio") => {
            builder
                .connect(ChildProcess::new(target).args(args).env_inherit())
                .await?
        }
        _ => return Err(USAGE.into()),
    };
    calls(&client, inflight, warm).await?;
    let own = std::process::id();
    let (before, start) = (cpu(own)?, Instant::now());
    let times = calls(&client, inflight, time).await?;
    let (took, spent) = (start.elapsed(), cpu(own)?.saturating_sub(before));
    let figures = Figures::new(times, took, Duration::ZERO, spent);
    super::load::print(&figures)?;
    Ok(client.close().await?)
}

/// Makes calls until the time has passed.
async fn calls(client: &Client, inflight: usize, time: Duration) -> Result<Times, Fault> {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..inflight {
        let (client, over) = (client.clone(), Arc::clone(&over));
        tasks.spawn(async move {
            let mut times = Times::default();
            let text = ASKED.text();
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let result = client.call_tool("echo", json!({ "message": text })).await?;
                if result.joined_text() != text {
                    return Err(Fault::from("not what was asked for"));
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
