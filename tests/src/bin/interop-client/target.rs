//! The server under test: how it is started, how it ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Client, Timeouts};
use mcp_protocol::Revision;
use mcp_transport_stdio::Child;
use mcp_types::Root;
use serde_json::Value;

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
        let path = self.folder.join(name).to_string_lossy().into_owned();
        let mut uri = "file://".to_owned();
        for byte in path.bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
                _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
                _ => uri += &format!("%{byte:02X}"),
            }
        }
        Root::new(uri).with_name("Workshop")
    }

    /// Starts the server under a witness of its end, and shakes hands.
    pub(crate) async fn connect(&self, revision: Revision) -> Result<Session, Fault> {
        self.start("witness", revision).await
    }

    /// The same, under a witness that also writes down what the server asks.
    pub(crate) async fn overhear(&self) -> Result<Session, Fault> {
        self.start("overhear", Revision::LATEST).await
    }

    async fn start(&self, witness: &str, revision: Revision) -> Result<Session, Fault> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let status = self.folder.join(format!("status-{number}.json"));
        let _ = std::fs::remove_file(&status);
        let child = Child::new(std::env::current_exe()?)
            .arg(witness)
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
        self.left().await?;
        let seconds = start.elapsed().as_secs() + 1;
        worked(format!("gone with exit code 0 within {seconds} s"))
    }

    /// Ends the connection in the same way, and gives what the witness wrote down.
    pub(crate) async fn left(self) -> Result<Value, Fault> {
        self.client.close().await?;
        let status = std::fs::read_to_string(&self.status)
            .map_err(|_| "the server had to be killed, it did not leave when stdin was closed")?;
        let status: Value = serde_json::from_str(&status)?;
        same("the exit code", &status["code"], 0)?;
        let after = self.client.ping().await;
        ensure(after.is_err_and(|error| error.is_closed()), || {
            "a call after the end is not told that the connection is closed".to_owned()
        })?;
        Ok(status)
    }

    /// Ends the connection, with force if need be.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        Ok(self.client.close().await?)
    }
}
