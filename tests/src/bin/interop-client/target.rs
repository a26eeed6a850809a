//! The server under test: its location and its end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Client, ClientBuilder, Negotiation, Timeouts};
use mcp_protocol::Revision;
use mcp_transport_http::HttpTransport;
use mcp_transport_stdio::ChildProcess;
use mcp_types::Root;
use serde_json::{Value, json};

use crate::host::Host;
use crate::hosted;
use crate::report::{Fault, Outcome, ensure, same, worked};

/// How long a peer may take to start, and to answer.
const WAIT: Duration = Duration::from_secs(80);

/// A server and a folder to work in.
#[derive(Debug)]
pub(crate) struct Target {
    /// Folder for files.
    pub(crate) folder: PathBuf,
    /// The newest revision that its clients use.
    pub(crate) revision: Revision,
    place: ServerLocation,
    started: AtomicUsize,
}

/// The location of the server.
#[derive(Debug)]
enum ServerLocation {
    /// A program, started for each connection.
    Program(Vec<String>),
    /// A running server at this URL.
    Url(String),
    /// A running server with the transport of 2024-11-05, which the client detects.
    Stream(String),
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) host: Host,
    /// The file in which the witness records how the server ended.
    status: Option<PathBuf>,
}

impl Target {
    /// The server is `--http URL`, `--sse URL`, or a program with its arguments. Creates the folder if it does not exist.
    pub(crate) fn new(revision: Revision, folder: &str, words: &[&str]) -> Result<Self, Fault> {
        std::fs::create_dir_all(folder)?;
        let place = match words {
            ["--http", url] => ServerLocation::Url((*url).to_owned()),
            ["--sse", url] => ServerLocation::Stream((*url).to_owned()),
            program => {
                ServerLocation::Program(program.iter().map(|&word| word.to_owned()).collect())
            }
        };
        Ok(Self {
            folder: std::fs::canonicalize(folder)?,
            revision,
            place,
            started: AtomicUsize::new(0),
        })
    }

    /// Returns the row about the end of the connection.
    pub(crate) fn ending(&self) -> &'static str {
        match self.place {
            ServerLocation::Program(_) => "shutdown",
            ServerLocation::Url(_) if self.revision.is_stateless() => "closed",
            ServerLocation::Url(_) => "session-end",
            ServerLocation::Stream(_) => "stream-end",
        }
    }

    /// Whether the transport has connections that a server can close while the session continues.
    pub(crate) fn is_http(&self) -> bool {
        self.url().is_some()
    }

    /// Returns the URL of the Streamable HTTP endpoint.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.place {
            ServerLocation::Url(url) => Some(url),
            _ => None,
        }
    }

    /// Returns the entry of an `mcp.json` for the server.
    pub(crate) fn entry(&self) -> Result<Value, Fault> {
        match &self.place {
            ServerLocation::Program(program) => hosted::entry(program),
            ServerLocation::Url(url) => Ok(json!({ "type": "http", "url": url })),
            ServerLocation::Stream(url) => Ok(json!({ "type": "sse", "url": url })),
        }
    }

    /// Returns the folder, or a file in it, as a root.
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

    /// Connects as the revision requires: with a handshake, or with `server/discover` and no handshake. A witness also
    /// records the requests of a program.
    pub(crate) async fn session(&self) -> Result<Session, Fault> {
        let host = Host::new();
        let mut builder = self.with_host(&host).revision(self.revision);
        if self.revision.is_stateless() {
            // A busy machine starts an interpreter slowly; that is no reason for a handshake.
            builder = builder.probe_timeout(WAIT);
        }
        let session = self.start("overhear", host, builder).await?;
        let is_stateless = session.client.revision().is_stateless();
        same(
            "a stateless revision",
            is_stateless,
            self.revision.is_stateless(),
        )?;
        Ok(session)
    }

    /// Connects with this as the newest revision. A witness records the end of a program.
    pub(crate) async fn connect(&self, revision: Revision) -> Result<Session, Fault> {
        let host = Host::new();
        let builder = self.with_host(&host).revision(revision);
        self.start("witness", host, builder).await
    }

    /// Connects with the newest revision and no other.
    pub(crate) async fn only_stateless(&self) -> Result<Session, Fault> {
        let host = Host::new();
        let builder = self.with_host(&host).negotiation(Negotiation::Stateless);
        self.start("witness", host, builder).await
    }

    /// Connects a client without capabilities.
    pub(crate) async fn incapable(&self) -> Result<Session, Fault> {
        let builder = Client::builder("interop-client", env!("CARGO_PKG_VERSION"));
        self.start("witness", Host::new(), builder).await
    }

    /// Creates a client without handlers that prefers the revision. A handshake is no way out of a slow start.
    pub(crate) fn plain(&self) -> ClientBuilder {
        let builder = Client::builder("interop-host", env!("CARGO_PKG_VERSION"))
            .revision(self.revision)
            .timeouts(Timeouts::new(WAIT, Duration::from_secs(85)))
            .connect_timeout(WAIT);
        match self.revision.is_stateless() {
            true => builder.probe_timeout(WAIT),
            false => builder,
        }
    }

    fn with_host(&self, host: &Host) -> ClientBuilder {
        host.builder().roots([self.root("")])
    }

    async fn start(
        &self,
        witness: &str,
        host: Host,
        builder: ClientBuilder,
    ) -> Result<Session, Fault> {
        let builder = builder
            .timeouts(Timeouts::new(WAIT, Duration::from_secs(85)))
            .connect_timeout(WAIT);
        let (client, status) = match &self.place {
            ServerLocation::Url(url) | ServerLocation::Stream(url) => {
                (builder.connect(HttpTransport::new(url)?).await?, None)
            }
            ServerLocation::Program(program) => {
                let number = self.started.fetch_add(1, Ordering::Relaxed);
                let status = self.folder.join(format!("status-{number}.json"));
                let _ = std::fs::remove_file(&status);
                let child = ChildProcess::new(std::env::current_exe()?)
                    .env_inherit()
                    .arg(witness)
                    .arg(&status)
                    .args(program)
                    .eof_wait(Duration::from_secs(20));
                (builder.connect(child).await?, Some(status))
            }
        };
        Ok(Session {
            client,
            host,
            status,
        })
    }
}

impl Session {
    /// Ends the connection; a program must then exit with success by itself.
    pub(crate) async fn close(self) -> Outcome {
        let start = Instant::now();
        let is_program = self.status.is_some();
        self.left().await?;
        let seconds = start.elapsed().as_secs() + 1;
        worked(if is_program {
            format!("exit code 0 within {seconds} s")
        } else {
            format!("the session ended within {seconds} s")
        })
    }

    /// Ends the connection in the same way; returns the record of the witness.
    pub(crate) async fn left(self) -> Result<Value, Fault> {
        self.client.close().await?;
        let mut written = Value::Null;
        if let Some(status) = &self.status {
            let text = std::fs::read_to_string(status).map_err(
                |_| "the server had to be killed, it did not leave when stdin was closed",
            )?;
            written = serde_json::from_str(&text)?;
            same("the exit code", &written["code"], 0)?;
            // Only a witness that reads the messages writes this.
            if let Some(sent) = written["sent"].as_array() {
                let shook = sent.iter().any(|method| method == "initialize");
                let is_stateless = self.client.revision().is_stateless();
                same("a handshake", shook, !is_stateless)?;
            }
        }
        let after = self.client.ping().await;
        ensure(after.is_err_and(|error| error.is_closed()), || {
            "a call after the end is not told that the connection is closed".to_owned()
        })?;
        Ok(written)
    }

    /// Ends the connection and, if necessary, kills the server.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        Ok(self.client.close().await?)
    }
}
