//! `cargo xtask interop`: our client against servers of other projects, their clients against our server, and both of
//! ours with an authorization server of another project in between.
//!
//! The peers are pinned in `tests/interop` and `tests/peers`, and installed under `target/interop`. A driver per peer
//! prints one JSON line per feature: `interop-client` and `interop-auth` of `mcp-tests` for servers, the scripts in
//! `tests/interop` for clients. Every feature is a row, and has to be reported: it works, or the peer does not have it,
//! which the driver shows and `peers.toml` gives the reason for.

mod features;
mod peers;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::files;
use crate::page::render;
use crate::programs::{self, Server, build, copy_program, target};
use crate::steps::say;
use crate::workspace::{none_of, root};
use peers::{Installed, Peer, Role, Section};

const PAGE: &str = "docs/interop.md";

/// Time limit of one peer with all its features.
const LIMIT: Duration = Duration::from_secs(600);

/// The address of our servers.
const ANY_PORT: &str = "127.0.0.1:0";

/// Runs the command: with all peers, or with those that are named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let mut peers = peers::chosen(args)?;
    let bins = "-p mcp-tests --bin interop-client --bin interop-auth --bin everything-server";
    build(root(), &target(), bins)?;
    let folder = target().join("interop");
    let copy = |name| copy_program(name, &folder.join("bin"));
    let ours = Ours {
        client: copy("interop-client")?,
        server: copy("everything-server")?,
        auth: copy("interop-auth")?,
    };
    let installed = Installed::new(folder, &peers)?;
    for peer in &mut peers {
        if let Err(fault) = converse(peer, &installed, &ours) {
            peer.faults.push(fault);
        }
    }
    let page = page(&peers)?;
    say(&format!("\n{page}"));
    if args.is_empty() {
        files::write(&root().join(PAGE), &page)?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = peers.iter().flat_map(Peer::failures).collect();
    none_of(&failures)
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
}

impl Ours {
    /// The driver of a peer, ready to start, and the running servers that it needs.
    fn driver(&self, peer: &Peer, installed: &Installed) -> Result<(Command, Vec<Server>), String> {
        let mut command = installed.command(peer);
        let Section { transport, era, .. } = &peer.section;
        let path = if transport == "sse" { "/sse" } else { "/mcp" };
        match (peer.program.role, &**transport) {
            (Role::Issuer, _) => {
                let issuer = Server::start(&mut command, "")?;
                let mut driver = Command::new(&self.auth);
                driver.arg(issuer.url());
                Ok((driver, vec![issuer]))
            }
            (Role::Server, _) => {
                let mut driver = Command::new(&self.client);
                driver
                    .args(["drive", era, &peer.program.scenario])
                    .arg(installed.work(peer));
                if transport == "stdio" {
                    let set = |(name, value): (_, Option<_>)| Some((name, value?));
                    driver.arg(command.get_program()).args(command.get_args());
                    driver.envs(command.get_envs().filter_map(set));
                    return Ok((driver, Vec::new()));
                }
                let server = Server::start(&mut command, path)?;
                driver.args([&format!("--{transport}"), server.url()]);
                Ok((driver, vec![server]))
            }
            (Role::Client, "stdio") => {
                command.arg(installed.work(peer));
                command.arg(&self.client).arg(&self.server);
                Ok((command, Vec::new()))
            }
            (Role::Client, _) => {
                let servers = self.servers(era, path)?;
                command.args(servers.iter().map(Server::url));
                Ok((command, servers))
            }
        }
    }

    /// The everything server, and the same in small pages.
    fn servers(&self, era: &str, path: &str) -> Result<Vec<Server>, String> {
        let mut everything = Command::new(&self.server);
        let mut pages = Command::new(&self.client);
        pages.args(["pages", era, "5"]);
        for command in [&mut everything, &mut pages] {
            command.args(["--http", ANY_PORT]);
            if path == "/sse" {
                command.arg("--legacy");
            }
        }
        if era == "legacy" {
            everything.arg("--sessions");
        }
        Ok(vec![
            Server::start(&mut everything, path)?,
            Server::start(&mut pages, path)?,
        ])
    }
}
