//! Who we talk to, over which transport.

use super::rows::{Section, Transport};

/// A program of another project.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// The word for it on the command line, and the head of its column.
    pub(super) name: &'static str,
    /// The package it comes from, as the lists of pinned packages spell it.
    pub(super) package: &'static str,
    pub(super) transport: Transport,
    pub(super) part: Part,
}

/// What the peer is, and who drives whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A published server that our client drives by the scenario of its name.
    Published { scenario: &'static str },
    /// A server of `tests/interop`.
    Python {
        scenario: &'static str,
        script: &'static str,
    },
    /// A server of `tests/peers`.
    Rust { scenario: &'static str },
    /// The client of the Python SDK drives our server.
    PythonClient,
    /// One of the clients of the TypeScript SDKs drives our server.
    TypeScriptClient { sdk: &'static str },
    /// The client of the Rust SDK drives our server.
    RustClient,
    /// An authorization server of `tests/interop`, between our client and our server.
    AuthorizationServer { script: &'static str },
}

const EVERYTHING: &str = "@modelcontextprotocol/server-everything";

/// All, in the order of the columns.
pub(super) const PEERS: &[Peer] = &[
    published("everything", EVERYTHING),
    published("filesystem", "@modelcontextprotocol/server-filesystem"),
    published("memory", "@modelcontextprotocol/server-memory"),
    stdio("python-server", "mcp", PYTHON),
    stdio("python-client", "mcp", Part::PythonClient),
    stdio("typescript-client", "@modelcontextprotocol/sdk", TYPESCRIPT),
    stdio(
        "typescript-2-client",
        "@modelcontextprotocol/client",
        TYPESCRIPT_2,
    ),
    http(
        "everything-http",
        EVERYTHING,
        Part::Published {
            scenario: "everything",
        },
    ),
    http("python-server-http", "mcp", PYTHON),
    http(
        "fastmcp-http",
        "fastmcp",
        Part::Python {
            scenario: "fastmcp",
            script: "fastmcp_server.py",
        },
    ),
    http("rmcp-server-http", "rmcp", Part::Rust { scenario: "rmcp" }),
    http("python-client-http", "mcp", Part::PythonClient),
    http(
        "typescript-client-http",
        "@modelcontextprotocol/sdk",
        TYPESCRIPT,
    ),
    http(
        "typescript-2-client-http",
        "@modelcontextprotocol/client",
        TYPESCRIPT_2,
    ),
    http("rmcp-client-http", "rmcp", Part::RustClient),
    sse(
        "everything-sse",
        EVERYTHING,
        Part::Published {
            scenario: "everything",
        },
    ),
    sse("python-client-sse", "mcp", Part::PythonClient),
    sse(
        "typescript-client-sse",
        "@modelcontextprotocol/sdk",
        TYPESCRIPT,
    ),
    http(
        "oidc-provider",
        "oidc-provider",
        Part::AuthorizationServer {
            script: "authorization-server.mjs",
        },
    ),
];

const PYTHON: Part = Part::Python {
    scenario: "python",
    script: "server.py",
};
const TYPESCRIPT: Part = Part::TypeScriptClient { sdk: "1" };
const TYPESCRIPT_2: Part = Part::TypeScriptClient { sdk: "2" };

const fn stdio(name: &'static str, package: &'static str, part: Part) -> Peer {
    Peer {
        name,
        package,
        transport: Transport::Stdio,
        part,
    }
}

const fn http(name: &'static str, package: &'static str, part: Part) -> Peer {
    Peer {
        name,
        package,
        transport: Transport::Http,
        part,
    }
}

const fn sse(name: &'static str, package: &'static str, part: Part) -> Peer {
    Peer {
        name,
        package,
        transport: Transport::Sse,
        part,
    }
}

const fn published(name: &'static str, package: &'static str) -> Peer {
    stdio(name, package, Part::Published { scenario: name })
}

impl Peer {
    /// Who drives whom.
    pub(super) fn conversation(&self) -> String {
        match self.part {
            Part::Published { .. } => "our client drives the published server".to_owned(),
            Part::Python { script, .. } => {
                format!("our client drives `tests/interop/{script}`, made with it")
            }
            Part::Rust { .. } => "our client drives `rmcp-server` of `tests/peers`".to_owned(),
            Part::PythonClient => {
                "its client drives our server, by `tests/interop/client.py`".to_owned()
            }
            Part::TypeScriptClient { .. } => {
                "its client drives our server, by `tests/interop/client.mjs`".to_owned()
            }
            Part::RustClient => {
                "its client drives our server, by `rmcp-client` of `tests/peers`".to_owned()
            }
            Part::AuthorizationServer { script } => {
                format!(
                    "our client signs in to our server by `tests/interop/{script}`, made with it"
                )
            }
        }
    }

    /// The table it belongs to.
    pub(super) fn section(&self) -> Section {
        match self.part {
            Part::AuthorizationServer { .. } => Section::Authorization,
            _ => Section::Over(self.transport),
        }
    }

    /// Whether a program has to be built for it.
    pub(super) fn is_rust(&self) -> bool {
        matches!(self.part, Part::Rust { .. } | Part::RustClient)
    }

    /// The peers with these names; a transport stands for all that use it, and nothing for all.
    pub(super) fn chosen(words: &[String]) -> Result<Vec<&'static Self>, String> {
        if words.is_empty() {
            return Ok(PEERS.iter().collect());
        }
        let mut chosen = Vec::new();
        for word in words {
            let named = |peer: &&Self| peer.name == word || peer.transport.name() == word;
            let found: Vec<&Self> = PEERS.iter().filter(named).collect();
            if found.is_empty() {
                let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
                let known = known.join(", ");
                return Err(format!(
                    "interop knows stdio, http, sse and the peers [{known}], not {word}"
                ));
            }
            chosen.extend(found);
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &[&str]) -> Result<Vec<&'static str>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let peers = Peer::chosen(&words)?;
        Ok(peers.into_iter().map(|peer| peer.name).collect())
    }

    #[test]
    fn peers_are_chosen_by_name_or_by_transport() {
        assert_eq!(chosen(&[]).unwrap().len(), PEERS.len());
        assert_eq!(chosen(&["memory"]), Ok(vec!["memory"]));
        let http = chosen(&["http"]).unwrap();
        assert!(http.contains(&"fastmcp-http") && !http.contains(&"memory"));
        assert!(chosen(&["sse"]).unwrap().contains(&"everything-sse"));
        let error = chosen(&["nobody"]).unwrap_err();
        assert!(
            error.contains("nobody") && error.contains("python-client"),
            "{error}"
        );
    }

    #[test]
    fn names_are_different() {
        let mut names = chosen(&[]).unwrap();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PEERS.len());
    }
}
