//! Connections that are cut, delayed and repeated, and servers and clients that are killed. Each call must end: with its
//! answer, or with an error.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::options::Options;
use super::process::{Process, kill};
use super::proxy::Proxy;
use super::user::{Outcome, Path, User};
use crate::bench::Fault;
use crate::bench::load::print;
use crate::random::Random;

/// Workers of each part.
const WORKERS: u64 = 16;
/// How long a server may take to forget killed clients.
const FORGET: Duration = Duration::from_secs(60);

/// How calls ended.
#[derive(Default, Serialize)]
struct Ends {
    right: AtomicU64,
    /// Errors that the caller received.
    failed: AtomicU64,
    /// Answers to another call, or progress that came twice.
    wrong: AtomicU64,
    hung: AtomicU64,
}

impl Ends {
    fn note(&self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Right => &self.right,
            Outcome::Failed(_) => &self.failed,
            Outcome::Wrong(_) => &self.wrong,
            Outcome::Hung => &self.hung,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if matches!(outcome, Outcome::Wrong(_) | Outcome::Hung) {
            eprintln!("{outcome:?}");
        }
    }

    fn broken(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed) + self.hung.load(Ordering::Relaxed)
    }
}

#[derive(Default, Serialize)]
struct Figures {
    seed: u64,
    cuts: u64,
    delays: u64,
    repeats: u64,
    #[serde(serialize_with = "shared")]
    through_proxy: Arc<Ends>,
    server_kills: u64,
    #[serde(serialize_with = "shared")]
    killed_servers: Arc<Ends>,
    client_kills: u64,
    /// Servers over stdio that outlived their killed client.
    orphans: u64,
    /// Calls of sessions that still ran without their client, because a disconnect does not cancel them (2025-11-25,
    /// basic/transports).
    requests_left: usize,
    /// Subscriptions of killed clients that the server still kept.
    subscriptions_left: usize,
}

fn shared<S: Serializer>(ends: &Arc<Ends>, serializer: S) -> Result<S::Ok, S::Error> {
    Ends::serialize(ends, serializer)
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let cuts = options.number("--cuts", 1_000)?;
    let kills = options.number("--kills", 1_000)?;
    let mut figures = Figures {
        seed: options.seed()?,
        server_kills: kills,
        client_kills: kills,
        ..Figures::default()
    };
    disturb(&mut figures, cuts).await?;
    eprintln!("{} connections were cut", figures.cuts);
    let seed = figures.seed;
    let ends = &figures.killed_servers;
    parallel(kills, seed, |random| kill_server(Arc::clone(ends), random)).await?;
    eprintln!("{kills} servers were killed");
    kill_clients(&mut figures, kills).await?;
    print(&figures)?;
    let broken = figures.through_proxy.broken() + figures.killed_servers.broken() + figures.orphans;
    match broken + figures.subscriptions_left as u64 {
        0 => Ok(()),
        count => Err(format!("{count} promises are broken").into()),
    }
}

/// Runs a part `count` times, with several workers.
async fn parallel<F>(count: u64, seed: u64, part: impl Fn(Random) -> F) -> Result<(), Fault>
where
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for number in 0..count {
        if number >= WORKERS
            && let Some(ended) = running.join_next().await
        {
            ended??;
        }
        running.spawn(part(Random::new(seed.wrapping_add(number))));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// Uses a server through a proxy until it has cut enough connections.
async fn disturb(figures: &mut Figures, cuts: u64) -> Result<(), Fault> {
    let (_server, host) = Process::server(&["127.0.0.1:0"]).await?;
    let proxy = Proxy::start(&host, figures.seed).await?;
    let mut running = JoinSet::new();
    for number in 0..WORKERS {
        let path = if number % 2 == 0 {
            Path::Session
        } else {
            Path::Stateless
        };
        let mut random = Random::new(figures.seed.wrapping_add(number));
        let (host, ends) = (proxy.host.clone(), Arc::clone(&figures.through_proxy));
        let disturbed = Arc::clone(&proxy.disturbed);
        running.spawn(async move {
            while disturbed.cuts.load(Ordering::Relaxed) < cuts {
                let Ok(user) = User::connect(path, &host).await else {
                    ends.note(&Outcome::Failed(String::new()));
                    continue;
                };
                for _ in 0..random.below(30) {
                    ends.note(&user.act(&mut random).await);
                }
            }
        });
    }
    while let Some(ended) = running.join_next().await {
        ended?;
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    figures.cuts = count(&proxy.disturbed.cuts);
    figures.delays = count(&proxy.disturbed.delays);
    figures.repeats = count(&proxy.disturbed.repeats);
    Ok(())
}

/// Kills a server while its client makes calls.
async fn kill_server(ends: Arc<Ends>, mut random: Random) -> Result<(), Fault> {
    let is_stdio = random.below(2) == 0;
    let wait = Duration::from_micros(random.below(20_000));
    let (server, user) = if is_stdio {
        (None, User::connect(Path::Stdio, "").await?)
    } else {
        let (server, host) = Process::server(&["127.0.0.1:0"]).await?;
        let path = if random.below(2) == 0 {
            Path::Session
        } else {
            Path::Stateless
        };
        (Some(server), User::connect(path, &host).await?)
    };
    let pid = user.tables().await?.pid;
    let killing = async {
        sleep(wait).await;
        kill(pid);
        if let Some(mut server) = server {
            server.kill().await?;
        }
        Ok::<_, Fault>(())
    };
    let calling = async {
        loop {
            let outcome = user.act(&mut random).await;
            ends.note(&outcome);
            if outcome != Outcome::Right {
                break;
            }
        }
    };
    let (killed, ()) = tokio::join!(killing, calling);
    killed
}

/// Kills processes with clients, and checks that their servers end and forget them.
async fn kill_clients(figures: &mut Figures, kills: u64) -> Result<(), Fault> {
    let (_server, host) = Process::server(&["127.0.0.1:0"]).await?;
    let orphans = Arc::new(AtomicU64::new(0));
    parallel(kills, figures.seed, |mut random| {
        let (host, orphans) = (host.clone(), Arc::clone(&orphans));
        async move {
            let mut user = Process::start(&["user", &host])?;
            let child: u32 = user.line().await?.parse()?;
            sleep(Duration::from_micros(random.below(20_000))).await;
            user.kill().await?;
            let has_ended = until(|| !is_running(child)).await;
            orphans.fetch_add(u64::from(!has_ended), Ordering::Relaxed);
            Ok(())
        }
    })
    .await?;
    figures.orphans = orphans.load(Ordering::Relaxed);
    let observer = User::connect(Path::Stateless, &host).await?;
    let start = Instant::now();
    loop {
        let tables = observer.tables().await?;
        // The call that asks is in flight.
        figures.requests_left = tables.in_flight - 1;
        figures.subscriptions_left = tables.subscriptions;
        if figures.subscriptions_left == 0 || start.elapsed() > FORGET {
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn until(is_done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_done() {
        if start.elapsed() > FORGET {
            return false;
        }
        sleep(Duration::from_millis(5)).await;
    }
    true
}

fn is_running(pid: u32) -> bool {
    FilePath::new(&format!("/proc/{pid}/exe")).exists()
}
