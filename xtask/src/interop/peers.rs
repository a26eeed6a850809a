//! The peers and their transports.

use super::rows::{Section, Transport};

/// A program of another project.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// Its name on the command line and in the tables.
    pub(super) name: &'static str,
    /// The package it comes from, as the lists of pinned packages spell it.
    pub(super) package: &'static str,
    /// The table it belongs to.
    pub(super) section: Section,
    pub(super) part: Part,
}

/// The kind of a peer, and the side that drives the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A published server that our client drives by this scenario.
    Published { scenario: &'static str },
    /// A server of `tests/interop`, made with an SDK for Python or TypeScript.
    Script {
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

const REFERENCE: &str = "@modelcontextprotocol/server-everything";
const TYPESCRIPT_1: &str = "@modelcontextprotocol/sdk";
const TYPESCRIPT_2: &str = "@modelcontextprotocol/client";

const EVERYTHING: Part = Part::Published {
    scenario: "everything",
};
const PYTHON: Part = Part::Script {
    scenario: "python",
    script: "server.py",
};
const FASTMCP: Part = Part::Script {
    scenario: "fastmcp",
    script: "fastmcp_server.py",
};
const TYPESCRIPT: Part = Part::Script {
    scenario: "typescript",
    script: "server.mjs",
};
const RMCP: Part = Part::Rust { scenario: "rmcp" };
const SDK_1: Part = Part::TypeScriptClient { sdk: "1" };
const SDK_2: Part = Part::TypeScriptClient { sdk: "2" };

const STDIO: Section = Section::Sessions(Transport::Stdio);
const HTTP: Section = Section::Sessions(Transport::Http);
const SSE: Section = Section::Sessions(Transport::Sse);
const MODERN: Section = Section::Modern(Transport::Stdio);
const MODERN_HTTP: Section = Section::Modern(Transport::Http);

/// All, in the order of the columns.
#[rustfmt::skip]
pub(super) const PEERS: &[Peer] = &[
    peer("everything", REFERENCE, STDIO, EVERYTHING),
    peer("filesystem", "@modelcontextprotocol/server-filesystem", STDIO, Part::Published { scenario: "filesystem" }),
    peer("memory", "@modelcontextprotocol/server-memory", STDIO, Part::Published { scenario: "memory" }),
    peer("python-server", "mcp", STDIO, PYTHON),
    peer("typescript-2-server", "@modelcontextprotocol/server", STDIO, TYPESCRIPT),
    peer("rmcp-server", "rmcp", STDIO, RMCP),
    peer("python-client", "mcp", STDIO, Part::PythonClient),
    peer("typescript-client", TYPESCRIPT_1, STDIO, SDK_1),
    peer("typescript-2-client", TYPESCRIPT_2, STDIO, SDK_2),
    peer("rmcp-client", "rmcp", STDIO, Part::RustClient),

    peer("everything-http", REFERENCE, HTTP, EVERYTHING),
    peer("python-server-http", "mcp", HTTP, PYTHON),
    peer("fastmcp-http", "fastmcp", HTTP, FASTMCP),
    peer("typescript-2-server-http", "@modelcontextprotocol/server", HTTP, TYPESCRIPT),
    peer("rmcp-server-http", "rmcp", HTTP, RMCP),
    peer("python-client-http", "mcp", HTTP, Part::PythonClient),
    peer("typescript-client-http", TYPESCRIPT_1, HTTP, SDK_1),
    peer("typescript-2-client-http", TYPESCRIPT_2, HTTP, SDK_2),
    peer("rmcp-client-http", "rmcp", HTTP, Part::RustClient),

    peer("python-server-modern", "mcp", MODERN, PYTHON),
    peer("typescript-2-server-modern", "@modelcontextprotocol/server", MODERN, TYPESCRIPT),
    peer("rmcp-server-modern", "rmcp", MODERN, RMCP),
    peer("python-client-modern", "mcp", MODERN, Part::PythonClient),
    peer("typescript-2-client-modern", TYPESCRIPT_2, MODERN, SDK_2),
    peer("rmcp-client-modern", "rmcp", MODERN, Part::RustClient),

    peer("python-server-modern-http", "mcp", MODERN_HTTP, PYTHON),
    peer("fastmcp-modern-http", "fastmcp", MODERN_HTTP, FASTMCP),
    peer("typescript-2-server-modern-http", "@modelcontextprotocol/server", MODERN_HTTP, TYPESCRIPT),
    peer("rmcp-server-modern-http", "rmcp", MODERN_HTTP, RMCP),
    peer("python-client-modern-http", "mcp", MODERN_HTTP, Part::PythonClient),
    peer("typescript-2-client-modern-http", TYPESCRIPT_2, MODERN_HTTP, SDK_2),
    peer("rmcp-client-modern-http", "rmcp", MODERN_HTTP, Part::RustClient),

    peer("everything-sse", REFERENCE, SSE, EVERYTHING),
    peer("python-client-sse", "mcp", SSE, Part::PythonClient),
    peer("typescript-client-sse", TYPESCRIPT_1, SSE, SDK_1),

    peer("oidc-provider", "oidc-provider", Section::Authorization,
        Part::AuthorizationServer { script: "authorization-server.mjs" }),
];

const fn peer(name: &'static str, package: &'static str, section: Section, part: Part) -> Peer {
    Peer {
        name,
        package,
        section,
        part,
    }
}

impl Peer {
    /// The conversation in words.
    pub(super) fn conversation(&self) -> String {
        match self.part {
            Part::Published { .. } => "our client drives the published server".to_owned(),
            Part::Script { script, .. } => {
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

    /// How it is connected.
    pub(super) fn transport(&self) -> Transport {
        self.section.transport()
    }

    /// Whether a program has to be built for it.
    pub(super) fn is_rust(&self) -> bool {
        matches!(self.part, Part::Rust { .. } | Part::RustClient)
    }

    /// Whether the word is its name or the name of its section.
    fn is(&self, word: &str) -> bool {
        self.name == word || self.section.words().contains(&word)
    }

    /// The peers with these names; a transport or `modern` selects all peers of that kind, and no name selects all peers.
    pub(super) fn chosen(words: &[String]) -> Result<Vec<&'static Self>, String> {
        if words.is_empty() {
            return Ok(PEERS.iter().collect());
        }
        let mut chosen = Vec::new();
        for word in words {
            let found: Vec<&Self> = PEERS.iter().filter(|peer| peer.is(word)).collect();
            if found.is_empty() {
                let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
                let known = known.join(", ");
                return Err(format!(
                    "unknown peer {word}; use stdio, http, sse, modern or one of [{known}]"
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
        let modern = chosen(&["modern"]).unwrap();
        assert!(modern.contains(&"rmcp-client-modern") && !modern.contains(&"rmcp-client"));
        let error = chosen(&["unknown"]).unwrap_err();
        assert!(
            error.contains("unknown") && error.contains("python-client"),
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
