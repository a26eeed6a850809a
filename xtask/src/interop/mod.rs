//! `cargo xtask interop`: our client against servers of other projects, their clients against our server, and both of
//! ours with an authorization server of another project in between.
//!
//! The peers are pinned in `tests/interop` and `tests/peers`, and installed under `target/interop`. A driver per peer
//! prints one JSON line per feature: `interop-client` and `interop-auth` of `mcp-tests` for servers, the scripts in
//! `tests/interop` for clients. Every feature is a row, and has to be reported: it works, or the peer does not have it,
//! which the driver shows and [`absent`] gives the reason for.

mod absent;
mod driver;
mod install;
mod peers;
mod rows;
mod table;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::programs::{self, BUILD, Server, target};
use crate::steps::{cargo, say};
use crate::workspace::root;
use driver::Ours;
use install::Installed;
use peers::{PEERS, Peer};
use table::Column;

const SCRIPTS: &str = "tests/interop";
const CRATES: &str = "tests/peers";
const PAGE: &str = "docs/interop.md";

/// How long one peer may take with all its features.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs the command: with all peers, or with those that are named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let peers = Peer::chosen(args)?;
    let root = root();
    build(root)?;
    let folder = target().join("interop");
    let ours = Ours::new(&folder.join("bin"))?;
    let crates = root.join(CRATES);
    let crates = peers.iter().any(|peer| peer.is_rust()).then_some(&*crates);
    let installed = Installed::new(folder, &root.join(SCRIPTS), crates)?;
    let columns: Vec<Column> = peers
        .iter()
        .map(|peer| converse(peer, &installed, &ours))
        .collect();
    say(&format!("\n{}", table::plain(&columns)));
    if args.is_empty() {
        write_page(root, &columns)?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = columns.iter().flat_map(Column::failures).collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n"))
}

fn build(root: &Path) -> Result<(), String> {
    let words =
        "build -p mcp-tests --bin interop-client --bin interop-auth --bin everything-server";
    let mut command = Command::new(cargo());
    command.args(words.split(' ')).current_dir(root);
    programs::run(&mut command, BUILD, say).map_err(|error| format!("cargo {words}: {error}"))
}

/// Everything one peer has to show.
fn converse(peer: &'static Peer, installed: &Installed, ours: &Ours) -> Column {
    let mut column = Column::new(peer);
    // What an earlier run has left behind is not what a server shall find.
    let _ = fs::remove_dir_all(driver::work(peer, installed));
    let mut driver = match driver::driver(peer, installed, ours) {
        Ok(driver) => driver,
        Err(fault) => {
            column.fault(fault);
            return column;
        }
    };
    let outcome = programs::run(&mut driver.command, LIMIT, |line| say(&column.take(line)));
    let ends = driver.servers.into_iter().map(Server::end);
    for fault in std::iter::once(outcome).chain(ends).filter_map(Result::err) {
        column.fault(fault);
    }
    column
}

fn write_page(root: &Path, columns: &[Column]) -> Result<(), String> {
    let mut page = "\
<!-- Written by `cargo xtask interop`; do not edit. -->

# Interoperability

What this workspace and programs of other projects do with each other, in one run of `cargo xtask interop`. The packages
are pinned in `tests/interop` and `tests/peers`.

| Peer | Package | Conversation |
| --- | --- | --- |
"
    .to_owned();
    for peer in PEERS {
        page += &format!(
            "| {} | `{} {}` | {} |\n",
            peer.name,
            peer.package,
            version(root, peer.package)?,
            peer.conversation()
        );
    }
    page += &format!("\n{}", table::markdown(columns));
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The version that is pinned for a package.
fn version(root: &Path, package: &str) -> Result<String, String> {
    let read = |path: String| {
        fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))
    };
    let list: serde_json::Value = serde_json::from_str(&read(format!("{SCRIPTS}/package.json"))?)
        .map_err(|error| format!("{SCRIPTS}/package.json: {error}"))?;
    if let Some(version) = list["dependencies"][package].as_str() {
        return Ok(version.to_owned());
    }
    let pinned = read(format!("{SCRIPTS}/requirements.in"))?;
    let mut lines = pinned.lines();
    if let Some(version) = lines.find_map(|line| line.strip_prefix(package)?.strip_prefix("==")) {
        return Ok(version.to_owned());
    }
    let crates: toml::Table = toml::from_str(&read(format!("{CRATES}/Cargo.toml"))?)
        .map_err(|error| format!("{CRATES}/Cargo.toml: {error}"))?;
    let version = crates.get("dependencies").and_then(|all| {
        all.get(package)?
            .get("version")?
            .as_str()?
            .strip_prefix('=')
    });
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("{package} is pinned nowhere in {SCRIPTS} or {CRATES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        for peer in PEERS {
            let version = version(root(), peer.package).unwrap();
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()),
                "{version}"
            );
        }
        let scripts = root().join(SCRIPTS);
        let lock = fs::read_to_string(scripts.join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let lock = fs::read_to_string(scripts.join("requirements.txt")).unwrap();
        assert!(!lock.contains("://") && lock.contains("--hash=sha256:"));
    }
}
