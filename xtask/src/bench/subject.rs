//! The measured servers: how each is built and started.

use std::path::PathBuf;
use std::process::Command;

use super::workloads::Workload;
use crate::programs::{build, executable, target};
use crate::workspace::{Result, root};

/// A measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A server without an SDK.
    Baseline,
    /// This SDK.
    Ours,
    /// rmcp, the official Rust SDK.
    Rmcp,
    /// tower-mcp.
    Tower,
}

/// All subjects, in the order of the columns.
pub(super) const ALL: [Subject; 4] = [
    Subject::Baseline,
    Subject::Ours,
    Subject::Rmcp,
    Subject::Tower,
];

/// The workspace of the peers.
pub(super) const PEERS: &str = "tests/bench-peers";
/// The package of the other programs.
const OWN: &str = "-p mcp-tests --no-default-features";

impl Subject {
    /// The name on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Ours => "this SDK",
            Self::Rmcp => "rmcp 3.9.0",
            Self::Tower => "tower-mcp 0.25.0",
        }
    }

    /// The program, and the package of a peer.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Baseline => "bench-baseline",
            Self::Ours => "bench-server",
            Self::Rmcp => "bench-rmcp-server",
            Self::Tower => "bench-tower-mcp-server",
        }
    }

    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::Rmcp | Self::Tower)
    }

    /// The arguments of the program, or the reason why the server does not support the workload.
    pub(super) fn args(self, workload: &Workload) -> Result<Vec<String>, &'static str> {
        let mut words = match workload.is_stdio() {
            true => vec!["--stdio"],
            false => vec!["--http", "127.0.0.1:0"],
        };
        let has_notifications = workload.has_notifications();
        match (self, &*workload.wire) {
            (Self::Tower, "http") if has_notifications => {
                return Err(
                    "on older revisions, notifications do not come in the stream of their call",
                );
            }
            (Self::Tower, "http-stateless") => {
                return Err("it always opens sessions on older revisions");
            }
            // Without this flag, rmcp answers requests of the newest revision with event streams.
            (Self::Rmcp, "http-modern") | (_, "http-stateless") => words.push("--stateless"),
            (Self::Tower, "http-modern") if has_notifications => words.push("--events"),
            _ => {}
        }
        if workload.nagle {
            words.push("--nagle");
        }
        let tools = workload.tools.to_string();
        words.extend(["--tools", &tools]);
        let layers = workload.layers.to_string();
        if self == Self::Ours && workload.layers > 0 {
            words.extend(["--layers", &layers]);
        }
        Ok(words.into_iter().map(str::to_owned).collect())
    }
}

/// The release programs, each built with the features that it needs and no others.
#[derive(Debug)]
pub(super) struct Programs {
    own: PathBuf,
    peers: PathBuf,
}

impl Programs {
    /// Builds the programs that the gates need.
    pub(super) fn for_gates() -> Result<Self> {
        // A separate folder: a build with other features at the same time does not replace these programs.
        let this = Self {
            own: target().join("bench"),
            peers: peer_folder(),
        };
        let words = "--release --bin bench-server --bin bench-baseline --bin bench-load";
        build(root(), &this.own, &format!("{OWN} {words}"))?;
        Ok(this)
    }

    /// Builds all programs.
    pub(super) fn all() -> Result<Self> {
        let this = Self::for_gates()?;
        let words = "--release --features client --bin bench-client";
        build(root(), &this.own, &format!("{OWN} {words}"))?;
        build_peer("bench-rmcp-client")?;
        peer_servers()?;
        Ok(this)
    }

    /// The path of a program.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        let is_peer = name.starts_with("bench-rmcp-") || name.starts_with("bench-tower-");
        let folder = if is_peer { &self.peers } else { &self.own };
        executable(&folder.join("release"), name)
    }

    /// `bench-load` with these options and a server that it starts, by `wrapper` (for example valgrind) if that is not
    /// empty.
    pub(super) fn load(
        &self,
        subject: Subject,
        workload: &Workload,
        options: &str,
        wrapper: &[&str],
    ) -> Result<Command, &'static str> {
        let args = subject.args(workload)?;
        let mut command = Command::new(self.path("bench-load"));
        command
            .args(options.split(' '))
            .args(["--wire", &workload.wire, "--ask", &workload.ask, "--"])
            .args(wrapper)
            .arg(self.path(subject.program()))
            .args(args);
        Ok(command)
    }
}

fn peer_folder() -> PathBuf {
    target().join("bench-peers")
}

fn build_peer(package: &str) -> Result {
    let words = format!("--release --locked -p {package}");
    build(&root().join(PEERS), &peer_folder(), &words)
}

/// Builds the servers of the peers, and returns their names and paths.
pub(crate) fn peer_servers() -> Result<[(&'static str, PathBuf); 2]> {
    for subject in [Subject::Rmcp, Subject::Tower] {
        build_peer(subject.program())?;
    }
    let path = |subject: Subject| executable(&peer_folder().join("release"), subject.program());
    Ok([Subject::Rmcp, Subject::Tower].map(|subject| (subject.name(), path(subject))))
}
