//! `mcp bridge` for a long time: calls through it, abandoned sessions, and a server behind it that is killed again and again.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::fit::Fit;
use super::options::Options;
use super::process::{Process, descendants, descriptors, kill, memory};
use super::user::{Outcome, Path, User};
use crate::bench::Fault;
use crate::bench::load::{Connection, open_session, print};
use crate::bench::requests::{Protocol, Requests, Workload};
use crate::random::Random;

/// Clients that call at the same time, half of each kind of revision.
const USERS: u64 = 16;
/// Samples of a run.
const SAMPLES: u32 = 240;
/// Limit of the start of the bridge.
const START: Duration = Duration::from_secs(30);
/// A call may fail if it began less than this before the server was killed, or ended less than this after it.
const NEAR_KILL: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    abandoned: AtomicU64,
    kills: AtomicU64,
    /// Calls that failed while the server was killed and started again.
    interrupted: AtomicU64,
    failed: AtomicU64,
    wrong: AtomicU64,
    hung: AtomicU64,
}

#[derive(Clone, Copy, Serialize)]
struct Sample {
    seconds: f64,
    /// Resident memory of the bridge in MiB.
    bridge: f64,
    descriptors: usize,
    processes: usize,
    zombies: usize,
}

#[derive(Serialize)]
struct Figures {
    minutes: f64,
    warm_minutes: f64,
    users: u64,
    calls: u64,
    abandoned: u64,
    kills: u64,
    interrupted: u64,
    failed: u64,
    wrong: u64,
    hung: u64,
    zombies: usize,
    processes: usize,
    fits: Vec<(&'static str, Fit)>,
    samples: Vec<Sample>,
}

/// State that all tasks share.
struct Shared {
    host: String,
    counts: Counts,
    start: Instant,
    /// Milliseconds from the start to the last kill.
    last_kill: AtomicU64,
    is_over: AtomicBool,
}

impl Shared {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn since_start(&self) -> Duration {
        self.start.elapsed()
    }

    /// Counts a call that began this long after the start.
    fn note(&self, outcome: &Outcome, begin: Duration) {
        Self::count(&self.counts.calls);
        let kill = Duration::from_millis(self.last_kill.load(Ordering::Relaxed));
        let is_near_kill = begin < kill + NEAR_KILL && self.since_start() + NEAR_KILL > kill;
        match outcome {
            Outcome::Right => return,
            Outcome::Failed(_) if kill > Duration::ZERO && is_near_kill => {
                return Self::count(&self.counts.interrupted);
            }
            Outcome::Failed(_) => Self::count(&self.counts.failed),
            Outcome::Wrong(_) => Self::count(&self.counts.wrong),
            Outcome::Hung => Self::count(&self.counts.hung),
        }
        eprintln!("{:.1} s: {outcome:?}", begin.as_secs_f64());
    }
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let minutes = options.number("--minutes", 30)?;
    let calls = options.number("--calls", 1_000_000)?;
    let sessions = options.number("--sessions", 10_000)?;
    let interval = Duration::from_secs(options.number("--kill-seconds", 10)?);
    let program = options.value("--mcp").ok_or(super::options::USAGE)?;
    let seed = options.seed()?;
    let duration = Duration::from_secs(60 * minutes);
    // The port is free again when the listener is dropped.
    let host = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let server = super::process::own()?;
    let bridge = Process::start_program(
        program,
        &["bridge", "--listen", &host, "--", &server, "server"],
    )?;
    wait_for(&host).await?;
    let shared = Arc::new(Shared {
        host,
        counts: Counts::default(),
        start: Instant::now(),
        last_kill: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    });
    let mut running = JoinSet::new();
    let pace = duration / u32::try_from(calls / USERS)?.max(1);
    for number in 0..USERS {
        let path = match number % 2 {
            0 => Path::Session,
            _ => Path::Stateless,
        };
        let random = Random::new(seed.wrapping_add(number));
        running.spawn(call(Arc::clone(&shared), path, pace, random));
    }
    // All of them are gone from the clients' side when the fitted samples begin.
    let pace = duration / 4 / u32::try_from(sessions)?.max(1);
    running.spawn(abandon(Arc::clone(&shared), pace, sessions));
    running.spawn(kill_servers(Arc::clone(&shared), interval));
    let samples = sample(&shared, &bridge, duration).await?;
    shared.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let figures = figures(&shared, samples);
    print(&figures)?;
    match figures.wrong + figures.hung + figures.failed + figures.zombies as u64 {
        0 => Ok(()),
        _ => Err("a call failed, hung or had a wrong answer, or a process was left".into()),
    }
}

fn figures(shared: &Shared, samples: Vec<Sample>) -> Figures {
    let counts = &shared.counts;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let end = samples.last().map_or(0.0, |last| last.seconds);
    let warm = end / 3.0;
    let fits = [
        (
            "memory of the bridge, MiB",
            (|it| it.bridge) as fn(&Sample) -> f64,
        ),
        ("descriptors", |it| it.descriptors as f64),
    ];
    let fits = fits.into_iter().filter_map(|(name, value)| {
        let points = samples.iter().filter(|it| it.seconds >= warm);
        let points: Vec<_> = points.map(|it| (it.seconds, value(it))).collect();
        Fit::of(&points).map(|fit| (name, fit))
    });
    Figures {
        minutes: end / 60.0,
        warm_minutes: warm / 60.0,
        users: USERS,
        calls: count(&counts.calls),
        abandoned: count(&counts.abandoned),
        kills: count(&counts.kills),
        interrupted: count(&counts.interrupted),
        failed: count(&counts.failed),
        wrong: count(&counts.wrong),
        hung: count(&counts.hung),
        zombies: samples.last().map_or(0, |last| last.zombies),
        processes: samples.iter().map(|it| it.processes).max().unwrap_or(0),
        fits: fits.collect(),
        samples,
    }
}

/// Waits until the bridge listens.
async fn wait_for(host: &str) -> Result<(), Fault> {
    let listens = async {
        while TcpStream::connect(host).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    Ok(timeout(START, listens)
        .await
        .map_err(|_| "the bridge does not listen")?)
}

/// Calls at this pace with one client until the run is over.
async fn call(
    shared: Arc<Shared>,
    path: Path,
    pace: Duration,
    mut random: Random,
) -> Result<(), Fault> {
    let user = User::connect(path, &shared.host).await?;
    let mut ticks = interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    while !shared.is_over() {
        ticks.tick().await;
        let begin = shared.since_start();
        let outcome = user.act(&mut random).await;
        shared.note(&outcome, begin);
    }
    Ok(())
}

/// Opens sessions at this pace, makes a call in each, and leaves them without a word.
async fn abandon(shared: Arc<Shared>, pace: Duration, sessions: u64) -> Result<(), Fault> {
    let mut ticks = interval(pace);
    for number in 0..sessions {
        ticks.tick().await;
        if shared.is_over() {
            break;
        }
        let host = &shared.host;
        let mut connection = Connection::open(host).await?;
        let session = open_session(Protocol::Http, host, &mut connection).await?;
        let requests = Requests::new(Protocol::Http, Workload::Echo(64), host, session.as_deref());
        let mut request = Vec::new();
        requests.write(number, &mut request);
        // The server may be killed during this call.
        connection.exchange(&request).await?;
        Shared::count(&shared.counts.abandoned);
    }
    Ok(())
}

/// Kills the server behind the bridge again and again.
async fn kill_servers(shared: Arc<Shared>, every: Duration) -> Result<(), Fault> {
    let mut ticks = interval(every);
    ticks.tick().await;
    while !shared.is_over() {
        // A separate client each time: the server may be started again at this moment.
        let user = User::connect(Path::Stateless, &shared.host).await?;
        if let Ok(tables) = user.tables().await {
            let now = shared.since_start().as_millis();
            shared
                .last_kill
                .store(u64::try_from(now)?, Ordering::Relaxed);
            kill(tables.pid);
            Shared::count(&shared.counts.kills);
        }
        let next = Instant::now() + every;
        while Instant::now() < next && !shared.is_over() {
            sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// Samples the bridge until the end of the run.
async fn sample(
    shared: &Shared,
    bridge: &Process,
    duration: Duration,
) -> Result<Vec<Sample>, Fault> {
    let mut samples = Vec::new();
    let mut ticks = interval(duration / SAMPLES);
    while shared.since_start() < duration {
        ticks.tick().await;
        let (processes, zombies) = descendants(bridge.id());
        let sample = Sample {
            seconds: shared.since_start().as_secs_f64(),
            bridge: memory(bridge.id(), "VmRSS")? as f64 / 1_024.0,
            descriptors: descriptors(bridge.id())?,
            processes,
            zombies,
        };
        eprintln!("{}", serde_json::to_string(&sample)?);
        samples.push(sample);
    }
    Ok(samples)
}
