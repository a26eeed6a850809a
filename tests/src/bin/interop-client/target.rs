//! The server under test: where it is, how it ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Builder, Client, Era, Negotiation, Timeouts};
use mcp_protocol::Revision;
use mcp_transport_http::Http;
use mcp_transport_stdio::Child;
use mcp_types::Root;
use serde_json::Value;

use crate::host::Host;
use crate::report::{Fault, Outcome, ensure, same, worked};

/// A server and a folder to work in.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where files may be made.
    pub(crate) folder: PathBuf,
    /// What is spoken, where the server speaks both.
    pub(crate) era: Era,
    place: ServerLocation,
    started: AtomicUsize,
}

/// Where the server is.
#[derive(Debug)]
enum ServerLocation {
    /// A program, started for each connection.
    Program(Vec<String>),
    /// It is there already, at this URL.
    Url(String),
    /// The same, and it speaks as in 2024-11-05, which the client finds out by itself.
    Stream(String),
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) host: Host,
    /// Where a witness writes down how the server ended.
    status: Option<PathBuf>,
}

impl Target {
    /// The server is `--http URL`, `--sse URL`, or a program with its arguments. Makes the folder if it is not there.
    pub(crate) fn new(era: Era, folder: &str, words: &[&str]) -> Result<Self, Fault> {
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
            era,
            place,
            started: AtomicUsize::new(0),
        })
    }

    /// The row about the end.
    pub(crate) fn ending(&self) -> &'static str {
        match self.place {
            ServerLocation::Program(_) => "shutdown",
            ServerLocation::Url(_) if self.era == Era::Modern => "closed",
            ServerLocation::Url(_) => "session-end",
            ServerLocation::Stream(_) => "stream-end",
        }
    }

    /// Whether there is a connection that a server can give back.
    pub(crate) fn is_http(&self) -> bool {
        self.url().is_some()
    }

    /// Where the server has its one endpoint.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.place {
            ServerLocation::Url(url) => Some(url),
            _ => None,
        }
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

    /// Connects by the era: with a handshake, or by asking, which must not end in one.
    pub(crate) async fn session(&self) -> Result<Session, Fault> {
        let revision = match self.era {
            Era::Legacy => Revision::LATEST_WITH_SESSIONS,
            Era::Modern => Revision::LATEST,
        };
        let host = Host::new();
        let builder = self.with_host(&host).revision(revision);
        let session = self.start("overhear", host, builder).await?;
        same("the era", session.client.known_version().era(), self.era)?;
        Ok(session)
    }

    /// Connects with this as the newest revision. A program is started under a witness of its end.
    pub(crate) async fn connect(&self, revision: Revision) -> Result<Session, Fault> {
        let host = Host::new();
        let builder = self.with_host(&host).revision(revision);
        self.start("witness", host, builder).await
    }

    /// The same at the newest revision, without falling back to any other.
    pub(crate) async fn only_modern(&self) -> Result<Session, Fault> {
        let host = Host::new();
        let builder = self.with_host(&host).negotiation(Negotiation::Modern);
        self.start("witness", host, builder).await
    }

    /// A client that nothing can be asked.
    pub(crate) async fn incapable(&self) -> Result<Session, Fault> {
        let builder = Client::builder("interop-client", env!("CARGO_PKG_VERSION"));
        self.start("witness", Host::new(), builder).await
    }

    /// With a handshake, under a witness that also writes down what the server asks.
    pub(crate) async fn overhear(&self) -> Result<Session, Fault> {
        let host = Host::new();
        let builder = self
            .with_host(&host)
            .revision(Revision::LATEST_WITH_SESSIONS);
        self.start("overhear", host, builder).await
    }

    fn with_host(&self, host: &Host) -> Builder {
        host.builder().roots([self.root("")])
    }

    async fn start(&self, witness: &str, host: Host, builder: Builder) -> Result<Session, Fault> {
        let builder = builder.timeouts(Timeouts::new(
            Duration::from_secs(80),
            Duration::from_secs(85),
        ));
        let (client, status) = match &self.place {
            ServerLocation::Url(url) | ServerLocation::Stream(url) => {
                (builder.connect(Http::new(url)?).await?, None)
            }
            ServerLocation::Program(program) => {
                let number = self.started.fetch_add(1, Ordering::Relaxed);
                let status = self.folder.join(format!("status-{number}.json"));
                let _ = std::fs::remove_file(&status);
                let child = Child::new(std::env::current_exe()?)
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
    /// Ends the connection; a program has to leave by itself, with success.
    pub(crate) async fn close(self) -> Outcome {
        let start = Instant::now();
        let is_program = self.status.is_some();
        self.left().await?;
        let seconds = start.elapsed().as_secs() + 1;
        worked(if is_program {
            format!("gone with exit code 0 within {seconds} s")
        } else {
            format!("the session ended within {seconds} s")
        })
    }

    /// Ends the connection in the same way, and gives what a witness wrote down.
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
                let era = self.client.known_version().era();
                same("a handshake", shook, era == Era::Legacy)?;
            }
        }
        let after = self.client.ping().await;
        ensure(after.is_err_and(|error| error.is_closed()), || {
            "a call after the end is not told that the connection is closed".to_owned()
        })?;
        Ok(written)
    }

    /// Ends the connection, with force if need be.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        Ok(self.client.close().await?)
    }
}
