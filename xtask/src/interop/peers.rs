//! Who we talk to, and how each conversation is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::Installed;
use crate::programs::taken;

/// A program of another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// The reference server with a bit of each.
    Everything,
    /// The reference server for files.
    Filesystem,
    /// The reference server that remembers.
    Memory,
    /// A server made with the Python SDK.
    PythonServer,
    /// The client of the Python SDK.
    PythonClient,
    /// The client of the TypeScript SDK.
    TypeScriptClient,
}

impl Peer {
    /// All, in the order of the columns.
    pub(super) const ALL: [Self; 6] = [
        Self::Everything,
        Self::Filesystem,
        Self::Memory,
        Self::PythonServer,
        Self::PythonClient,
        Self::TypeScriptClient,
    ];

    /// The word for it on the command line, and the head of its column.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Filesystem => "filesystem",
            Self::Memory => "memory",
            Self::PythonServer => "python-server",
            Self::PythonClient => "python-client",
            Self::TypeScriptClient => "typescript-client",
        }
    }

    /// The package it comes from, as the lists of pinned packages spell it.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Everything => "@modelcontextprotocol/server-everything",
            Self::Filesystem => "@modelcontextprotocol/server-filesystem",
            Self::Memory => "@modelcontextprotocol/server-memory",
            Self::PythonServer | Self::PythonClient => "mcp",
            Self::TypeScriptClient => "@modelcontextprotocol/sdk",
        }
    }

    /// Who drives whom.
    pub(super) fn conversation(self) -> &'static str {
        match self {
            Self::Everything | Self::Filesystem | Self::Memory => {
                "our client drives the published server"
            }
            Self::PythonServer => "our client drives `tests/interop/server.py`, made with the SDK",
            Self::PythonClient => "`tests/interop/client.py`, made with the SDK, drives our server",
            Self::TypeScriptClient => {
                "`tests/interop/client.mjs`, made with the SDK, drives our server"
            }
        }
    }

    /// The folder it may fill.
    pub(super) fn work(self, installed: &Installed) -> PathBuf {
        installed.folder.join("work").join(self.name())
    }

    /// The driver, ready to start.
    pub(super) fn driver(self, installed: &Installed, ours: &Ours) -> Command {
        let work = self.work(installed);
        match self {
            Self::Everything | Self::Filesystem | Self::Memory => {
                let program = format!("node_modules/{}/dist/index.js", self.package());
                let mut command = ours.drive(self.name(), &work);
                command.arg("node").arg(installed.npm().join(program));
                match self {
                    Self::Everything => command.arg("stdio"),
                    Self::Filesystem => command.arg(&work),
                    _ => command.env("MEMORY_FILE_PATH", work.join("graph.jsonl")),
                };
                command
            }
            Self::PythonServer => {
                let mut command = ours.drive("python", &work);
                let script = installed.scripts_for_python().join("server.py");
                command
                    .arg(installed.python())
                    .args(["-W", "ignore"])
                    .arg(script);
                command
            }
            Self::PythonClient => {
                let mut command = Command::new(installed.python());
                let script = installed.scripts_for_python().join("client.py");
                command.args(["-W", "ignore"]).arg(script).arg(work);
                command.arg(&ours.client).arg(&ours.server);
                command
            }
            Self::TypeScriptClient => {
                let mut command = Command::new("node");
                command.arg(installed.npm().join("client.mjs")).arg(work);
                command.arg(&ours.client).arg(&ours.server);
                command
            }
        }
    }
}

/// The programs of this workspace that take part.
#[derive(Debug)]
pub(super) struct Ours {
    client: PathBuf,
    server: PathBuf,
}

impl Ours {
    /// Takes copies into a folder.
    pub(super) fn new(folder: &Path) -> Result<Self, String> {
        Ok(Self {
            client: taken("interop-client", folder)?,
            server: taken("everything-server", folder)?,
        })
    }

    fn drive(&self, scenario: &str, work: &Path) -> Command {
        let mut command = Command::new(&self.client);
        command.arg("drive").arg(scenario).arg(work);
        command
    }
}
