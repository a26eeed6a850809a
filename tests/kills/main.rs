//! A server that is killed 200 times, at moments that a seed decides, while its clients wait for tasks.
//!
//! To repeat a run that failed: `SEED=<number> cargo test -p mcp-tests --test kills`. The moments are the same then, and
//! what the machine does meanwhile is not.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod caller;
mod marks;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use caller::{CallReport, Caller, Kind, Outcome};
use marks::Marks;
use mcp_protocol::Revision;
use mcp_protocol::task::TaskStore as _;
use mcp_tasks_redb::RedbStore;
use server::Process;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Servers that live and die side by side, and how often each dies.
const LANES: u64 = 4;
const KILLS: u64 = 50;
/// How long a server lives at most, from its start.
const LIFE: u64 = 220;
/// How long all calls may take together, once the server is left alone.
const END: Duration = Duration::from_secs(60);

/// Numbers that a seed decides (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (next ^ (next >> 31)) % most
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }
}

/// Prints the seed of a run that failed.
struct SeedReport(u64);

impl Drop for SeedReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}

/// A folder that is removed if the test passes.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(lane: u64) -> Self {
        let name = format!("kills-{}-{lane}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// What happened in a lane, to see that enough did.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: usize,
    /// Calls that went through several processes.
    resumed: usize,
    /// Those of them that asked.
    asked: usize,
    /// Calls that could not be run again.
    interrupted: usize,
    /// Steps that were done again, because the process died before it was kept that they were done.
    repeated: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_200_kills() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = std::env::var("SEED").ok().and_then(|it| it.parse().ok());
    let seed = SeedReport(seed.unwrap_or(since.subsec_nanos().into()));
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        lanes.spawn(run(lane, Random(seed.0 + lane)));
    }
    let mut all = Tally::default();
    while let Some(tally) = lanes.join_next().await {
        let tally = tally.unwrap();
        all.acknowledged += tally.acknowledged;
        all.resumed += tally.resumed;
        all.asked += tally.asked;
        all.interrupted += tally.interrupted;
        all.repeated += tally.repeated;
    }
    eprintln!("{all:?}");
    // A loaded machine acknowledges fewer tasks between two kills.
    assert!(all.acknowledged >= 50, "{all:?}");
    assert!(all.resumed >= 20 && all.asked >= 5, "{all:?}");
    assert!(all.interrupted >= 5, "{all:?}");
}

/// The life of one server, and what its clients make of it.
async fn run(lane: u64, mut random: Random) -> Tally {
    let place = TempFolder::new(lane);
    let mut server = Process::start(&place.0, "127.0.0.1:0");
    let url = server.url().await;
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut callers = Vec::new();
    for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
        callers.push(Caller::connect(&url, revision).await);
    }
    // Each has looked at the tools before it gets rough.
    for (number, caller) in callers.iter().enumerate() {
        let called = caller.call(Kind::Steps, format!("first-{number}"), true);
        let called = timeout(END, called).await.unwrap();
        assert!(matches!(called.outcome, Outcome::Text(_)), "{called:?}");
    }
    let mut calls = JoinSet::new();
    for kill in 0..KILLS {
        for number in 0..=random.below(3) {
            let kind =
                [Kind::Steps, Kind::Asking, Kind::Plain][usize::try_from(random.below(3)).unwrap()];
            let caller = callers[usize::from(random.below(3) == 0)].clone();
            let (name, wait) = (format!("{kill}-{number}"), random.millis(LIFE / 2));
            let handle = random.below(3) > 0;
            calls.spawn(async move {
                sleep(wait).await;
                caller.call(kind, name, handle).await
            });
        }
        sleep(random.millis(LIFE)).await;
        server.kill().await;
        server = Process::start(&place.0, address);
    }
    server.url().await;
    let called = timeout(END, calls.join_all()).await;
    let called = called.unwrap_or_else(|_| panic!("lane {lane}: a call has no end"));
    let again = timeout(END, again(&callers, &called)).await.unwrap();
    server.kill().await;
    let marks = Marks::read(&place.0.join("marks"));
    let mut tally = Tally {
        repeated: marks.repeated(),
        ..Tally::default()
    };
    for one in &called {
        if let Err(problem) = check(one, &marks, &mut tally) {
            panic!("lane {lane}: {problem}: {one:?}, {:?}", marks.of(&one.name));
        }
        assert!(
            again.get(&one.name).is_none_or(|it| *it == one.outcome),
            "{one:?}"
        );
    }
    kept(&place.0.join("store"), &called).await;
    tally
}

/// What came of each call, asked once more by who has nothing but the ticket.
async fn again(callers: &[Caller], called: &[CallReport]) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    for one in called {
        if let Some(ticket) = &one.ticket {
            let outcome = Caller::come_back(callers, ticket).await;
            outcomes.insert(one.name.clone(), outcome);
        }
    }
    outcomes
}

/// Whether a call came to what was promised.
fn check(one: &CallReport, marks: &Marks, tally: &mut Tally) -> Result<(), &'static str> {
    marks.check(&one.name)?;
    if !one.acknowledged {
        return Ok(());
    }
    tally.acknowledged += 1;
    match (one.kind, &one.outcome) {
        (Kind::Plain, Outcome::Failed(why)) => {
            tally.interrupted += 1;
            match &**why {
                "the server was restarted while the task ran" => Ok(()),
                _ => Err("it failed for another reason"),
            }
        }
        (_, Outcome::Text(text)) => {
            let processes: Vec<&str> = text.split(' ').collect();
            if processes.iter().any(|it| *it != processes[0]) {
                tally.resumed += 1;
                tally.asked += usize::from(one.kind == Kind::Asking);
            }
            marks.fit(&one.name, &processes)
        }
        _ => Err("it failed"),
    }
}

/// Whether the store holds what was acknowledged, and how it ended.
async fn kept(file: &Path, called: &[CallReport]) {
    let store = RedbStore::open(file).unwrap();
    for one in called {
        let Some(ticket) = &one.ticket else { continue };
        let task = store.get(ticket.id()).await.unwrap();
        let task = task.unwrap_or_else(|| panic!("{one:?} is not kept"));
        assert!(task.has_ended(), "{one:?}: {task:?}");
    }
}
