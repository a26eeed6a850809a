//! Many sessions for a long time: calls, streams, cancellations, disconnects, kills and reconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::fit::Fit;
use super::options::Options;
use super::process::{Process, descriptors, kill, memory};
use super::user::{Outcome, Path, User};
use crate::bench::Fault;
use crate::bench::load::print;
use crate::random::Random;

/// Average pause between two actions of a session, in milliseconds.
const PAUSE: u64 = 1_000;
/// Samples of a run.
const SAMPLES: u32 = 240;

/// What happened, counted.
#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    calls: AtomicU64,
    cancellations: AtomicU64,
    subscriptions: AtomicU64,
    disconnects: AtomicU64,
    kills: AtomicU64,
    fragments: AtomicU64,
    failed: AtomicU64,
    wrong: AtomicU64,
    hung: AtomicU64,
}

#[derive(Clone, Copy, Serialize)]
struct Sample {
    seconds: f64,
    /// Resident memory in MiB: the server over HTTP, one server over stdio, and the process of all clients.
    server: f64,
    stdio: f64,
    clients: f64,
    descriptors: usize,
    tasks: usize,
    sessions: usize,
    subscriptions: usize,
}

#[derive(Serialize)]
struct Figures {
    minutes: u64,
    sessions: u64,
    warm_minutes: f64,
    connections: u64,
    calls: u64,
    cancellations: u64,
    subscriptions: u64,
    disconnects: u64,
    kills: u64,
    fragments: u64,
    failed: u64,
    wrong: u64,
    hung: u64,
    fits: Vec<(&'static str, Fit)>,
    samples: Vec<Sample>,
}

impl Counts {
    fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, outcome: &Outcome) {
        Self::add(&self.calls);
        match outcome {
            Outcome::Right => return,
            Outcome::Wrong(_) => Self::add(&self.wrong),
            Outcome::Failed(_) => Self::add(&self.failed),
            Outcome::Hung => Self::add(&self.hung),
        }
        eprintln!("{outcome:?}");
    }
}

/// State that all sessions share.
struct Shared {
    host: String,
    counts: Counts,
    is_over: AtomicBool,
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let minutes = options.number("--minutes", 60)?;
    let sessions = options.number("--sessions", 1_000)?;
    let seed = options.seed()?;
    let (server, host) = Process::server(&["127.0.0.1:0"]).await?;
    let shared = Arc::new(Shared {
        host,
        counts: Counts::default(),
        is_over: AtomicBool::new(false),
    });
    let mut running = JoinSet::new();
    for number in 0..sessions {
        let path = match number % 20 {
            0 => Path::Stdio,
            number if number % 2 == 1 => Path::Session,
            _ => Path::Stateless,
        };
        let random = Random::new(seed.wrapping_add(number));
        running.spawn(session(Arc::clone(&shared), path, random));
    }
    let samples = sample(&shared, &server, Duration::from_secs(60 * minutes)).await?;
    shared.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = running.join_next().await {
        ended?;
    }
    let end = minutes as f64 * 60.0;
    let warm = end / 3.0;
    let fits = [
        ("server over HTTP", (|it| it.server) as fn(&Sample) -> f64),
        ("server over stdio", |it| it.stdio),
        ("clients", |it| it.clients),
        ("descriptors", |it| it.descriptors as f64),
        ("tasks", |it| it.tasks as f64),
        ("sessions", |it| it.sessions as f64),
        ("subscriptions", |it| it.subscriptions as f64),
    ];
    let fits = fits.into_iter().filter_map(|(name, value)| {
        let points = samples.iter().filter(|it| it.seconds >= warm);
        let points: Vec<_> = points.map(|it| (it.seconds, value(it))).collect();
        Fit::of(&points).map(|fit| (name, fit))
    });
    let counts = &shared.counts;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let figures = Figures {
        minutes,
        sessions,
        warm_minutes: warm / 60.0,
        connections: count(&counts.connections),
        calls: count(&counts.calls),
        cancellations: count(&counts.cancellations),
        subscriptions: count(&counts.subscriptions),
        disconnects: count(&counts.disconnects),
        kills: count(&counts.kills),
        fragments: count(&counts.fragments),
        failed: count(&counts.failed),
        wrong: count(&counts.wrong),
        hung: count(&counts.hung),
        fits: fits.collect(),
        samples,
    };
    print(&figures)?;
    match figures.wrong + figures.hung + figures.failed {
        0 => Ok(()),
        count => Err(format!("{count} calls failed, hung or had a wrong answer").into()),
    }
}

/// Samples the processes until the end of the run.
async fn sample(
    shared: &Shared,
    server: &Process,
    duration: Duration,
) -> Result<Vec<Sample>, Fault> {
    let observer = User::connect(Path::Stateless, &shared.host).await?;
    // A server over stdio that is in use the whole time.
    let stdio = User::connect(Path::Stdio, &shared.host).await?;
    let child = stdio.tables().await?.pid;
    let mut random = Random::new(0);
    let mut samples = Vec::new();
    let start = Instant::now();
    let interval = duration / SAMPLES;
    while start.elapsed() < duration {
        let next = Instant::now() + interval;
        while Instant::now() < next {
            shared.counts.note(&stdio.act(&mut random).await);
            stdio.cancel(Duration::from_millis(random.below(5))).await;
            sleep(Duration::from_millis(random.below(20))).await;
        }
        let tables = observer.tables().await?;
        let mib = |pid| Ok::<_, Fault>(memory(pid, "VmRSS")? as f64 / 1_024.0);
        let sample = Sample {
            seconds: start.elapsed().as_secs_f64(),
            server: mib(server.id())?,
            stdio: mib(child)?,
            clients: mib(std::process::id())?,
            descriptors: descriptors(server.id())?,
            tasks: tables.tasks,
            sessions: tables.sessions,
            subscriptions: tables.subscriptions,
        };
        eprintln!("{}", serde_json::to_string(&sample)?);
        samples.push(sample);
    }
    Ok(samples)
}

/// One session after the other, until the run is over.
async fn session(shared: Arc<Shared>, path: Path, mut random: Random) {
    let counts = &shared.counts;
    let is_over = || shared.is_over.load(Ordering::Relaxed);
    sleep(Duration::from_millis(random.below(10 * PAUSE))).await;
    while !is_over() {
        let user = match User::connect(path, &shared.host).await {
            Ok(user) => user,
            Err(error) => {
                eprintln!("connect: {error}");
                Counts::add(&counts.failed);
                continue;
            }
        };
        Counts::add(&counts.connections);
        for _ in 0..10 + random.below(40) {
            if is_over() {
                break;
            }
            match random.below(10) {
                0 => {
                    Counts::add(&counts.cancellations);
                    user.cancel(Duration::from_millis(random.below(50))).await;
                }
                1 => {
                    Counts::add(&counts.subscriptions);
                    let uri = format!("any:///{}", random.below(1 << 40));
                    counts.note(&user.subscribe(&uri).await);
                }
                2 if path != Path::Stdio => {
                    Counts::add(&counts.fragments);
                    fragment(&shared.host, &mut random).await;
                }
                _ => counts.note(&user.act(&mut random).await),
            }
            sleep(Duration::from_millis(random.below(2 * PAUSE))).await;
        }
        end(user, path, counts, &mut random).await;
    }
}

/// Sends a part of a request and closes the connection.
async fn fragment(host: &str, random: &mut Random) {
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{{\"jsonrpc\""
    );
    let end = random.below(request.len() as u64) as usize;
    if let Ok(mut stream) = TcpStream::connect(host).await {
        // The server may close the connection first.
        let _ = stream.write_all(&request.as_bytes()[..end]).await;
    }
}

/// Ends a session: closed, dropped with a running call, or with a killed server.
async fn end(user: User, path: Path, counts: &Counts, random: &mut Random) {
    match (random.below(3), path) {
        (0, _) => {
            // The server process may have been killed.
            let _ = user.client.close().await;
        }
        (1, Path::Stdio) => {
            if let Ok(tables) = user.tables().await {
                Counts::add(&counts.kills);
                kill(tables.pid);
                // The call fails, and does not hang.
                if user.echo("x".to_owned()).await == Outcome::Hung {
                    counts.note(&Outcome::Hung);
                }
            }
        }
        _ => {
            Counts::add(&counts.disconnects);
            user.cancel(Duration::from_millis(random.below(10))).await;
        }
    }
}
