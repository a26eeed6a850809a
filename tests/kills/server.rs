//! The server, as a process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const START: Duration = Duration::from_secs(30);

/// A server that is killed at the latest with the test.
pub(super) struct Process {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one on the files in `folder`; does not wait for it.
    pub(super) fn start(folder: &Path, address: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_task-server"))
            .args(["--http", address, "--store"])
            .arg(folder.join("store"))
            .arg("--marks")
            .arg(folder.join("marks"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Its URL, once it serves.
    pub(super) async fn url(&mut self) -> String {
        let mut url = String::new();
        let said = timeout(START, self.said.read_line(&mut url)).await;
        assert!(said.unwrap().unwrap() > 0, "the server did not start");
        url.trim().to_owned()
    }

    /// Kills it: no signal that it could handle, no farewell.
    pub(super) async fn kill(&mut self) {
        let early = self.child.try_wait().unwrap();
        assert!(early.is_none(), "the server ended by itself: {early:?}");
        self.child.kill().await.unwrap();
    }
}
