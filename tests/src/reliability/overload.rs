//! Ten times the capacity of a server: what is still useful, how long it takes, and how the rest is refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::options::Options;
use super::process::{Process, memory};
use crate::bench::Fault;
use crate::bench::load::{Connection, Cores, open_session, print};
use crate::bench::requests::{Protocol, Requests, Workload};

/// How long a call needs one of the four permits of the tool.
const MICROS: usize = 4_000;
/// Connections that measure the capacity.
const CALM: usize = 8;
/// Connections of the overload, twice the default of `RequestLimits::max_in_flight`.
const BUSY: usize = 2_048;
const FACTOR: f64 = 10.0;
const HANG: Duration = Duration::from_secs(30);
const PROTOCOL: Protocol = Protocol::Http;

/// Resident memory at a time of the overload.
#[derive(Serialize)]
struct Sample {
    seconds: f64,
    mib: f64,
}

#[derive(Default)]
struct Counts {
    offered: u64,
    /// Times of calls with the right answer.
    times: Vec<Duration>,
    refused: u64,
    /// Other ends, by their reason.
    silent: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Figures {
    seconds: u64,
    connections: usize,
    capacity: f64,
    calm_p99_ms: f64,
    offered: f64,
    useful: f64,
    p50_ms: f64,
    p99_ms: f64,
    refused: u64,
    silent: u64,
    reasons: BTreeMap<String, u64>,
    /// Absent if the server did not recover.
    recovery_ms: Option<f64>,
    idle_mib: f64,
    peak_mib: f64,
    samples: Vec<Sample>,
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let seconds = options.number("--seconds", 60)?;
    let cores = Cores::new();
    cores.of_server();
    let server = match options.value("--server") {
        Some(program) => Process::serving(program, &["--http", "127.0.0.1:0"]).await,
        None => Process::server(&["127.0.0.1:0"]).await,
    };
    cores.of_load();
    let (server, host) = server?;
    let mib = |name| Ok::<_, Fault>(memory(server.id(), name)? as f64 / 1_024.0);
    let calm = load(&host, CALM, None, Duration::from_secs(10)).await?;
    let capacity = calm.times.len() as f64 / 10.0;
    let idle_mib = mib("VmRSS")?;
    eprintln!("{capacity:.0} calls/s, then {BUSY} connections for {seconds} s");
    let pace = Duration::from_secs_f64(BUSY as f64 / (capacity * FACTOR));
    let duration = Duration::from_secs(seconds);
    let watch = async {
        let mut samples = Vec::new();
        let start = Instant::now();
        loop {
            sleep(Duration::from_millis(500)).await;
            let seconds = start.elapsed().as_secs_f64();
            let mib = mib("VmRSS")?;
            samples.push(Sample { seconds, mib });
            if start.elapsed() > duration {
                return Ok::<_, Fault>(samples);
            }
        }
    };
    let (busy, samples) = tokio::join!(load(&host, BUSY, Some(pace), duration), watch);
    let (busy, samples) = (busy?, samples?);
    let recovery = recovery(&host, percentile(&calm.times, 0.99)).await;
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    let figures = Figures {
        seconds,
        connections: BUSY,
        capacity,
        calm_p99_ms: millis(percentile(&calm.times, 0.99)),
        offered: busy.offered as f64 / seconds as f64,
        useful: busy.times.len() as f64 / seconds as f64,
        p50_ms: millis(percentile(&busy.times, 0.5)),
        p99_ms: millis(percentile(&busy.times, 0.99)),
        refused: busy.refused,
        silent: busy.silent.values().sum(),
        reasons: busy.silent,
        recovery_ms: recovery.map(millis),
        idle_mib,
        peak_mib: mib("VmHWM")?,
        samples,
    };
    print(&figures)
}

fn percentile(times: &[Duration], part: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() as f64 * part) as usize;
    times.get(at).copied().unwrap_or_default()
}

/// Calls on this many connections: one after the other, or at a pace.
async fn load(
    host: &str,
    connections: usize,
    pace: Option<Duration>,
    duration: Duration,
) -> Result<Counts, Fault> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::open(host).await?;
        let session = open_session(PROTOCOL, host, &mut connection).await?;
        let work = Workload::Work(MICROS);
        opened.push((
            connection,
            Requests::new(PROTOCOL, work, host, session.as_deref()),
        ));
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for (number, (connection, requests)) in opened.into_iter().enumerate() {
        let start = pace.map(|pace| pace * number as u32 / connections as u32);
        let is_over = Arc::clone(&is_over);
        let host = host.to_owned();
        callers.spawn(async move {
            sleep(start.unwrap_or_default()).await;
            caller(connection, &host, &requests, pace, &is_over).await
        });
    }
    sleep(duration).await;
    is_over.store(true, Ordering::Relaxed);
    let mut all = Counts::default();
    while let Some(counts) = callers.join_next().await {
        let counts = counts?;
        all.offered += counts.offered;
        all.refused += counts.refused;
        all.times.extend(counts.times);
        for (reason, count) in counts.silent {
            *all.silent.entry(reason).or_default() += count;
        }
    }
    Ok(all)
}

async fn caller(
    mut connection: Connection,
    host: &str,
    requests: &Requests,
    pace: Option<Duration>,
    is_over: &AtomicBool,
) -> Counts {
    let mut counts = Counts::default();
    let mut ticks = pace.map(interval);
    if let Some(ticks) = &mut ticks {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    }
    let mut request = Vec::new();
    loop {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        if is_over.load(Ordering::Relaxed) {
            return counts;
        }
        counts.offered += 1;
        request.clear();
        requests.write(counts.offered, &mut request);
        let start = Instant::now();
        let ended = timeout(HANG, connection.exchange(&request)).await;
        let reason = match ended {
            Ok(Ok(reply)) => match (reply.head.status, reply.body) {
                (200, body) if memchr::memmem::find(body, b"done").is_some() => {
                    // Calls that end later were not useful within the duration.
                    if !is_over.load(Ordering::Relaxed) {
                        counts.times.push(start.elapsed());
                    }
                    continue;
                }
                (429 | 503, body) if says_why(body) => {
                    counts.refused += 1;
                    continue;
                }
                (status, _) => format!("status {status} without a reason"),
            },
            Ok(Err(error)) => error.to_string().chars().take(80).collect(),
            Err(_) => format!("no answer in {} s", HANG.as_secs()),
        };
        *counts.silent.entry(reason).or_default() += 1;
        match Connection::open(host).await {
            Ok(fresh) => connection = fresh,
            Err(_) => return counts,
        }
    }
}

/// Whether the body is a JSON-RPC error with a message.
fn says_why(body: &[u8]) -> bool {
    let error: Option<Value> = serde_json::from_slice(body).ok();
    error.is_some_and(|error| error["error"]["message"].is_string())
}

/// Time from now until three calls in sequence take no longer than before the overload.
async fn recovery(host: &str, normal: Duration) -> Option<Duration> {
    let start = Instant::now();
    let mut in_sequence = 0;
    while start.elapsed() < HANG {
        let probe = load(host, 1, None, Duration::from_millis(20)).await;
        let worst = probe.map(|probe| {
            let is_clean = probe.refused == 0 && probe.silent.is_empty();
            (is_clean, percentile(&probe.times, 1.0))
        });
        in_sequence = match worst {
            Ok((true, worst)) if worst <= normal * 2 => in_sequence + 1,
            _ => 0,
        };
        if in_sequence == 3 {
            return Some(start.elapsed());
        }
    }
    None
}
