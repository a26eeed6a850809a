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
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::files;
use crate::page::render;
use crate::programs::{self, Server, build, copy_program, target, venv_python};
use crate::workspace::{At as _, none_of, root, say};
use peers::{Installed, Peer, Role, Section};

const PAGE: &str = "docs/interop.md";

/// Time limit of one peer with all its features.
const LIMIT: Duration = Duration::from_secs(600);

/// The address of our servers.
const ANY_PORT: &str = "127.0.0.1:0";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// All peers instead of the short set; writes docs/interop.md.
    #[arg(long, conflicts_with = "peers")]
    all: bool,
    /// Names of peers; a transport or `modern` is all peers of that kind.
    peers: Vec<String>,
}

/// Runs the command: with the short set of peers, with all, or with those that are named.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let mut peers = match options.all {
        true => peers::all()?,
        false => peers::chosen(&options.peers)?,
    };
    let bins = "-p mcp-tests -p mcp-cli --features mcp-tests/telemetry --bin interop-client --bin interop-auth \
                --bin interop-telemetry --bin everything-server --bin mcp";
    build(root(), &target(), bins)?;
    let folder = target().join("interop");
    let copy = |name| copy_program(name, &folder.join("bin"));
    let ours = Ours {
        client: copy("interop-client")?,
        server: copy("everything-server")?,
        auth: copy("interop-auth")?,
        telemetry: copy("interop-telemetry")?,
        mcp: copy("mcp")?,
    };
    let installed = Installed::new(folder, &peers)?;
    for peer in &mut peers {
        if let Err(fault) = converse(peer, &installed, &ours) {
            peer.faults.push(fault);
        }
    }
    let page = page(&peers)?;
    say(&format!("\n{page}"));
    if options.all {
        files::write(&root().join(PAGE), &page)?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = peers.iter().flat_map(Peer::failures).collect();
    none_of(&failures)
}

/// Installs clients of other projects that call a server without end, and returns their names and commands as
/// `NAME=COMMAND`. The last argument is the URL of the server.
pub(crate) fn steady_clients() -> Result<Vec<String>, String> {
    let folder = target().join("interop");
    Installed::new(folder.clone(), &peers::chosen(&["rmcp-client".to_owned()])?)?;
    let path = |path: &str| folder.join(path).display().to_string();
    let python = venv_python(&folder.join("venv"));
    Ok(vec![
        format!(
            "python={} -W ignore {}",
            python.display(),
            path("python/steady.py")
        ),
        format!("typescript=node {}", path("npm/steady.mjs")),
        format!("rmcp={} steady", path("rust/debug/rmcp-client")),
    ])
}

/// Runs the driver of one peer.
fn converse(peer: &mut Peer, installed: &Installed, ours: &Ours) -> Result<(), String> {
    // A server must not find files of an earlier run.
    let _ = fs::remove_dir_all(installed.work(peer));
    let (mut driver, servers) = ours.driver(peer, installed)?;
    let outcome = programs::run(&mut driver, LIMIT, |line| say(&peer.record(line)));
    let ends = servers.into_iter().map(Server::end);
    let faults = std::iter::once(outcome).chain(ends);
    peer.faults.extend(faults.filter_map(Result::err));
    Ok(())
}

/// The page: the peers with their packages, a table for each section, and the reasons for empty cells.
fn page(peers: &[Peer]) -> Result<String, String> {
    let sections = peers.chunk_by(|a, b| a.section.title == b.section.title);
    let sections: Vec<_> = sections.collect();
    render(
        include_str!("page.md.jinja"),
        minijinja::context!(peers, sections),
    )
}

/// The programs of this workspace that take part, copied into a folder.
#[derive(Debug)]
struct Ours {
    client: PathBuf,
    server: PathBuf,
    auth: PathBuf,
    telemetry: PathBuf,
    mcp: PathBuf,
}

impl Ours {
    /// The driver of a peer, ready to start, and the running servers that it needs.
    fn driver(&self, peer: &Peer, installed: &Installed) -> Result<(Command, Vec<Server>), String> {
        let Section { transport, era, .. } = &peer.section;
        let path = if transport == "sse" { "/sse" } else { "/mcp" };
        let program = &peer.program;
        let mut servers = Vec::new();
        if program.command.contains("{url}") {
            servers.push(match (&peer.behind, &peer.section.bridge) {
                (Some(behind), Some(era)) => {
                    let (server, _) = installed.command_of(behind, peer, "", &self.server);
                    self.bridge(era, &server)?
                }
                _ => self.everything(&peer.section, path)?,
            });
        }
        let url = servers.first().map_or("", Server::url);
        let (mut command, call) = installed.command(peer, url, &self.server);
        let mut driver = Command::new(&self.client);
        match (program.role, &**transport) {
            (Role::Issuer, _) => {
                let issuer = Server::start(&mut command, "")?;
                driver = Command::new(&self.auth);
                driver.arg(issuer.url());
                return Ok((driver, vec![issuer]));
            }
            (Role::Collector, _) => {
                driver = Command::new(&self.telemetry);
                driver.arg(command.get_program()).args(command.get_args());
                return Ok((driver, servers));
            }
            (Role::Client, "stdio") => {
                command.arg(installed.work(peer));
                command.arg(&self.client).arg(&self.server);
                return Ok((command, servers));
            }
            (Role::Client, _) => {
                let servers = vec![
                    self.everything(&peer.section, path)?,
                    self.pages(&peer.section, path)?,
                ];
                command.args(servers.iter().map(Server::url));
                return Ok((command, servers));
            }
            (Role::Server, _) => {
                let words = ["drive", era, &program.scenario];
                driver.args(words).arg(installed.work(peer));
            }
            (role @ (Role::Visited | Role::Hosted | Role::Host), _) => {
                let work = installed.work(peer);
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
        if transport == "stdio" {
            let set = |(name, value): (_, Option<_>)| Some((name, value?));
            driver.arg(command.get_program()).args(command.get_args());
            driver.envs(command.get_envs().filter_map(set));
        } else {
            let server = match &peer.section.bridge {
                Some(era) => self.bridge(era, &command)?,
                None => Server::start(&mut command, path)?,
            };
            driver.args([&format!("--{transport}"), server.url()]);
            servers.push(server);
        }
        Ok((driver, servers))
    }

    /// The everything server over HTTP.
    fn everything(&self, section: &Section, path: &str) -> Result<Server, String> {
        let mut command = Command::new(&self.server);
        if let Some(era) = &section.bridge {
            return self.bridge(era, command.arg("--stdio"));
        }
        let sessions = (section.era == "legacy").then_some("--sessions");
        serve(command.args(["--http", ANY_PORT]), path, sessions)
    }

    /// The same in small pages.
    fn pages(&self, section: &Section, path: &str) -> Result<Server, String> {
        let mut command = Command::new(&self.client);
        if let Some(era) = &section.bridge {
            return self.bridge(era, command.args(["pages", era, "5"]));
        }
        command.args(["pages", &section.era, "5", "--http", ANY_PORT]);
        serve(&mut command, path, None)
    }

    /// `mcp bridge` in front of a server on stdio, with which it uses the revisions of an era.
    fn bridge(&self, era: &str, server: &Command) -> Result<Server, String> {
        let mut command = Command::new(&self.mcp);
        command.args(["bridge", "--listen", ANY_PORT, "--era", era]);
        for (name, value) in server.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            command.arg("--env");
            command.arg(format!("{}={value}", name.to_string_lossy()));
        }
        command.arg("--").arg(server.get_program());
        Server::start(command.args(server.get_args()), "/mcp")
    }
}

/// Starts a server of ours, with the endpoints of 2024-11-05 if `path` is theirs.
fn serve(command: &mut Command, path: &str, sessions: Option<&str>) -> Result<Server, String> {
    let legacy = (path == "/sse").then_some("--legacy");
    Server::start(command.args(legacy).args(sessions), path)
}
