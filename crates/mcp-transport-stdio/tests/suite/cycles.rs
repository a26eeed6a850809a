//! Threat T28: a thousand children leave no processes and no descriptors.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_transport_stdio::{ChildProcess, Stderr};
use rustix::process::{Pid, test_kill_process, test_kill_process_group};
use tokio::sync::mpsc;

use crate::support::{connect, soon, wait_until};

const CYCLES: usize = 1_000;

/// Set in the process that runs the cycles. It counts descriptors and children, so no other test
/// may run in it.
const ALONE: &str = "MCP_TEST_CYCLES_ALONE";

#[test]
fn a_thousand_children_leave_no_processes_or_descriptors() {
    if std::env::var_os(ALONE).is_some() {
        return tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(cycles());
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cycles::a_thousand_children_leave_no_processes_or_descriptors",
        ])
        .args(["--nocapture", "--test-threads", "1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn cycles() {
    let groups = Arc::<Mutex<Vec<Pid>>>::default();
    for _ in 0..10 {
        cycle(&groups, 0).await;
    }
    let before = descriptors();
    for round in 0..CYCLES {
        cycle(&groups, round).await;
    }
    assert_eq!(descriptors(), before);
    let groups = std::mem::take(&mut *groups.lock().unwrap());
    assert_eq!(groups.len(), CYCLES + 10);
    // Orphaned processes are reaped by the system at some time.
    wait_until(|| {
        groups
            .iter()
            .all(|group| test_kill_process_group(*group).is_err())
    })
    .await;
    assert_eq!(
        children(),
        0,
        "the process neither runs nor waits to be reaped"
    );
}

/// Starts a shell with a grandchild that ignores `SIGTERM`, and ends it in one of several ways.
async fn cycle(groups: &Mutex<Vec<Pid>>, round: usize) {
    // One in ten shells ignores `SIGTERM` and the end of its stdin too.
    let stubborn = round.is_multiple_of(10);
    let ending = match stubborn {
        true => "while :; do sleep 100; done",
        false => "cat >/dev/null",
    };
    let (sender, mut ready) = mpsc::channel(1);
    let heard = move |line: &str| drop(sender.try_send(line.to_owned()));
    let child = ChildProcess::new("sh")
        .args([
            "-c",
            &format!("trap '' TERM; sleep 1000 & echo $$ >&2; {ending}"),
        ])
        .stderr(Stderr::Callback(Arc::new(heard)))
        .eof_wait(Duration::from_millis(if stubborn { 5 } else { 10_000 }))
        .term_wait(Duration::from_millis(5))
        .drop_wait(Duration::from_millis(5));
    let connection = connect(child).await;
    let line = soon(ready.recv()).await.unwrap();
    let group = Pid::from_raw(line.parse().unwrap()).unwrap();
    groups.lock().unwrap().push(group);
    if round.is_multiple_of(7) {
        let closed = connection.closed();
        drop(connection);
        soon(closed).await;
        wait_until(|| test_kill_process(group).is_err()).await;
    } else {
        soon(connection.close()).await.unwrap();
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the children of this process, including those that have ended.
fn children() -> usize {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| parent(&entry.ok()?.path()))
        .filter(|parent| *parent == own)
        .count()
}

fn parent(process: &Path) -> Option<String> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1).map(str::to_owned)
}
