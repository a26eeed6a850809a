//! Starts the programs of a conversation.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::Installed;
use super::peers::{Part, Peer};
use super::rows::{Section, Transport};
use crate::programs::{Server, copy_program};

/// The address of our servers.
const ANY_PORT: &str = "127.0.0.1:0";

/// The paths of the endpoint and of the endpoint of 2024-11-05.
const ENDPOINT: &str = "/mcp";
const SSE: &str = "/sse";

/// A driver that is ready to start, and the running servers that it needs.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) command: Command,
    pub(super) servers: Vec<Server>,
}

/// The programs of this workspace that take part.
#[derive(Debug)]
pub(super) struct Ours {
    client: PathBuf,
    server: PathBuf,
    auth: PathBuf,
}

impl Ours {
    /// Takes copies into a folder.
    pub(super) fn new(folder: &Path) -> Result<Self, String> {
        Ok(Self {
            client: copy_program("interop-client", folder)?,
            server: copy_program("everything-server", folder)?,
            auth: copy_program("interop-auth", folder)?,
        })
    }

    /// The everything server, and the same in small pages.
    fn servers(&self, section: Section, path: &str) -> Result<Vec<Server>, String> {
        let mut everything = Command::new(&self.server);
        let mut pages = Command::new(&self.client);
        pages.args(["pages", section.era(), "5"]);
        for command in [&mut everything, &mut pages] {
            command.args(["--http", ANY_PORT]);
            if path == SSE {
                command.arg("--legacy");
            }
        }
        if matches!(section, Section::Sessions(_)) {
            everything.arg("--sessions");
        }
        Ok(vec![
            Server::start(&mut everything, path)?,
            Server::start(&mut pages, path)?,
        ])
    }
}

/// The working folder of a peer.
pub(super) fn work(peer: &Peer, installed: &Installed) -> PathBuf {
    installed.folder.join("work").join(peer.name)
}

/// Starts the servers for the driver of a peer.
pub(super) fn driver(peer: &Peer, installed: &Installed, ours: &Ours) -> Result<Driver, String> {
    match peer.part {
        Part::Published { scenario } | Part::Script { scenario, .. } | Part::Rust { scenario } => {
            drive(peer, scenario, installed, ours)
        }
        Part::PythonClient => {
            let mut command = installed.script("client.py");
            command.args([peer.section.era(), peer.transport().name()]);
            driven(peer, command, installed, ours)
        }
        Part::TypeScriptClient { sdk } => {
            let mut command = Command::new("node");
            let script = installed.npm().join("client.mjs");
            command.arg(script);
            command.args([sdk, peer.section.era(), peer.transport().name()]);
            driven(peer, command, installed, ours)
        }
        Part::RustClient => {
            let mut command = Command::new(installed.rust("rmcp-client"));
            command.args([peer.section.era(), peer.transport().name()]);
            driven(peer, command, installed, ours)
        }
        Part::AuthorizationServer { script } => {
            let mut issuer = Command::new("node");
            issuer.arg(installed.npm().join(script));
            let issuer = Server::start(&mut issuer, "")?;
            let mut command = Command::new(&ours.auth);
            command.arg(issuer.url());
            Ok(Driver {
                command,
                servers: vec![issuer],
            })
        }
    }
}

/// Our client drives a server.
fn drive(
    peer: &Peer,
    scenario: &str,
    installed: &Installed,
    ours: &Ours,
) -> Result<Driver, String> {
    let folder = work(peer, installed);
    let mut server = server(peer, installed, &folder);
    let mut command = Command::new(&ours.client);
    command.args(["drive", peer.section.era(), scenario]);
    command.arg(&folder);
    let mut servers = Vec::new();
    match peer.transport() {
        Transport::Stdio => {
            command.arg(server.get_program()).args(server.get_args());
            let set = |(name, value): (_, Option<_>)| Some((name, value?));
            command.envs(server.get_envs().filter_map(set));
        }
        Transport::Http => {
            let server = Server::start(&mut server, ENDPOINT)?;
            command.arg("--http").arg(server.url());
            servers.push(server);
        }
        Transport::Sse => {
            let server = Server::start(&mut server, SSE)?;
            command.arg("--sse").arg(server.url());
            servers.push(server);
        }
    }
    Ok(Driver { command, servers })
}

/// The server of a peer.
fn server(peer: &Peer, installed: &Installed, folder: &Path) -> Command {
    match peer.part {
        Part::Script { script, .. } => {
            let mut command = installed.script(script);
            over_http(peer, &mut command);
            command
        }
        Part::Rust { .. } => {
            let mut command = Command::new(installed.rust("rmcp-server"));
            over_http(peer, &mut command);
            command
        }
        _ => published(peer, installed, folder),
    }
}

/// Adds the argument that makes a server listen on HTTP.
fn over_http(peer: &Peer, command: &mut Command) {
    if peer.transport() == Transport::Http {
        command.arg("--http");
    }
}

/// A server from npm.
fn published(peer: &Peer, installed: &Installed, folder: &Path) -> Command {
    let program = format!("node_modules/{}/dist/index.js", peer.package);
    let program = installed.npm().join(program);
    let mut command = Command::new("node");
    match peer.transport() {
        // The server does not print its port; the imported module does.
        Transport::Http | Transport::Sse => command
            .arg("--import")
            .arg(installed.npm().join("announce.mjs"))
            .arg(program)
            .arg(if peer.transport() == Transport::Sse {
                "sse"
            } else {
                "streamableHttp"
            })
            .env("PORT", "0"),
        Transport::Stdio => match peer.name {
            "filesystem" => command.arg(program).arg(folder),
            "memory" => {
                let graph = folder.join("graph.jsonl");
                command.arg(program).env("MEMORY_FILE_PATH", graph)
            }
            _ => command.arg(program).arg("stdio"),
        },
    };
    command
}

/// A client of another project drives our server: as programs, or at their URLs.
fn driven(
    peer: &Peer,
    mut command: Command,
    installed: &Installed,
    ours: &Ours,
) -> Result<Driver, String> {
    let servers = match peer.transport() {
        Transport::Stdio => {
            command.arg(work(peer, installed));
            command.arg(&ours.client).arg(&ours.server);
            Vec::new()
        }
        Transport::Http => ours.servers(peer.section, ENDPOINT)?,
        Transport::Sse => ours.servers(peer.section, SSE)?,
    };
    command.args(servers.iter().map(Server::url));
    Ok(Driver { command, servers })
}
