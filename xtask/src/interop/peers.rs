//! The peers and the features that each has to show, as `tests/interop/peers.toml` lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::features::Feature;
use crate::files::load;
use crate::programs::{build, npm_ci, python_venv, venv_python};

/// The folders with the package lists and drivers, and with the programs in Rust.
const SCRIPTS: &str = "tests/interop";
const CRATES: &str = "tests/peers";

/// The file, whose comments explain the members.
pub(super) const FILE: &str = "tests/interop/peers.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<Section>,
    program: Vec<Program>,
    /// Lists of names and titles.
    features: BTreeMap<String, Vec<[String; 2]>>,
    absent: Vec<Absent>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub(super) title: String,
    /// stdio, http, or sse: the two endpoints of 2024-11-05.
    pub(super) transport: String,
    pub(super) era: String,
    suffix: String,
    features: Vec<String>,
    peers: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    name: String,
    package: String,
    /// The pinned version of the package.
    #[serde(skip_deserializing)]
    version: String,
    pub(super) role: Role,
    conversation: String,
    #[serde(default)]
    pub(super) scenario: String,
    command: String,
    /// By transport.
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Absent {
    peers: Vec<String>,
    features: Vec<String>,
    reason: String,
}

/// The role of a peer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Server,
    Client,
    /// An authorization server between our client and our server.
    Issuer,
}

/// A program of another project in one section: a column of the tables.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Peer {
    /// Its name on the command line and in the tables.
    pub(super) name: String,
    pub(super) section: Section,
    pub(super) program: Program,
    pub(super) features: Vec<Feature>,
    /// Failures of the driver and of servers.
    pub(super) faults: Vec<String>,
}

/// All peers, in the order of the columns.
pub(super) fn all(root: &Path) -> Result<Vec<Peer>, String> {
    let text = load(root, FILE.to_owned())?.text;
    let mut file: File = toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    for program in &mut file.program {
        program.version = version(root, &program.package)?;
    }
    let mut peers = Vec::new();
    for section in &file.section {
        for program in &section.peers {
            let known = file.program.iter().find(|known| known.name == *program);
            let known = known.ok_or_else(|| format!("{FILE}: no program {program}"))?;
            let name = format!("{program}{}", section.suffix);
            let lists = section.features.iter().map(|list| &file.features[list]);
            let features = lists.flatten().map(|[feature, title]| Feature {
                name: feature.clone(),
                title: title.clone(),
                absent: file.absent(&name, feature),
                outcome: None,
            });
            peers.push(Peer {
                features: features.collect(),
                section: section.clone(),
                program: known.clone(),
                name,
                faults: Vec::new(),
            });
        }
    }
    Ok(peers)
}

impl File {
    /// Why a peer lacks a feature.
    fn absent(&self, peer: &str, feature: &str) -> Option<String> {
        let has = |list: &[String], name: &str| list.iter().any(|known| known == name);
        let mut entries = self.absent.iter();
        let entry = entries.find(|entry| has(&entry.peers, peer) && has(&entry.features, feature));
        entry.map(|entry| entry.reason.clone())
    }
}

/// The version that is pinned for a package of npm (`"name": "1.0"`), PyPI (`name==1.0`) or crates.io (`name = { version =
/// "=1.0"`).
fn version(root: &Path, package: &str) -> Result<String, String> {
    for (path, start) in [
        (
            format!("{SCRIPTS}/package.json"),
            format!("\"{package}\": \""),
        ),
        (format!("{SCRIPTS}/requirements.in"), format!("{package}==")),
        (
            format!("{CRATES}/Cargo.toml"),
            format!("{package} = {{ version = \"="),
        ),
    ] {
        let file = load(root, path)?;
        let mut lines = file.lines();
        let rest = lines.find_map(|(_, line)| line.trim_start().strip_prefix(&start));
        if let Some(version) = rest.and_then(|rest| rest.split(['"', ' ', ';']).next()) {
            return Ok(version.to_owned());
        }
    }
    Err(format!("{package} is not pinned in {SCRIPTS} or {CRATES}"))
}

/// The peers with these names; a transport or `modern` selects all peers of that kind, and no name selects all peers.
pub(super) fn chosen(peers: Vec<Peer>, words: &[String]) -> Result<Vec<Peer>, String> {
    let is = |peer: &Peer, word: &String| {
        let Section { transport, era, .. } = &peer.section;
        peer.name == *word || transport == word || (era == "modern" && era == word)
    };
    let is_unknown = |word: &&String| !peers.iter().any(|peer| is(peer, word));
    if let Some(unknown) = words.iter().find(is_unknown) {
        let known: Vec<&str> = peers.iter().map(|peer| &*peer.name).collect();
        let known = known.join(", ");
        return Err(format!(
            "unknown peer {unknown}; use stdio, http, sse, modern or one of [{known}]"
        ));
    }
    let mut chosen = peers;
    chosen.retain(|peer| words.is_empty() || words.iter().any(|word| is(peer, word)));
    Ok(chosen)
}

/// The folders of the installed peers.
#[derive(Debug)]
pub(super) struct Installed {
    folder: PathBuf,
}

impl Installed {
    /// Installs what is missing.
    pub(super) fn new(folder: PathBuf, root: &Path, peers: &[Peer]) -> Result<Self, String> {
        let scripts = root.join(SCRIPTS);
        npm_ci(&scripts, &folder.join("npm"))?;
        python_venv(&scripts, &folder.join("python"), &folder.join("venv"))?;
        let is_rust = |peer: &Peer| peer.program.command.starts_with("{rust}");
        if peers.iter().any(is_rust) {
            build(&root.join(CRATES), &folder.join("rust"), "--locked")?;
        }
        Ok(Self { folder })
    }

    /// The working folder of a peer.
    pub(super) fn work(&self, peer: &Peer) -> PathBuf {
        self.folder.join("work").join(&peer.name)
    }

    /// The command that starts a peer.
    pub(super) fn command(&self, peer: &Peer) -> Command {
        let Section { transport, era, .. } = &peer.section;
        let program = &peer.program;
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let places = [
            ("{npm}", path(self.folder.join("npm"))),
            ("{py}", path(self.folder.join("python"))),
            ("{rust}", path(self.folder.join("rust/debug"))),
            ("{python}", path(venv_python(&self.folder.join("venv")))),
            ("{work}", path(self.work(peer))),
            ("{era}", era.clone()),
            ("{transport}", transport.clone()),
        ];
        let filled = |word: &str| {
            let fill = |word: String, (name, value): &(&str, String)| word.replace(name, value);
            places.iter().fold(word.to_owned(), fill)
        };
        let words = program.command.split_whitespace();
        let args = program.args.get(transport).map_or("", |args| args);
        let mut words = words.chain(args.split_whitespace()).map(filled);
        let first = words.next().unwrap_or_default();
        let env = program
            .env
            .iter()
            .map(|(name, value)| (name, filled(value)));
        let mut command = Command::new(first);
        command.args(words).envs(env);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    fn names(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let peers = chosen(all(root()).unwrap(), &words)?;
        Ok(peers.into_iter().map(|peer| peer.name).collect())
    }

    #[test]
    fn peers_are_chosen_by_name_or_by_transport() {
        let has = |words: &[&str], name: &str| names(words).unwrap().contains(&name.to_owned());
        assert_eq!(names(&[]).unwrap().len(), 36);
        assert_eq!(names(&["memory"]), Ok(vec!["memory".to_owned()]));
        assert!(has(&["http"], "fastmcp-http") && !has(&["http"], "memory"));
        assert!(has(&["sse"], "everything-sse"));
        assert!(has(&["modern"], "rmcp-client-modern") && !has(&["modern"], "rmcp-client"));
        let error = names(&["unknown"]).unwrap_err();
        assert!(
            error.contains("unknown") && error.contains("python-client"),
            "{error}"
        );
    }

    #[test]
    fn names_are_different_and_entries_refer_to_existing_ones() {
        let mut all_names = names(&[]).unwrap();
        all_names.sort_unstable();
        all_names.dedup();
        assert_eq!(all_names.len(), 36);
        let peers = all(root()).unwrap();
        let text = load(root(), FILE.to_owned()).unwrap().text;
        let file: File = toml::from_str(&text).unwrap();
        let mut entries = 0;
        for Absent {
            peers: names,
            features,
            reason,
        } in &file.absent
        {
            for (name, feature) in names
                .iter()
                .flat_map(|name| features.iter().map(move |feature| (name, feature)))
            {
                let peer = peers.iter().find(|peer| peer.name == *name).unwrap();
                let mut known = peer.features.iter();
                let known = known.find(|known| known.name == *feature).unwrap();
                // A second entry for the same feature would have another reason.
                assert_eq!(known.absent.as_ref(), Some(reason), "{name}: {feature}");
                entries += 1;
            }
        }
        let features = peers.iter().flat_map(|peer| &peer.features);
        let absent = features.filter(|feature| feature.absent.is_some());
        assert_eq!(absent.count(), entries);
    }

    #[test]
    fn revisions_and_the_end_are_never_absent() {
        let ends = ["shutdown", "closed", "session-end", "stream-end"];
        for peer in all(root()).unwrap() {
            for Feature { name, absent, .. } in &peer.features {
                if name.starts_with("revision-") || ends.contains(&&**name) {
                    assert_eq!(*absent, None, "{}: {name}", peer.name);
                }
            }
        }
    }

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        let read = |name: &str| load(root(), format!("{SCRIPTS}/{name}")).unwrap().text;
        assert!(version(root(), "rmcp").unwrap().starts_with("3."));
        assert!(version(root(), "no-such-package").is_err());
        let lock = read("package-lock.json");
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let lock = read("requirements.txt");
        assert!(!lock.contains("://") && lock.contains("--hash=sha256:"));
    }
}
