//! Clients of several projects at two processes behind a load balancer, one of which is killed again and again.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::options::Options;
use super::process::own;
use super::steady::{Call, STEPS, now};
use crate::bench::Fault;
use crate::bench::load::print;
use crate::cluster::Cluster;

/// Clients of each kind.
const CLIENTS: usize = 2;
/// How long both processes run before one is killed.
const BOTH: Duration = Duration::from_millis(700);
/// How long the other process runs alone.
const ALONE: Duration = Duration::from_millis(800);
/// A session must be served again within this many seconds after a kill. A short run, on a machine that may have other work, takes longer.
const RECOVERY: f64 = 2.0;
const SHORT_RUN_RECOVERY: f64 = 10.0;
/// A call may fail if a process was killed while it ran, or at most this many seconds before it began.
const AFTER_KILL: f64 = 2.0;

/// The figures of one kind of client.
#[derive(Default, Serialize)]
struct Row {
    name: String,
    calls: u64,
    right: u64,
    /// Calls with an error, during which or shortly before which a process was killed.
    interrupted: u64,
    /// Other calls with an error.
    failed: u64,
    wrong: u64,
    hung: u64,
    /// Progress notifications that are missing in calls with a right response.
    lost: u64,
    /// Progress notifications that were received twice or late.
    doubled: u64,
    /// The longest time in seconds from a kill until a session was served again.
    recovery: f64,
    /// The errors of interrupted calls, with their numbers.
    errors: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Figures {
    kills: usize,
    seconds: f64,
    clients: usize,
    rows: Vec<Row>,
}

/// A running client.
struct Client {
    kind: usize,
    calls: Arc<Mutex<Vec<Call>>>,
    process: Child,
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let kills = usize::try_from(options.number("--kills", 200)?)?;
    let program = own()?;
    let command = |address: &str, redis: &str| {
        let words = [&*program, "server", "--http", address, "--redis", redis];
        words.map(str::to_owned).to_vec()
    };
    let mut cluster = Cluster::start(2, command).await?;
    let url = format!("http://{}/mcp", cluster.host());
    let mut kinds = vec![(
        "this client".to_owned(),
        vec![program.clone(), "steady".to_owned()],
    )];
    for value in options.values("--client") {
        let (name, command) = value.split_once('=').ok_or(super::options::USAGE)?;
        let words = command.split(' ').map(str::to_owned);
        kinds.push((name.to_owned(), words.collect()));
    }
    let mut clients = Vec::new();
    for (kind, (_, command)) in kinds.iter().enumerate() {
        for _ in 0..CLIENTS {
            clients.push(Client::start(kind, command, &url)?);
        }
    }
    for client in &clients {
        client.first_call(&kinds[client.kind].0).await?;
    }
    let begin = now();
    let mut times = Vec::new();
    for kill in 0..kills {
        sleep(BOTH).await;
        times.push(now());
        cluster.kill(kill % 2).await?;
        sleep(ALONE).await;
        cluster.restart(kill % 2).await?;
        for client in &mut clients {
            if let Some(status) = client.process.try_wait()? {
                let name = &kinds[client.kind].0;
                return Err(format!("{name} has ended with {status} after {kill} kills").into());
            }
        }
        if kill % 20 == 19 {
            eprintln!("{} processes were killed", kill + 1);
        }
    }
    sleep(BOTH).await;
    let mut rows: Vec<Row> = kinds.into_iter().map(|(name, _)| Row::new(name)).collect();
    for mut client in clients {
        client.process.kill().await?;
        let calls = client.calls.lock().unwrap_or_else(PoisonError::into_inner);
        rows[client.kind].add(&calls, &times, &cluster.host());
    }
    let bad: u64 = rows.iter().map(Row::faults).sum();
    let limit = if kills < 200 {
        SHORT_RUN_RECOVERY
    } else {
        RECOVERY
    };
    let slow = rows.iter().any(|row| row.recovery > limit);
    print(&Figures {
        kills,
        seconds: now() - begin,
        clients: CLIENTS,
        rows,
    })?;
    match (bad, slow) {
        (0, false) => Ok(()),
        (0, true) => Err(format!("a session was not served within {limit} s after a kill").into()),
        _ => Err("a call failed, hung, had a wrong response, or lost or doubled progress".into()),
    }
}

impl Client {
    fn start(kind: usize, command: &[String], url: &str) -> Result<Self, Fault> {
        let [program, args @ ..] = command else {
            return Err("the command of a client is empty".into());
        };
        let mut process = Command::new(program)
            .args(args)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().ok_or("no stdout")?;
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let added = Arc::clone(&calls);
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                match serde_json::from_str(&line) {
                    Ok(call) => added
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(call),
                    Err(error) => eprintln!("{error}: {line}"),
                }
            }
        });
        Ok(Self {
            kind,
            calls,
            process,
        })
    }

    /// Waits until the client has made a call.
    async fn first_call(&self, name: &str) -> Result<(), Fault> {
        let begin = now();
        while self
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
        {
            if now() - begin > 60.0 {
                return Err(format!("{name} has made no call within 60 s").into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

impl Row {
    fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn faults(&self) -> u64 {
        self.failed + self.wrong + self.hung + self.lost + self.doubled
    }

    /// Adds the calls of one client; `kills` are the times at which processes were killed.
    fn add(&mut self, calls: &[Call], kills: &[f64], host: &str) {
        self.calls += calls.len() as u64;
        for call in calls {
            let is_interrupted = kills
                .iter()
                .any(|kill| (call.begin - AFTER_KILL..call.end).contains(kill));
            let increases = call.progress.is_sorted_by(|before, after| before < after);
            self.doubled += u64::from(!increases);
            let Some(error) = &call.error else {
                self.right += 1;
                let expected = if call.name == "steps" {
                    STEPS as usize
                } else {
                    0
                };
                self.lost += expected.saturating_sub(call.progress.len()) as u64;
                continue;
            };
            let count = match &**error {
                "hung" => &mut self.hung,
                error if error.starts_with("wrong") => &mut self.wrong,
                _ if is_interrupted => &mut self.interrupted,
                _ => &mut self.failed,
            };
            *count += 1;
            // The ports of a run differ, and haproxy answers with a page.
            let text = error.lines().next().unwrap_or_default();
            let text = text.replace(host, "HOST");
            *self.errors.entry(text).or_default() += 1;
        }
        for kill in kills {
            let mut served = calls
                .iter()
                .filter(|call| call.error.is_none() && call.name == "echo");
            if let Some(call) = served.find(|call| call.begin > *kill) {
                self.recovery = self.recovery.max(call.end - kill);
            }
        }
    }
}
