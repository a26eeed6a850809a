//! `cargo xtask interop`: our client against servers of other projects, their clients against our server, and both of
//! ours with an authorization server of another project in between.
//!
//! The peers are pinned in `tests/interop` and `tests/peers`, and installed under `target/interop`. A driver per peer
//! prints one JSON line per feature: `interop-client` and `interop-auth` of `mcp-tests` for servers, the scripts in
//! `tests/interop` for clients. Every feature is a row, and has to be reported: it works, or the peer does not have it,
//! which the driver shows and `peers.toml` gives the reason for.

mod column;
mod peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::programs::{self, Server, build, copy_program, target};
use crate::steps::say;
use crate::table::Table;
use crate::workspace::root;
use column::{Column, tables};
use peers::{Installed, Peer, Role, Section};

const SCRIPTS: &str = "tests/interop";
const CRATES: &str = "tests/peers";
const PAGE: &str = "docs/interop.md";

/// Time limit of one peer with all its features.
const LIMIT: Duration = Duration::from_secs(600);

/// The address of our servers.
const ANY_PORT: &str = "127.0.0.1:0";

const HEAD: &str = "\
<!-- Written by `cargo xtask interop`; do not edit. -->

# Interoperability

What this workspace and programs of other projects do with each other, in one run of `cargo xtask interop`. The packages
are pinned in `tests/interop` and `tests/peers`.

";

/// Runs the command: with all peers, or with those that are named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let root = root();
    let peers = peers::chosen(peers::all(root)?, args)?;
    let bins = "-p mcp-tests --bin interop-client --bin interop-auth --bin everything-server";
    build(root, &target(), bins)?;
    let folder = target().join("interop");
    let ours = Ours::new(&folder.join("bin"))?;
    let installed = Installed::new(folder, &root.join(SCRIPTS), &root.join(CRATES), &peers)?;
    let columns: Vec<Column> = peers
        .iter()
        .map(|peer| converse(peer, &installed, &ours))
        .collect();
    let tables = tables(&columns);
    say(&format!("\n{tables}"));
    if args.is_empty() {
        let page = format!("{HEAD}{}\n{tables}", packages(root, &peers)?);
        fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = columns.iter().flat_map(Column::failures).collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n"))
}

/// Runs the driver of one peer.
fn converse(peer: &Peer, installed: &Installed, ours: &Ours) -> Column {
    let mut column = Column::new(peer);
    // A server must not find files of an earlier run.
    let _ = fs::remove_dir_all(installed.work(peer));
    let (mut driver, servers) = match ours.driver(peer, installed) {
        Ok(driver) => driver,
        Err(fault) => {
            column.fault(fault);
            return column;
        }
    };
    let outcome = programs::run(&mut driver, LIMIT, |line| say(&column.record(line)));
    let ends = servers.into_iter().map(Server::end);
    for fault in std::iter::once(outcome).chain(ends).filter_map(Result::err) {
        column.fault(fault);
    }
    column
}

/// The programs of this workspace that take part.
#[derive(Debug)]
struct Ours {
    client: PathBuf,
    server: PathBuf,
    auth: PathBuf,
}

impl Ours {
    /// Copies the programs into a folder.
    fn new(folder: &Path) -> Result<Self, String> {
        Ok(Self {
            client: copy_program("interop-client", folder)?,
            server: copy_program("everything-server", folder)?,
            auth: copy_program("interop-auth", folder)?,
        })
    }

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

/// The table of the peers and their pinned packages.
fn packages(root: &Path, peers: &[Peer]) -> Result<String, String> {
    let mut table = Table::new(["Peer", "Package", "Conversation"]);
    for Peer { name, program, .. } in peers {
        let package = &program.package;
        let version = version(root, package)?;
        table.row([
            name,
            &format!("`{package} {version}`"),
            &program.conversation,
        ]);
    }
    Ok(table.markdown())
}

/// The version that is pinned for a package.
fn version(root: &Path, package: &str) -> Result<String, String> {
    let read = |path: String| {
        fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))
    };
    let list: serde_json::Value = serde_json::from_str(&read(format!("{SCRIPTS}/package.json"))?)
        .map_err(|error| format!("{SCRIPTS}/package.json: {error}"))?;
    let requirements = read(format!("{SCRIPTS}/requirements.in"))?;
    let crates: toml::Table = toml::from_str(&read(format!("{CRATES}/Cargo.toml"))?)
        .map_err(|error| format!("{CRATES}/Cargo.toml: {error}"))?;
    let npm = || list["dependencies"][package].as_str();
    let python = || {
        let mut lines = requirements.lines();
        lines.find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))
    };
    let rust = || {
        let version = crates.get("dependencies")?.get(package)?.get("version")?;
        version.as_str()?.strip_prefix('=')
    };
    let version = npm().or_else(python).or_else(rust).map(str::to_owned);
    version.ok_or_else(|| format!("{package} is not pinned in {SCRIPTS} or {CRATES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        let peers = peers::all(root()).unwrap();
        assert!(packages(root(), &peers).is_ok_and(|table| table.contains("| `rmcp 3.")));
        let scripts = root().join(SCRIPTS);
        let lock = fs::read_to_string(scripts.join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let lock = fs::read_to_string(scripts.join("requirements.txt")).unwrap();
        assert!(!lock.contains("://") && lock.contains("--hash=sha256:"));
    }
}
