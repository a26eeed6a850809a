//! `cargo xtask interop`: our client against servers of other projects, their clients against our server, and both of
//! ours with an authorization server or a collector of another project.
//!
//! The peers are pinned in `tests/interop` and `tests/peers`, and installed under `target/interop`. A driver per peer
//! prints one JSON line per feature: `interop-client`, `interop-auth` and `interop-telemetry` of `mcp-tests` for servers,
//! authorization servers and collectors, the scripts in `tests/interop` for clients. Every feature is a row, and has to be
//! reported: it works, or the peer does not have it, which the driver shows and `peers.toml` gives the reason for.

mod features;
mod peers;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::page::render;
use crate::programs::{Server, build, copy_program, program, run as execute, target, venv_python};
use crate::workspace::{self, At as _, Result, none_of, root, say};
use peers::{BIN, Installed, Peer, Role, Section};

const PAGE: &str = "docs/interop.md";

/// Time limit of one peer with all its features.
const LIMIT: Duration = Duration::from_secs(600);

/// The programs of this workspace that take part.
const OURS: [&str; 5] = [
    "interop-client",
    "interop-auth",
    "interop-telemetry",
    "everything-server",
    "mcp",
];

/// The address of our servers.
const ANY_PORT: &str = "127.0.0.1:0";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// All peers instead of the short set; writes docs/interop.md.
    #[arg(long, conflicts_with = "peers")]
    all: bool,
    /// Names of peers; a transport, `sessions` or `stateless` selects all peers of that kind.
    peers: Vec<String>,
}

/// Runs the command: with the short set of peers, with all, or with those that are named.
pub(crate) fn run(options: &Options) -> Result {
    let start = Instant::now();
    let mut peers = match options.all {
        true => peers::all()?,
        false => peers::chosen(&options.peers)?,
    };
    let bins = OURS.map(|name| format!("--bin {name}")).join(" ");
    let words = format!("-p mcp-tests -p mcp-cli --features mcp-tests/telemetry {bins}");
    build(root(), &target(), &words)?;
    let folder = target().join("interop");
    for name in OURS {
        copy_program(name, &folder.join(BIN))?;
    }
    let installed = Installed::new(folder, &peers)?;
    for peer in &mut peers {
        if let Err(fault) = converse(peer, &installed) {
            peer.faults.push(fault);
        }
    }
    let page = page(&peers)?;
    say(&format!("\n{page}"));
    if options.all {
        workspace::write(&root().join(PAGE), &page)?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = peers.iter().flat_map(Peer::failures).collect();
    none_of(&failures)
}

/// Installs clients of other projects that call a server without end, and returns their names and commands as
/// `NAME=COMMAND`. The last argument is the URL of the server.
pub(crate) fn steady_clients() -> Result<Vec<String>> {
    let folder = target().join("interop");
    Installed::new(folder.clone(), &peers::chosen(&["rmcp-client".to_owned()])?)?;
    let (python, folder) = (venv_python(&folder.join("venv")), folder.display());
    let python = python.display();
    Ok(vec![
        format!("python={python} -W ignore {folder}/python/steady.py"),
        format!("typescript=node {folder}/npm/steady.mjs"),
        format!("rmcp={folder}/rust/debug/rmcp-client steady"),
    ])
}

fn converse(peer: &mut Peer, installed: &Installed) -> Result {
    // A server must not find files of an earlier run.
    let _ = fs::remove_dir_all(installed.work(peer));
    let (mut driver, servers) = installed.driver(peer)?;
    let outcome = execute(&mut driver, LIMIT, |line| say(&peer.record(line)));
    let ends = servers.into_iter().map(Server::end);
    let faults = std::iter::once(outcome).chain(ends);
    peer.faults.extend(faults.filter_map(Result::err));
    Ok(())
}

/// The page: the peers with their packages, a table for each section, and the reasons for empty cells.
fn page(peers: &[Peer]) -> Result<String> {
    let sections = peers.chunk_by(|a, b| a.section.title == b.section.title);
    let sections: Vec<_> = sections.collect();
    let values = minijinja::context!(peers, sections);
    render(include_str!("page.md.jinja"), values)
}

impl Installed {
    /// The driver of a peer, ready to start, and the running servers that it needs.
    fn driver(&self, peer: &Peer) -> Result<(Command, Vec<Server>)> {
        let (section, program) = (&peer.section, &peer.program);
        let (transport, revision) = (&section.transport, &section.revision);
        let path = if transport == "sse" { "/sse" } else { "/mcp" };
        let mut servers = self.visited(peer, path)?;
        let url = servers.first().map_or("", Server::url);
        let (mut command, call) = self.command(program, peer, url);
        let work = self.work(peer);
        let mut driver = Command::new(self.ours(match program.role {
            Role::Issuer => "interop-auth",
            Role::Collector => "interop-telemetry",
            _ => "interop-client",
        }));
        match (program.role, &**transport) {
            (Role::Issuer, _) => {
                let issuer = Server::start(&mut command, "")?;
                driver.arg(issuer.url());
                return Ok((driver, vec![issuer]));
            }
            (Role::Collector, _) => {
                driver.arg(command.get_program()).args(command.get_args());
                return Ok((driver, servers));
            }
            (Role::Client, "stdio") => {
                command.arg(work);
                command.args(["interop-client", "everything-server"].map(|name| self.ours(name)));
                return Ok((command, servers));
            }
            (Role::Client, _) => {
                servers = vec![
                    self.serve(section, path, false)?,
                    self.serve(section, path, true)?,
                ];
                command.args(servers.iter().map(Server::url));
                return Ok((command, servers));
            }
            (role @ (Role::Server | Role::Aggregated), _) => {
                let mode = match role {
                    Role::Server => "drive",
                    _ => "aggregated",
                };
                driver.args([mode, revision, &program.scenario]).arg(work);
            }
            (role @ (Role::Visited | Role::Hosted | Role::Host), _) => {
                fs::create_dir_all(&work).at(work.display())?;
                command.env("HOME", &work).current_dir(&work);
                let mode = match role {
                    Role::Hosted => "hosted",
                    _ => "visit",
                };
                driver.current_dir(&work).arg(mode).args(call);
            }
        }
        if program.role == Role::Host {
            return Ok((command, servers));
        }
        servers.extend(self.connect(&mut driver, peer, command, path)?);
        Ok((driver, servers))
    }

    /// The server whose URL the command of a peer has.
    fn visited(&self, peer: &Peer, path: &str) -> Result<Vec<Server>> {
        if !peer.program.command.contains("{url}") {
            return Ok(Vec::new());
        }
        let server = match (&peer.behind, &peer.section.bridge) {
            (Some(behind), Some(revision)) => {
                self.bridge(revision, &self.command(behind, peer, "").0)?
            }
            _ => self.serve(&peer.section, path, false)?,
        };
        Ok(vec![server])
    }

    /// Tells the driver how to reach the peer: the command that starts it, or the URL of the server that is started here.
    fn connect(
        &self,
        driver: &mut Command,
        peer: &Peer,
        mut command: Command,
        path: &str,
    ) -> Result<Option<Server>> {
        let transport = &peer.section.transport;
        if transport == "stdio" {
            let set = |(name, value): (_, Option<_>)| Some((name, value?));
            driver.arg(command.get_program()).args(command.get_args());
            driver.envs(command.get_envs().filter_map(set));
            return Ok(None);
        }
        let server = match &peer.section.bridge {
            Some(revision) => self.bridge(revision, &command)?,
            None => Server::start(&mut command, path)?,
        };
        driver.args([&format!("--{transport}"), server.url()]);
        Ok(Some(server))
    }

    /// The everything server over HTTP, or the same in small pages.
    fn serve(&self, section: &Section, path: &str, is_paged: bool) -> Result<Server> {
        let revision = section.bridge.as_ref().unwrap_or(&section.revision);
        let mut command = match is_paged {
            true => program(self.ours("interop-client"), &format!("pages {revision} 5")),
            false => program(self.ours("everything-server"), ""),
        };
        if section.bridge.is_some() {
            let wire = (!is_paged).then_some("--stdio");
            return self.bridge(revision, command.args(wire));
        }
        // The endpoints of 2024-11-05, if the path is theirs.
        let legacy = (path == "/sse").then_some("--legacy");
        let sessions = (section.revision == "sessions" && !is_paged).then_some("--sessions");
        command.args(["--http", ANY_PORT]);
        Server::start(command.args(legacy).args(sessions), path)
    }

    /// Starts `mcp bridge` in front of a server on stdio. The bridge connects to the server with this kind of revision.
    fn bridge(&self, revision: &str, server: &Command) -> Result<Server> {
        let words = format!("bridge --listen {ANY_PORT} --revision {revision}");
        let mut command = program(self.ours("mcp"), &words);
        for (name, value) in server.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            command.arg("--env");
            command.arg(format!("{}={value}", name.to_string_lossy()));
        }
        command.arg("--").arg(server.get_program());
        Server::start(command.args(server.get_args()), "/mcp")
    }
}
