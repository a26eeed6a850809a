//! The location of the everything server: a program that is started for each connection, or a URL.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::ProtocolVersion;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::Value;
use tokio::process::Command;

use crate::host::Host;
use crate::report::{Fault, Outcome, same};
use crate::{LATEST, Session};

/// One of the two servers.
#[derive(Clone, Copy)]
pub(crate) enum Server {
    Everything,
    /// The everything server with small pages and a tool that requires a visit to a URL.
    Pages,
}

/// The location of the servers.
pub(crate) struct Target {
    pub(crate) is_stateless: bool,
    kind: Kind,
}

enum Kind {
    Programs {
        folder: PathBuf,
        witness: String,
        everything: String,
        started: AtomicUsize,
    },
    Urls {
        everything: String,
        pages: String,
    },
}

impl Target {
    /// Parses the command line.
    pub(crate) fn new(args: &[String]) -> Result<Self, Fault> {
        let words: Vec<&str> = args.iter().map(|arg| &**arg).collect();
        let (revision, kind) = match *words {
            [revision, "stdio", folder, witness, everything] => {
                std::fs::create_dir_all(folder)?;
                let kind = Kind::Programs {
                    folder: folder.into(),
                    witness: witness.to_owned(),
                    everything: everything.to_owned(),
                    started: AtomicUsize::new(0),
                };
                (revision, kind)
            }
            [revision, "http", everything, pages] => {
                let kind = Kind::Urls {
                    everything: everything.to_owned(),
                    pages: pages.to_owned(),
                };
                (revision, kind)
            }
            _ => return Err("usage: rmcp-client REVISION stdio|http PLACES".into()),
        };
        Ok(Self {
            is_stateless: revision == "stateless",
            kind,
        })
    }

    /// Returns the row about the end of the connection.
    pub(crate) fn ending(&self) -> &'static str {
        match self.kind {
            Kind::Programs { .. } => "shutdown",
            Kind::Urls { .. } if self.is_stateless => "closed",
            Kind::Urls { .. } => "session-end",
        }
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self.kind, Kind::Urls { .. })
    }

    /// Connects with the revision of this location.
    pub(crate) async fn open(&self, server: Server) -> Result<Session, Fault> {
        let revision = (!self.is_stateless).then_some(LATEST);
        self.connect(server, revision).await
    }

    /// Connects with a handshake of one revision, or sends `server/discover` first.
    pub(crate) async fn connect(
        &self,
        server: Server,
        revision: Option<&str>,
    ) -> Result<Session, Fault> {
        let lifecycle = match revision {
            Some(_) => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: None,
            },
        };
        let host = Host::new(revision.unwrap_or(LATEST));
        self.start(server, host, lifecycle).await
    }

    /// Connects with this host and this lifecycle.
    pub(crate) async fn start(
        &self,
        server: Server,
        host: Host,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Session, Fault> {
        let service = host.clone();
        let (client, status) = match &self.kind {
            Kind::Urls { everything, pages } => {
                let url = match server {
                    Server::Everything => everything,
                    Server::Pages => pages,
                };
                let transport = StreamableHttpClientTransport::from_uri(url.as_str());
                (
                    service.serve_with_lifecycle(transport, lifecycle).await?,
                    None,
                )
            }
            Kind::Programs {
                folder,
                witness,
                everything,
                started,
            } => {
                let number = started.fetch_add(1, Ordering::Relaxed);
                let status = folder.join(format!("status-{number}.json"));
                let mut command = Command::new(witness);
                command.arg("overhear").arg(&status);
                match (server, self.is_stateless) {
                    (Server::Everything, true) => command.args([everything, "--stdio"]),
                    (Server::Everything, false) => {
                        command.args([everything, "--stdio", "--sessions"])
                    }
                    (Server::Pages, true) => command.args([witness, "pages", "stateless", "5"]),
                    (Server::Pages, false) => command.args([witness, "pages", "sessions", "5"]),
                };
                let transport = TokioChildProcess::new(command)?;
                let client = service.serve_with_lifecycle(transport, lifecycle).await?;
                (client, Some(status))
            }
        };
        Ok(Session {
            client,
            host,
            status,
            is_stateless: self.is_stateless,
        })
    }
}

/// Fails unless the server has exited by itself, with success.
pub(crate) async fn left(status: &Path, is_stateless: bool) -> Outcome {
    let end = Instant::now() + Duration::from_secs(10);
    let text = loop {
        match std::fs::read_to_string(status) {
            Ok(text) if !text.is_empty() => break text,
            _ if Instant::now() < end => tokio::time::sleep(Duration::from_millis(50)).await,
            _ => {
                return Err(
                    "the server had to be killed, it did not leave when stdin was closed".into(),
                );
            }
        }
    };
    let ended: Value = serde_json::from_str(&text)?;
    same("the exit code", &ended["code"], 0)?;
    let sent = ended["sent"].as_array();
    let shook = sent.is_some_and(|sent| sent.iter().any(|method| method == "initialize"));
    same("a handshake", shook, !is_stateless)?;
    Ok("exit code 0".to_owned())
}
