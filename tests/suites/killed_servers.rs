//! Subscriptions of a host to resources of programs that are killed.

use std::path::{Path, PathBuf};

use mcp_host::{Config, Host, ResourceChange, ResourceSubscription, RestartPolicy, ServerConfig};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use crate::prelude::*;

const SERVERS: [&str; 3] = ["first", "second", "third"];
const KILLS: usize = 100;
const STEP: Duration = Duration::from_secs(60);

/// A folder with the process id of each server, removed on drop.
struct Pids(PathBuf);

impl Pids {
    fn new(name: &str) -> Self {
        let name = format!("killed-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The everything server, after it has written its process id.
    fn server(&self, name: &str) -> ServerConfig {
        let program = "echo $$ >\"$1\"; exec \"$2\" --stdio";
        let file = self.0.join(name).to_string_lossy().into_owned();
        let server = env!("CARGO_BIN_EXE_everything-server");
        ServerConfig::stdio("/bin/sh", ["-c", program, "sh", &file, server])
    }

    /// Ends a server with SIGKILL.
    fn kill(&self, name: &str) {
        let pid = std::fs::read_to_string(self.0.join(name)).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
}

impl Drop for Pids {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn next(watched: &mut ResourceSubscription) -> Option<ResourceChange> {
    timeout(STEP, watched.next()).await.expect("a change")
}

/// Changes the watched resource of one server, and returns after a later answer of this server.
async fn change(host: &Host, server: &str) {
    for (tool, arguments) in [
        ("test_trigger_resource_change", json!({})),
        ("echo", json!({ "message": "later" })),
    ] {
        let name = format!("{server}__{tool}");
        let result = timeout(STEP, host.call_tool(&name, arguments)).await;
        assert!(result.expect("an answer").is_ok(), "{name}");
    }
}

async fn kill_in_turn(revision: Revision) {
    let pids = Pids::new(revision.as_str());
    let add = |config: Config, name| config.with_server(name, pids.server(name));
    let config = SERVERS.into_iter().fold(Config::new(), add);
    let client = Client::builder("host", "1.0.0").revision(revision);
    let restart = RestartPolicy::default()
        .with_initial_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(1))
        .with_max_failures(2 * KILLS, STEP);
    let host = Host::builder(client)
        .servers(config)
        .restart(restart)
        .start();
    host.settled().await;
    let uri = "test://watched-resource";
    let mut watched = Vec::new();
    for name in SERVERS {
        watched.push(host.subscribe(name, uri).await.unwrap());
    }
    let updated = Some(ResourceChange::Updated(uri.to_owned()));
    for round in 0..KILLS {
        let at = round % SERVERS.len();
        pids.kill(SERVERS[at]);
        let again = next(&mut watched[at]).await;
        assert_eq!(again, Some(ResourceChange::Reconnected), "round {round}");
        for (name, watched) in SERVERS.iter().zip(&mut watched) {
            change(&host, name).await;
            assert_eq!(next(watched).await, updated, "round {round}, {name}");
        }
        for watched in &mut watched {
            let more = timeout(Duration::ZERO, watched.next()).await;
            assert!(more.is_err(), "round {round}: {more:?}");
        }
    }
    timeout(STEP, host.close()).await.expect("the host ends");
    for watched in &mut watched {
        assert_eq!(next(watched).await, None);
    }
}

#[tokio::test]
async fn no_subscription_with_a_session_is_lost_while_each_server_is_killed_in_turn() {
    kill_in_turn(Revision::LATEST_WITH_SESSIONS).await;
}

#[tokio::test]
async fn no_subscription_without_a_session_is_lost_while_each_server_is_killed_in_turn() {
    kill_in_turn(Revision::LATEST).await;
}
