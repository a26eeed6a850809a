//! The server under test: how it is started, how it ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Client, Timeouts};
use mcp_protocol::Revision;
use mcp_transport_stdio::Child;
use mcp_types::Root;
use serde_json::{Value, json};

use crate::host::Host;
use crate::report::{Fault, Outcome, ensure, same, worked};

/// A server program and a folder to work in.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where files may be made.
    pub(crate) folder: PathBuf,
    program: Vec<String>,
    started: AtomicUsize,
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) host: Host,
    status: PathBuf,
}

impl Target {
    /// Makes the folder if it is not there.
    pub(crate) fn new(folder: &str, program: Vec<String>) -> Result<Self, Fault> {
        std::fs::create_dir_all(folder)?;
        Ok(Self {
            folder: std::fs::canonicalize(folder)?,
            program,
            started: AtomicUsize::new(0),
        })
    }

    /// The folder, or a file in it, as a root.
    pub(crate) fn root(&self, name: &str) -> Root {
        Root::new(format!("file://{}", self.folder.join(name).display())).with_name("Workshop")
    }

    /// Starts the server under a witness of its end, and shakes hands.
    pub(crate) async fn connect(&self, revision: Revision) -> Result<Session, Fault> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let status = self.folder.join(format!("status-{number}.json"));
        let _ = std::fs::remove_file(&status);
        let child = Child::new(std::env::current_exe()?)
            .arg("witness")
            .arg(&status)
            .args(&self.program)
            .eof_wait(Duration::from_secs(20));
        let host = Host::new();
        let client = host
            .builder()
            .revision(revision)
            .roots([self.root("")])
            .timeouts(Timeouts::new(
                Duration::from_secs(80),
                Duration::from_secs(85),
            ))
            .connect(child)
            .await?;
        Ok(Session {
            client,
            host,
            status,
        })
    }
}

impl Session {
    /// Ends the connection; the server has to leave by itself, with success.
    pub(crate) async fn close(self) -> Outcome {
        let start = Instant::now();
        self.client.close().await?;
        let took = start.elapsed();
        let status = std::fs::read_to_string(&self.status)
            .map_err(|_| "the server had to be killed, it did not leave when stdin was closed")?;
        let status: Value = serde_json::from_str(&status)?;
        same("the exit code", &status["code"], 0)?;
        let after = self.client.ping().await;
        ensure(after.is_err_and(|error| error.is_closed()), || {
            "a call after the end is not told that the connection is closed".to_owned()
        })?;
        worked(format!(
            "gone with exit code 0 within {} s",
            took.as_secs() + 1
        ))
    }

    /// Ends the connection, with force if need be.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        Ok(self.client.close().await?)
    }
}

/// Runs a program on our own stdin and stdout, and writes down how it ended. If this process is
/// killed on the way there will be no such file.
pub(crate) fn witness(status: &Path, program: &[String]) -> Result<i32, Fault> {
    let (name, args) = program.split_first().ok_or("no program to watch")?;
    let ended = Command::new(name)
        .args(args)
        .status()
        .map_err(|error| format!("{name}: {error}"))?;
    std::fs::write(status, json!({ "code": ended.code() }).to_string())?;
    Ok(ended.code().unwrap_or(1))
}
