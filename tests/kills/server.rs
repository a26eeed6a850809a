//! The server process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const START: Duration = Duration::from_secs(30);

/// A server process, which is killed on drop.
pub(super) struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a server with the files in `folder`, without waiting until it listens.
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
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Waits until the server listens; returns its URL.
    pub(super) async fn url(&mut self) -> String {
        let mut url = String::new();
        let read = timeout(START, self.stdout.read_line(&mut url)).await;
        assert!(read.unwrap().unwrap() > 0, "the server did not start");
        url.trim().to_owned()
    }

    /// Kills the server with a signal that it cannot handle.
    pub(super) async fn kill(&mut self) {
        let early = self.child.try_wait().unwrap();
        assert!(early.is_none(), "the server ended by itself: {early:?}");
        self.child.kill().await.unwrap();
    }
}
