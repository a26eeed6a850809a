//! The peers and the features that each has to show, as `tests/interop/peers.toml` lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::features::Feature;
use crate::programs::{build, executable, install, npm_ci, python_venv, venv_python};
use crate::workspace::{At as _, Result, load, root};

/// The folders with the package lists and drivers, and with the programs in Rust.
const SCRIPTS: &str = "tests/interop";
const CRATES: &str = "tests/peers";

/// The file of the short set, whose comments explain the members, and the file of the other peers, which is appended.
pub(super) const FILE: &str = "tests/interop/peers.toml";
const WIDE: &str = "tests/interop/wide";

/// The folder, in that of the installed peers, with the programs of this workspace.
pub(super) const BIN: &str = "bin";

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
    /// The kind of revisions that the client uses: sessions or stateless.
    pub(super) revision: String,
    suffix: String,
    /// The kind of revisions of the server, if `mcp bridge` is between it and the client.
    pub(super) bridge: Option<String>,
    /// The program behind the bridge, instead of our server.
    server: Option<String>,
    /// Whether the peers take part only with `--all`.
    #[serde(default)]
    pub(super) wide: bool,
    /// Replaces the role of the programs.
    role: Option<Role>,
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
    /// The folder of `tests/interop/wide` that pins the package.
    #[serde(default)]
    packages: String,
    pub(super) role: Role,
    #[serde(default)]
    conversation: String,
    #[serde(default)]
    pub(super) scenario: String,
    /// The tool, its arguments and a text of its result, for a visit.
    #[serde(default)]
    call: Vec<String>,
    pub(super) command: String,
    /// By transport.
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Why these peers lack these features.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Absent {
    pub(super) peers: Vec<String>,
    pub(super) features: Vec<String>,
    pub(super) reason: String,
    /// A text of the failure that shows the defect of a peer whose driver cannot report that a feature is absent.
    #[serde(default)]
    pub(super) says: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Server,
    Client,
    /// An authorization server between our client and our server.
    Issuer,
    /// A collector between the telemetry of our client and our server and a sink.
    Collector,
    /// A server that our client visits with default settings, or a proxy in front of our server.
    Visited,
    /// A server that our host keeps connected.
    Hosted,
    /// A server whose prompts and resources our host shows beside those of our server.
    Aggregated,
    /// A program or framework that visits our server with default settings.
    Host,
}

/// A program of another project in one section: a column of the tables.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Peer {
    /// Its name on the command line and in the tables.
    pub(super) name: String,
    pub(super) section: Section,
    pub(super) program: Program,
    /// The program behind the bridge.
    pub(super) behind: Option<Program>,
    pub(super) features: Vec<Feature>,
    /// Failures of the driver and of servers.
    pub(super) faults: Vec<String>,
}

/// All peers, in the order of the columns.
pub(super) fn all() -> Result<Vec<Peer>> {
    let mut file = File::load()?;
    for program in &mut file.program {
        program.version = version(program)?;
    }
    let mut peers = Vec::new();
    for section in &file.section {
        let program = |name: &String| {
            let known = file.program.iter().find(|known| known.name == *name);
            known.ok_or_else(|| format!("{FILE}: no program {name}"))
        };
        let behind = section.server.as_ref().map(program).transpose()?;
        for name in &section.peers {
            let known = program(name)?;
            let name = format!("{name}{}", section.suffix);
            let lists = section.features.iter().map(|list| &file.features[list]);
            let features = lists.flatten().map(|[feature, title]| {
                let mut absent = file.absent.iter();
                let is_absent = |absent: &&Absent| {
                    absent.peers.contains(&name) && absent.features.contains(feature)
                };
                Feature {
                    name: feature.clone(),
                    title: title.clone(),
                    absent: absent.find(is_absent).cloned(),
                    outcome: None,
                }
            });
            let mut program = known.clone();
            program.role = section.role.unwrap_or(known.role);
            peers.push(Peer {
                features: features.collect(),
                section: section.clone(),
                program,
                behind: behind.cloned(),
                name,
                faults: Vec::new(),
            });
        }
    }
    Ok(peers)
}

impl File {
    fn load() -> Result<Self> {
        let mut text = load(root(), FILE)?.text;
        text += &load(root(), &format!("{WIDE}/peers.toml"))?.text;
        toml::from_str(&text).at(FILE)
    }
}

/// The version that is pinned for a package of npm (`"name": "1.0"`), PyPI (`name==1.0`) or crates.io (`name = { version =
/// "=1.0"`).
fn version(program: &Program) -> Result<String> {
    let Program {
        package, packages, ..
    } = program;
    let list = |folder: &str, name: &str| match &**packages {
        "" => format!("{folder}/{name}"),
        packages => format!("{WIDE}/{packages}/{name}"),
    };
    for (path, before) in [
        (list(SCRIPTS, "package.json"), format!("\"{package}\": \"")),
        (list(SCRIPTS, "requirements.in"), format!("\n{package}==")),
        (
            list(CRATES, "Cargo.toml"),
            format!("\n{package} = {{ version = \"="),
        ),
    ] {
        let text = load(root(), &path).map_or_else(|_| String::new(), |file| file.text);
        if let Some((_, rest)) = format!("\n{text}").split_once(&before) {
            let version = rest.split(['"', ' ', ';', '\n']).next();
            return Ok(version.unwrap_or_default().to_owned());
        }
    }
    Err(format!(
        "{package} is not pinned in {SCRIPTS}, {WIDE} or {CRATES}"
    ))
}

/// The peers with these names; a transport, `sessions` or `stateless` selects all peers of that kind, and no name
/// selects the short set.
pub(super) fn chosen(words: &[String]) -> Result<Vec<Peer>> {
    let mut peers = all()?;
    let is = |peer: &Peer, word: &String| {
        let Section {
            transport,
            revision,
            ..
        } = &peer.section;
        [&peer.name, transport, revision].contains(&word)
    };
    let is_unknown = |word: &&String| !peers.iter().any(|peer| is(peer, word));
    if let Some(unknown) = words.iter().find(is_unknown) {
        let known: Vec<&str> = peers.iter().map(|peer| &*peer.name).collect();
        let known = known.join(", ");
        return Err(format!(
            "unknown peer {unknown}; use stdio, http, sse, sessions, stateless or one of [{known}]"
        ));
    }
    peers.retain(|peer| match words {
        [] => !peer.section.wide,
        words => words.iter().any(|word| is(peer, word)),
    });
    Ok(peers)
}

/// The folders of the installed peers.
#[derive(Debug)]
pub(super) struct Installed {
    folder: PathBuf,
}

impl Installed {
    pub(super) fn new(folder: PathBuf, peers: &[Peer]) -> Result<Self> {
        let scripts = root().join(SCRIPTS);
        npm_ci(&scripts, &folder.join("npm"))?;
        python_venv(&scripts, &folder.join("python"), &folder.join("venv"))?;
        let is_rust = |peer: &Peer| peer.program.command.starts_with("{rust}");
        if peers.iter().any(is_rust) {
            build(&root().join(CRATES), &folder.join("rust"), "--locked")?;
        }
        let lists = peers.iter().map(|peer| &*peer.program.packages);
        for list in lists.collect::<BTreeSet<_>>() {
            install(&root().join(WIDE).join(list), &folder.join(list))?;
        }
        Ok(Self { folder })
    }

    /// The working folder of a peer.
    pub(super) fn work(&self, peer: &Peer) -> PathBuf {
        self.folder.join("work").join(&peer.name)
    }

    /// A program of this workspace.
    pub(super) fn ours(&self, name: &str) -> PathBuf {
        executable(&self.folder.join(BIN), name)
    }

    /// The command that starts a program for a peer, with the address of our server for programs that need it, and the words
    /// of the call.
    pub(super) fn command(
        &self,
        program: &Program,
        peer: &Peer,
        url: &str,
    ) -> (Command, Vec<String>) {
        let Section {
            revision, bridge, ..
        } = &peer.section;
        let transport = match (bridge, program.role) {
            (Some(_), Role::Server) => "stdio",
            _ => &peer.section.transport,
        };
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let ours = |name| path(self.ours(name));
        let own = self.folder.join(&program.packages);
        let programs = match program.packages.split('-').next() {
            Some("npm") => "node_modules/.bin",
            Some("rust") => "debug",
            _ => "venv/bin",
        };
        let places = [
            ("{bridge}", "{mcp} bridge --stdio -- {stdio}".to_owned()),
            ("{npm}", path(self.folder.join("npm"))),
            ("{py}", path(self.folder.join("python"))),
            ("{rust}", path(self.folder.join("rust/debug"))),
            ("{own}", path(own.clone())),
            ("{bin}", path(own.join(programs))),
            ("{wide}", path(root().join(WIDE))),
            ("{url}", url.to_owned()),
            ("{server}", ours("everything-server")),
            ("{client}", ours("interop-client")),
            ("{stdio}", format!("{} --stdio", ours("everything-server"))),
            ("{mcp}", ours("mcp")),
            ("{skills}", path(root().join(SCRIPTS).join("skills"))),
            ("{python}", path(venv_python(&self.folder.join("venv")))),
            ("{work}", path(self.work(peer))),
            ("{revision}", revision.clone()),
            ("{transport}", transport.to_owned()),
        ];
        let filled = |word: &str| {
            let fill = |word: String, (name, value): &(&str, String)| word.replace(name, value);
            places.iter().fold(word.to_owned(), fill)
        };
        let words = program.command.split_whitespace();
        let args = program.args.get(transport).map_or("", |args| args);
        let mut words = words.chain(args.split_whitespace()).map(filled);
        let first = words.next().unwrap_or_default();
        let env = program.env.iter();
        let env = env.map(|(name, value)| (name, filled(value)));
        let mut command = Command::new(first);
        command.args(words).envs(env);
        let call = program.call.iter().map(|word| filled(word)).collect();
        (command, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_chosen_by_name_or_by_transport() {
        let chosen = |word: &str| chosen(&[word.to_owned()]);
        assert_eq!(super::chosen(&[]).unwrap().len(), 55);
        assert_eq!(chosen("memory").unwrap().len(), 1);
        for (word, with, without) in [
            ("http", "fastmcp-http", "memory"),
            ("sse", "everything-sse", "everything"),
            ("sessions", "rmcp-client", "rmcp-client-stateless"),
            ("stateless", "rmcp-client-stateless", "rmcp-client"),
        ] {
            let peers = chosen(word).unwrap();
            let has = |name| peers.iter().any(|peer| peer.name == name);
            assert!(has(with) && !has(without), "{word}");
        }
        let error = chosen("unknown").unwrap_err();
        assert!(
            error.contains("unknown") && error.contains("python-client"),
            "{error}"
        );
    }

    #[test]
    fn names_are_different_and_absent_features_exist_and_have_one_reason() {
        let peers = all().unwrap();
        let names: BTreeSet<&str> = peers.iter().map(|peer| &*peer.name).collect();
        assert_eq!(names.len(), peers.len());
        let file = File::load().unwrap();
        let mut entries = Vec::new();
        for Absent {
            peers, features, ..
        } in &file.absent
        {
            let of_peer = |peer| features.iter().map(move |feature| (peer, feature));
            entries.extend(peers.iter().flat_map(of_peer));
        }
        entries.sort();
        let of_peer = |peer: &Peer| {
            let absent = peer.features.iter().filter(|known| known.absent.is_some());
            let absent = absent.map(|feature| (peer.name.clone(), feature.name.clone()));
            Vec::from_iter(absent)
        };
        let mut absent = Vec::from_iter(peers.iter().flat_map(of_peer));
        absent.sort();
        // An entry for a feature that no peer has, and a second entry for the same feature, would differ.
        assert!(absent.iter().map(|(a, b)| (a, b)).eq(entries));
        let always = ["shutdown", "closed", "session-end", "stream-end"];
        for (_, name) in &absent {
            let is_optional = !name.starts_with("revision-") && !always.contains(&&**name);
            assert!(is_optional, "{name}");
        }
    }

    #[test]
    fn a_package_without_a_pin_is_an_error() {
        let mut program = File::load().unwrap().program.remove(0);
        assert!(version(&program).is_ok());
        program.package = "no-such-package".to_owned();
        assert!(version(&program).is_err());
    }
}
