//! The peers and the features that each has to show, as `tests/interop/peers.toml` lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::programs::{build, npm_ci, python_venv, venv_python};

/// The file, whose comments explain the members.
pub(super) const FILE: &str = "tests/interop/peers.toml";

/// The name that drivers use for a feature, and the words of the page.
pub(super) type Feature = [String; 2];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<Section>,
    program: Vec<Program>,
    features: BTreeMap<String, Vec<Feature>>,
    absent: Vec<Absent>,
}

#[derive(Clone, Debug, Deserialize)]
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    name: String,
    pub(super) package: String,
    pub(super) role: Role,
    pub(super) conversation: String,
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

/// The part of a peer in the conversation.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Server,
    Client,
    /// An authorization server between our client and our server.
    Issuer,
}

/// A program of another project in one section.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Its name on the command line and in the tables.
    pub(super) name: String,
    pub(super) section: Section,
    pub(super) program: Program,
    /// What the peer has to show, with the reason where it may lack the feature.
    pub(super) features: Vec<(Feature, Option<String>)>,
}

/// All peers, in the order of the columns.
pub(super) fn all(root: &Path) -> Result<Vec<Peer>, String> {
    let text = crate::files::load(root, FILE.to_owned())?.text;
    let file: File = toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    let mut peers = Vec::new();
    for section in &file.section {
        for program in &section.peers {
            let known = file.program.iter().find(|known| known.name == *program);
            let known = known.ok_or_else(|| format!("{FILE}: no program {program}"))?;
            let name = format!("{program}{}", section.suffix);
            let mut features = Vec::new();
            for feature in section
                .features
                .iter()
                .flat_map(|list| &file.features[list])
            {
                let has = |list: &[String], name: &str| list.iter().any(|known| known == name);
                let mut absent = file.absent.iter();
                let absent = absent
                    .find(|entry| has(&entry.peers, &name) && has(&entry.features, &feature[0]));
                features.push((feature.clone(), absent.map(|absent| absent.reason.clone())));
            }
            peers.push(Peer {
                features,
                section: section.clone(),
                program: known.clone(),
                name,
            });
        }
    }
    Ok(peers)
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
    /// Installs what is missing. `scripts` has the package lists and the drivers, `crates` the programs in Rust.
    pub(super) fn new(
        folder: PathBuf,
        scripts: &Path,
        crates: &Path,
        peers: &[Peer],
    ) -> Result<Self, String> {
        npm_ci(scripts, &folder.join("npm"))?;
        python_venv(scripts, &folder.join("python"), &folder.join("venv"))?;
        let is_rust = |peer: &Peer| peer.program.command.starts_with("{rust}");
        if peers.iter().any(is_rust) {
            build(crates, &folder.join("rust"), "--locked")?;
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
        let text = std::fs::read_to_string(root().join(FILE)).unwrap();
        let file: File = toml::from_str(&text).unwrap();
        for section in &file.section {
            assert!(
                section
                    .features
                    .iter()
                    .all(|list| file.features.contains_key(list))
            );
        }
        let peers = all(root()).unwrap();
        let mut entries = 0;
        for absent in &file.absent {
            for name in &absent.peers {
                let peer = peers.iter().find(|peer| peer.name == *name);
                let features = &peer.unwrap_or_else(|| panic!("no peer {name}")).features;
                for feature in &absent.features {
                    let reason = features.iter().find(|(known, _)| known[0] == *feature);
                    // A second entry for the same feature would have another reason.
                    assert_eq!(
                        reason.unwrap().1.as_ref(),
                        Some(&absent.reason),
                        "{name}: {feature}"
                    );
                    entries += 1;
                }
            }
        }
        let reasons = peers.iter().flat_map(|peer| &peer.features);
        assert_eq!(
            reasons.filter(|(_, reason)| reason.is_some()).count(),
            entries
        );
    }

    #[test]
    fn revisions_and_the_end_are_never_absent() {
        let ends = ["shutdown", "closed", "session-end", "stream-end"];
        for peer in all(root()).unwrap() {
            for ([feature, _], reason) in &peer.features {
                if feature.starts_with("revision-") || ends.contains(&&**feature) {
                    assert_eq!(*reason, None, "{}: {feature}", peer.name);
                }
            }
        }
    }
}
