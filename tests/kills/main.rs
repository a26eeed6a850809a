//! Servers that are killed at pseudorandom times: 200 times in all, while their clients wait for tasks, and in `restarts` under one
//! session.
//!
//! `SEED=<number> cargo test -p mcp-tests --test kills` repeats the times of a failed run. The timing of the machine can
//! still differ.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod caller;
mod marks;
mod restarts;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use caller::{CallReport, Caller, Kind, Outcome};
use marks::Marks;
use mcp_protocol::Revision;
use mcp_protocol::task::TaskStore as _;
use mcp_store_redb::RedbStore;
use mcp_tests::random::Random;
use server::Process;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The number of servers that run in parallel, and the number of kills of each.
const SERVERS: u64 = 4;
const KILLS: u64 = 50;
/// The longest time from the start of a server process until it is killed, in milliseconds.
const MAX_LIFETIME: u64 = 220;
/// The deadline of all calls after the last kill.
const DEADLINE: Duration = Duration::from_secs(60);

/// Prints the seed if the test fails.
struct SeedReport(u64);

impl SeedReport {
    /// The seed of `SEED`, or another one each time.
    fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = std::env::var("SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        Self(seed.unwrap_or(since.subsec_nanos().into()))
    }
}

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
    fn new(name: impl std::fmt::Display) -> Self {
        let name = format!("kills-{}-{name}", std::process::id());
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

/// The events of one server, which show that enough happened.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: usize,
    /// Calls whose steps ran in several processes.
    resumed: usize,
    /// Those of them that requested input.
    requested_input: usize,
    /// Calls that could not be run again.
    interrupted: usize,
    /// Steps that ran again, because the process was killed before their completion was stored.
    repeated: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.resumed += other.resumed;
        self.requested_input += other.requested_input;
        self.interrupted += other.interrupted;
        self.repeated += other.repeated;
    }

    /// Returns whether the processes were killed at enough different points of calls.
    fn is_enough(&self) -> bool {
        self.acknowledged >= 50
            && self.resumed >= 20
            && self.requested_input >= 5
            && self.interrupted >= 5
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_tasks_survive_200_kills() {
    let seed = SeedReport::new();
    let mut all = Tally::default();
    // A loaded machine acknowledges fewer tasks between two kills, so the processes live longer then.
    for lifetime in [MAX_LIFETIME, 2 * MAX_LIFETIME, 4 * MAX_LIFETIME] {
        let mut servers = JoinSet::new();
        for server in 0..SERVERS {
            servers.spawn(run(server, Random::new(seed.0 + server), lifetime));
        }
        while let Some(tally) = servers.join_next().await {
            all.add(&tally.unwrap());
        }
        eprintln!("{all:?}");
        if all.is_enough() {
            return;
        }
    }
    panic!("too little happened: {all:?}");
}

/// Runs one server and its clients, with all kills; checks every call.
async fn run(number: u64, mut random: Random, lifetime: u64) -> Tally {
    let folder = TempFolder::new(number);
    let mut server = Process::start(&folder.0, "127.0.0.1:0");
    let url = server.url().await;
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut callers = Vec::new();
    for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
        callers.push(Caller::connect(&url, revision).await);
    }
    // Each client has listed the tools before the first kill.
    for (index, caller) in callers.iter().enumerate() {
        let called = caller.call(Kind::Steps, format!("first-{index}"), true);
        let called = timeout(DEADLINE, called).await.unwrap();
        assert!(matches!(called.outcome, Outcome::Text(_)), "{called:?}");
    }
    let mut calls = JoinSet::new();
    for kill in 0..KILLS {
        for index in 0..=random.below(3) {
            let kind = [Kind::Steps, Kind::WithInput, Kind::Plain]
                [usize::try_from(random.below(3)).unwrap()];
            let caller = callers[usize::from(random.below(3) == 0)].clone();
            let (name, wait) = (
                format!("{kill}-{index}"),
                Duration::from_millis(random.below(lifetime / 2)),
            );
            let handle = random.below(3) > 0;
            calls.spawn(async move {
                sleep(wait).await;
                caller.call(kind, name, handle).await
            });
        }
        sleep(Duration::from_millis(random.below(lifetime))).await;
        server.kill().await;
        server = Process::start(&folder.0, address);
    }
    server.url().await;
    let called = timeout(DEADLINE, calls.join_all()).await;
    let called = called.unwrap_or_else(|_| panic!("server {number}: a call does not end"));
    let repeated = timeout(DEADLINE, wait_again(&callers, &called))
        .await
        .unwrap();
    server.kill().await;
    let marks = Marks::read(&folder.0.join("marks"));
    let mut tally = Tally {
        repeated: marks.repeated(),
        ..Tally::default()
    };
    for one in &called {
        if let Err(problem) = check(one, &marks, &mut tally) {
            panic!(
                "server {number}: {problem}: {one:?}, {:?}",
                marks.of(&one.name)
            );
        }
        assert!(
            repeated.get(&one.name).is_none_or(|it| *it == one.outcome),
            "{one:?}"
        );
    }
    assert_stored(&folder.0.join("store"), &called).await;
    tally
}

/// Waits for each task again, with nothing but its reference; returns the outcomes by name.
async fn wait_again(callers: &[Caller], called: &[CallReport]) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    for one in called {
        if let Some(task) = &one.task {
            let outcome = Caller::wait_for(callers, task).await;
            outcomes.insert(one.name.clone(), outcome);
        }
    }
    outcomes
}

/// Checks that a call had the promised outcome.
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
                _ => Err("the call failed for another reason"),
            }
        }
        (_, Outcome::Text(text)) => {
            let processes: Vec<&str> = text.split(' ').collect();
            if processes.iter().any(|it| *it != processes[0]) {
                tally.resumed += 1;
                tally.requested_input += usize::from(one.kind == Kind::WithInput);
            }
            marks.check_result(&one.name, &processes)
        }
        _ => Err("the call failed"),
    }
}

/// Asserts that the store contains every acknowledged task, and that each has ended.
async fn assert_stored(file: &Path, called: &[CallReport]) {
    let store = RedbStore::open(file).unwrap().task_store();
    for one in called {
        let Some(task) = &one.task else { continue };
        let task = store.get(task.id()).await.unwrap();
        let task = task.unwrap_or_else(|| panic!("{one:?} is not stored"));
        assert!(task.has_ended(), "{one:?}: {task:?}");
    }
}
