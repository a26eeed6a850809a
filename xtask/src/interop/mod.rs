//! `cargo xtask interop`: our client against servers of other projects, their clients against our server.
//!
//! The peers are pinned in `tests/interop` and installed under `target/interop`. A driver per peer prints one JSON
//! line per feature: `interop-client` of `mcp-tests` for servers, the scripts in `tests/interop` for clients. Every
//! feature is a row, and has to be reported: it works, or the peer does not have it, which the driver shows and
//! [`rows`] gives the reason for.

mod install;
mod peers;
mod rows;
mod table;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::programs::{self, target};
use crate::root;
use crate::steps::{cargo, say};
use install::Installed;
use peers::{Ours, Peer};
use table::Column;

const SCRIPTS: &str = "tests/interop";
const PAGE: &str = "docs/interop.md";

/// How long one peer may take with all its features.
const LIMIT: Duration = Duration::from_secs(600);
/// How long cargo may take to build our side.
const BUILD: Duration = Duration::from_secs(1_800);

/// Runs the command: with all peers, or with those that are named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let peers = chosen(args)?;
    let root = root();
    let scripts = root.join(SCRIPTS);
    build(root)?;
    let folder = target().join("interop");
    let ours = Ours::new(&folder.join("bin"))?;
    let installed = Installed::new(folder, &scripts)?;
    let columns: Vec<Column> = peers
        .iter()
        .map(|peer| converse(*peer, &installed, &ours))
        .collect();
    say(&format!("\n{}", table::plain(&columns)));
    if peers == Peer::ALL {
        write_page(root, &scripts, &columns)?;
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    let failures: Vec<String> = columns.iter().flat_map(Column::failures).collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n"))
}

fn chosen(names: &[String]) -> Result<Vec<Peer>, String> {
    if names.is_empty() {
        return Ok(Peer::ALL.to_vec());
    }
    let find = |name: &String| {
        let known = Peer::ALL.map(Peer::name).join(", ");
        let peer = Peer::ALL.into_iter().find(|peer| peer.name() == name);
        peer.ok_or_else(|| format!("interop knows the peers [{known}], not {name}"))
    };
    names.iter().map(find).collect()
}

fn build(root: &Path) -> Result<(), String> {
    let words = "build -p mcp-tests --bin interop-client --bin everything-server";
    let mut command = Command::new(cargo());
    command.args(words.split(' ')).current_dir(root);
    programs::run(&mut command, BUILD, say).map_err(|error| format!("cargo {words}: {error}"))
}

/// Everything one peer has to show.
fn converse(peer: Peer, installed: &Installed, ours: &Ours) -> Column {
    let mut column = Column::new(peer);
    // What an earlier run has left behind is not what a server shall find.
    let _ = fs::remove_dir_all(peer.work(installed));
    let mut driver = peer.driver(installed, ours);
    let outcome = programs::run(&mut driver, LIMIT, |line| say(&column.take(line)));
    if let Err(fault) = outcome {
        column.fault(fault);
    }
    column
}

fn write_page(root: &Path, scripts: &Path, columns: &[Column]) -> Result<(), String> {
    let mut page = "\
<!-- Written by `cargo xtask interop`; do not edit. -->

# Interoperability

What this workspace and programs of other projects do with each other, over stdio, in one run of `cargo xtask interop`.
The packages are pinned in `tests/interop`.

| Peer | Package | Conversation |
| --- | --- | --- |
"
    .to_owned();
    for peer in Peer::ALL {
        let version = version(scripts, peer.package())?;
        page += &format!(
            "| {} | `{} {version}` | {} |\n",
            peer.name(),
            peer.package(),
            peer.conversation()
        );
    }
    page += &format!("\n{}", table::markdown(columns));
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The version that is pinned for a package.
fn version(scripts: &Path, package: &str) -> Result<String, String> {
    let read = |name: &str| {
        fs::read_to_string(scripts.join(name)).map_err(|error| format!("{SCRIPTS}/{name}: {error}"))
    };
    let list: serde_json::Value = serde_json::from_str(&read("package.json")?)
        .map_err(|error| format!("{SCRIPTS}/package.json: {error}"))?;
    if let Some(version) = list["dependencies"][package].as_str() {
        return Ok(version.to_owned());
    }
    let pinned = read("requirements.in")?;
    let mut lines = pinned.lines();
    let version = lines.find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("{package} is pinned nowhere in {SCRIPTS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_chosen_by_name() {
        assert_eq!(chosen(&[]), Ok(Peer::ALL.to_vec()));
        assert_eq!(chosen(&["memory".to_owned()]), Ok(vec![Peer::Memory]));
        let error = chosen(&["nobody".to_owned()]).unwrap_err();
        assert!(
            error.contains("nobody") && error.contains("python-client"),
            "{error}"
        );
    }

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        let scripts = root().join(SCRIPTS);
        for peer in Peer::ALL {
            let version = version(&scripts, peer.package()).unwrap();
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()),
                "{version}"
            );
        }
        let lock = fs::read_to_string(scripts.join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let lock = fs::read_to_string(scripts.join("requirements.txt")).unwrap();
        assert!(!lock.contains("://") && lock.contains("--hash=sha256:"));
    }
}
