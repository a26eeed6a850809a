//! Children of a host that is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use mcp_host::{Config, Host, ServerConfig};

use crate::support::{Folder, client};

/// The variable that makes this program a host, with the folder for the process ids.
const FOLDER: &str = "MCP_HOST_TEST_ORPHANS";

/// Not a test by itself: the program that the next test starts and kills.
#[tokio::test]
async fn host_process() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = std::path::Path::new(&folder).display().to_string();
    let mut config = Config::new();
    for number in 0..3 {
        // The child starts a process that ignores the end of its input, and SIGTERM.
        let text = format!(
            "(trap '' TERM; sleep 1000) & echo $! $$ >{folder}/new{number}; \
             mv {folder}/new{number} {folder}/pids{number}; sleep 1000"
        );
        let server = ServerConfig::stdio("/bin/sh", ["-c", &text]);
        config = config.with_server(format!("server{number}"), server);
    }
    let _host = Host::builder(client()).servers(config).start();
    for number in 0..3 {
        while std::fs::metadata(format!("{folder}/pids{number}")).is_err() {
            // sleep: the event is a file that another process writes
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    println!("\nstarted");
    std::future::pending::<()>().await;
}

#[test]
fn no_process_outlives_a_host_that_is_killed() {
    let folder = Folder::new("orphans");
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "orphans::host_process", "--nocapture"])
        .env(FOLDER, &folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "started"));
    let pids = (0..3)
        .map(|number| std::fs::read_to_string(folder.0.join(format!("pids{number}"))).unwrap());
    let pids: Vec<String> = pids
        .flat_map(|pids| {
            pids.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(pids.len(), 6);
    // A process that has exited but was not reaped by its new parent is not alive.
    let is_alive = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(pids.iter().all(is_alive));
    host.kill().unwrap();
    host.wait().unwrap();
    while pids.iter().any(is_alive) {
        // sleep: the event is the end of a process that is not a child of this one
        std::thread::sleep(Duration::from_millis(20));
    }
}
