//! The measured servers: how each is built and started.

use std::path::PathBuf;
use std::process::Command;

use super::workloads::Workload;
use crate::programs::{build, executable, program, target};
use crate::workspace::{Result, root};

/// A measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A server without an SDK.
    Baseline,
    Ours,
    /// rmcp, the official Rust SDK.
    Rmcp,
    Tower,
}

/// All subjects, in the order of the columns.
pub(super) const ALL: [Subject; 4] = [
    Subject::Baseline,
    Subject::Ours,
    Subject::Rmcp,
    Subject::Tower,
];

pub(super) const PEERS: &str = "tests/bench-peers";

impl Subject {
    /// The name on the page, and the program, which is also the package of a peer.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Baseline => ["baseline", "bench-baseline"],
            Self::Ours => ["this SDK", "bench-server"],
            Self::Rmcp => ["rmcp 3.9.0", "bench-rmcp-server"],
            Self::Tower => ["tower-mcp 0.25.0", "bench-tower-mcp-server"],
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.names()[0]
    }

    pub(super) fn program(self) -> &'static str {
        self.names()[1]
    }

    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::Rmcp | Self::Tower)
    }

    /// The arguments of the program, or the reason why the server does not support the workload.
    pub(super) fn args(self, workload: &Workload) -> Result<String, &'static str> {
        let (tools, layers) = (workload.tools, workload.layers);
        let has_notifications = workload.has_notifications();
        let mut words = match workload.is_stdio() {
            true => "--stdio".to_owned(),
            false => "--http 127.0.0.1:0".to_owned(),
        };
        words += match (self, &*workload.wire) {
            (Self::Tower, "http") if has_notifications => {
                return Err(
                    "on older revisions, notifications do not come in the stream of their call",
                );
            }
            (Self::Tower, "http-stateless") => {
                return Err("it always opens sessions on older revisions");
            }
            // Without this flag, rmcp answers requests of the newest revision with event streams.
            (Self::Rmcp, "http-modern") | (_, "http-stateless") => " --stateless",
            (Self::Tower, "http-modern") if has_notifications => " --events",
            _ => "",
        };
        if workload.nagle {
            words += " --nagle";
        }
        words += &format!(" --tools {tools}");
        if self == Self::Ours && layers > 0 {
            words += &format!(" --layers {layers}");
        }
        Ok(words)
    }
}

/// Builds programs in release mode, each with the features that it needs and no others. The folder is a separate one: a
/// build with other features at the same time does not replace them.
fn build_own(words: &str) -> Result {
    let words = format!("-p mcp-tests --no-default-features --release {words}");
    build(root(), &target().join("bench"), &words)
}

fn build_peer(package: &str) -> Result {
    let words = format!("--release --locked -p {package}");
    build(&root().join(PEERS), &target().join("bench-peers"), &words)
}

pub(super) fn build_for_gates() -> Result {
    build_servers()?;
    build_own("--features host --bin bench-host")
}

fn build_servers() -> Result {
    build_own("--bin bench-server --bin bench-baseline --bin bench-load")
}

pub(super) fn build_all() -> Result {
    build_servers()?;
    build_own("--features client --bin bench-client")?;
    build_peer("bench-rmcp-client")?;
    peer_servers().map(drop)
}

/// Builds the servers of the peers, and returns their names and paths.
pub(crate) fn peer_servers() -> Result<[(&'static str, PathBuf); 2]> {
    let peers = [Subject::Rmcp, Subject::Tower];
    for subject in peers {
        build_peer(subject.program())?;
    }
    Ok(peers.map(|subject| (subject.name(), path(subject.program()))))
}

pub(super) fn path(name: &str) -> PathBuf {
    let is_peer = name.starts_with("bench-rmcp-") || name.starts_with("bench-tower-");
    let folder = if is_peer { "bench-peers" } else { "bench" };
    executable(&target().join(folder).join("release"), name)
}

/// `bench-load` with these options and a server that it starts, by `wrapper` (for example valgrind) if that is not empty.
pub(super) fn load(
    subject: Subject,
    workload: &Workload,
    options: &str,
    wrapper: &[&str],
) -> Result<Command, &'static str> {
    let args = subject.args(workload)?;
    let mut command = program(path("bench-load"), options);
    command
        .args(["--wire", &workload.wire, "--ask", &workload.ask, "--"])
        .args(wrapper)
        .arg(path(subject.program()))
        .args(args.split(' '));
    Ok(command)
}
