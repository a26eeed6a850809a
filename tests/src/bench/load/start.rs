//! The time from the start of a server process to its first response.

use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::timeout;

use super::calls::Client;
use super::child::ServerProcess;
use super::options::{Limit, Options};
use crate::bench::Fault;

/// Time limit of one start.
const LIMIT: Duration = Duration::from_secs(30);
/// Limit of starts.
const MOST: u64 = 1_000;

/// Medians in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Start {
    /// From the start of the process to the response to the first call.
    answer_ms: f64,
    /// The processor time of the server until then.
    cpu_ms: f64,
}

/// Starts the server as often as the limit of calls says, and makes one call each time.
pub(super) async fn run(options: &Options) -> Result<Start, Fault> {
    let times = options.limit.calls.min(MOST);
    let (mut answers, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..times.max(1) {
        let begun = Instant::now();
        let mut served = ServerProcess::start(options)?;
        let limit = Limit {
            calls: 1,
            time: LIMIT,
        };
        let once = async {
            let mut client = Client::open(options, &mut served).await?;
            client.calls(limit).await?;
            Ok::<_, Fault>(client)
        };
        let client = timeout(LIMIT, once)
            .await
            .map_err(|_| "no answer in time")??;
        answers.push(begun.elapsed());
        cpus.push(served.cpu()?);
        drop(client);
        served.end()?;
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    Ok(Start {
        answer_ms: median(answers),
        cpu_ms: median(cpus),
    })
}
