//! The tables, their rows, and what a peer may lack.

use super::peers::Peer;

/// How the two sides are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http,
    /// The two endpoints of 2024-11-05.
    Sse,
}

impl Transport {
    /// The word on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// A table: peers that show the same features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Servers and clients that are connected in this way.
    Over(Transport),
    /// Authorization servers.
    Authorization,
}

impl Section {
    pub(super) const ALL: [Self; 4] = [
        Self::Over(Transport::Stdio),
        Self::Over(Transport::Http),
        Self::Over(Transport::Sse),
        Self::Authorization,
    ];

    /// The words for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Over(Transport::Stdio) => "Over stdio",
            Self::Over(Transport::Http) => "Over Streamable HTTP",
            Self::Over(Transport::Sse) => "Over HTTP+SSE, the transport of 2024-11-05",
            Self::Authorization => "Authorization",
        }
    }

    /// The features that its peers show: the name drivers use, and the words for people.
    pub(super) fn features(self) -> Vec<(&'static str, &'static str)> {
        let own = match self {
            Self::Over(Transport::Stdio) => PROGRAM,
            Self::Over(Transport::Http) => SESSION,
            Self::Over(Transport::Sse) => STREAM,
            Self::Authorization => return AUTHORIZATION.to_vec(),
        };
        FEATURES.iter().chain(own).copied().collect()
    }
}

/// Features: the name drivers use, and the words for people.
pub(super) const FEATURES: &[(&str, &str)] = &[
    ("initialize", "Handshake"),
    ("discover", "Probe for a newer revision, then what fits"),
    ("ping", "Ping"),
    ("unknown-method", "Unknown method"),
    ("tools-list", "Tools listed"),
    ("tools-call", "Every tool called"),
    ("structured-output", "Structured output"),
    ("tool-errors", "Failing tool"),
    ("bad-arguments", "Wrong arguments"),
    ("unknown-tool", "Unknown tool"),
    ("progress", "Progress"),
    ("cancellation", "Cancellation"),
    ("concurrent", "Fifty calls at once"),
    ("large", "A megabyte of difficult characters"),
    ("tasks", "Tool run as a task"),
    ("sampling", "Sampling"),
    ("elicitation", "Elicitation, filled in"),
    ("elicitation-defaults", "Elicitation, defaults"),
    ("elicitation-refused", "Elicitation, declined and cancelled"),
    ("elicitation-url", "Elicitation by URL"),
    ("url-required", "URL required (-32042)"),
    ("roots", "Roots"),
    ("roots-changed", "Roots changed"),
    ("resources-list", "Resources listed"),
    ("resources-read", "Every resource read"),
    ("templates", "Resource templates"),
    ("unknown-resource", "Unknown resource"),
    ("subscribe", "Subscription and update"),
    ("prompts", "Every prompt written"),
    ("unknown-prompt", "Unknown prompt"),
    ("completion", "Completion"),
    ("completion-context", "Completion with context"),
    ("logging", "Log level and messages"),
    ("list-changed", "Changed lists announced"),
    ("pagination", "Lists in pages, bad cursor"),
    ("revision-2024-11-05", "Revision 2024-11-05"),
    ("revision-2025-03-26", "Revision 2025-03-26"),
    ("revision-2025-06-18", "Revision 2025-06-18"),
    ("revision-2025-11-25", "Revision 2025-11-25"),
];

/// What only a program on a pipe shows.
const PROGRAM: &[(&str, &str)] = &[("shutdown", "Clean end, exit code 0")];

/// What only HTTP has.
const SESSION: &[(&str, &str)] = &[
    ("resumption", "Stream given back, answer on another"),
    ("session-end", "Session ended"),
];

/// What only the two endpoints have.
const STREAM: &[(&str, &str)] = &[("stream-end", "Session ended with its stream")];

/// What an authorization server shows, between our client and our protected server.
const AUTHORIZATION: &[(&str, &str)] = &[
    ("metadata", "Metadata of the server and of the issuer"),
    (
        "metadata-path",
        "Issuer at a path, with an OpenID document alone",
    ),
    ("registration", "Dynamic registration, once"),
    (
        "code",
        "Code with PKCE, resource, `iss`, and a port for the browser",
    ),
    (
        "audience",
        "Signed token for the resource alone, verified by discovered keys",
    ),
    (
        "step-up",
        "Tool that takes another scope, with a session and without",
    ),
    ("denied", "User who says no"),
    ("kept", "Tokens kept for the next run"),
    ("renewal", "One renewal before the end, for twenty calls"),
    ("rotation", "Refresh tokens that are good once"),
    ("reuse", "Refresh token used by somebody else"),
    ("introspection", "Opaque token, asked about"),
    ("revoked", "Withdrawn token refused"),
    ("client-secret", "Client credentials, with a secret"),
    (
        "client-key",
        "Client credentials, with a key (`private_key_jwt`)",
    ),
    (
        "proof",
        "Token bound to a key (DPoP), refused without its proof",
    ),
    ("other-resource", "Token for another server refused"),
    ("other-issuer", "Token of another issuer refused"),
    ("issuer-name", "Issuer by another name refused"),
    ("callback", "Browser that comes back from elsewhere refused"),
    ("diagnose", "Diagnosis, with each address"),
];

/// What peers do not have, by name, and why. A driver still has to show that it is not there.
const ABSENT: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "typescript-client",
            "typescript-client-http",
            "typescript-client-sse",
        ],
        &["discover"],
        "The client opens with `initialize`; it has nothing to fall back from.",
    ),
    (
        &["rmcp-client-http"],
        &["discover"],
        "The client asks, and gives up where the server lists older revisions alone instead of shaking hands at one of them.",
    ),
    (
        &[
            "everything",
            "filesystem",
            "memory",
            "everything-http",
            "everything-sse",
        ],
        &["pagination"],
        "The server gives every list as one page and never a cursor.",
    ),
    (
        &[
            "python-server",
            "python-client",
            "typescript-client",
            "typescript-2-client",
            "python-server-http",
            "fastmcp-http",
            "rmcp-server-http",
            "python-client-http",
            "typescript-client-http",
            "typescript-2-client-http",
            "rmcp-client-http",
            "python-client-sse",
            "typescript-client-sse",
        ],
        &["tasks"],
        "The server does not declare tasks: the SDK has none of 2025-11-25, and ours leaves the experiment out.",
    ),
    (
        &["python-client-sse"],
        &["large"],
        "The client ends its stream at an event of more than 1 MiB, which cannot be set.",
    ),
    (
        &["everything-http", "rmcp-server-http"],
        &["resumption"],
        "The server has no tool that gives the stream of its call back.",
    ),
    (
        &["fastmcp-http"],
        &["elicitation-url", "url-required", "subscribe"],
        "The framework has no words for visits to a URL or for subscriptions.",
    ),
    (
        &["filesystem", "memory"],
        &["progress", "cancellation", "tasks"],
        "Every tool of the server answers at once; none reports progress, waits, or is a task.",
    ),
    (
        &["filesystem", "memory"],
        &[
            "sampling",
            "elicitation",
            "elicitation-defaults",
            "elicitation-refused",
            "elicitation-url",
            "url-required",
        ],
        "The server asks neither the user nor the model, whichever tool is called.",
    ),
    (
        &["filesystem"],
        &[
            "resources-list",
            "resources-read",
            "templates",
            "unknown-resource",
            "subscribe",
        ],
        "The server does not declare resources.",
    ),
    (
        &["filesystem", "memory"],
        &[
            "prompts",
            "unknown-prompt",
            "completion",
            "completion-context",
            "logging",
        ],
        "The server does not declare prompts, completion or logging.",
    ),
    (
        &["filesystem", "memory"],
        &["list-changed"],
        "The server's lists never change.",
    ),
    (
        &["memory"],
        &["templates"],
        "The server has resources, but no templates.",
    ),
    (
        &["memory"],
        &["roots", "roots-changed"],
        "The server does not ask for roots, though they are offered and changed.",
    ),
];

/// Why the peer may lack the feature, if it may.
pub(super) fn reason(peer: &Peer, feature: &str) -> Option<&'static str> {
    ABSENT
        .iter()
        .find(|(peers, features, _)| peers.contains(&peer.name) && features.contains(&feature))
        .map(|(_, _, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::peers::PEERS;

    #[test]
    fn reasons_are_given_for_rows_that_exist_and_once_each() {
        for peer in PEERS {
            let known = peer.section().features();
            let entries = ABSENT
                .iter()
                .filter(|(peers, _, _)| peers.contains(&peer.name));
            let mut absent: Vec<&str> = entries
                .flat_map(|(_, features, _)| *features)
                .copied()
                .collect();
            let is_known = |feature: &str| known.iter().any(|(name, _)| *name == feature);
            assert!(absent.iter().all(|feature| is_known(feature)), "{absent:?}");
            let all = absent.len();
            absent.sort_unstable();
            absent.dedup();
            assert_eq!(absent.len(), all, "{}", peer.name);
        }
        let mut names = ABSENT.iter().flat_map(|(peers, _, _)| *peers);
        assert!(names.all(|name| PEERS.iter().any(|peer| peer.name == *name)));
    }

    #[test]
    fn revisions_and_the_end_are_never_absent() {
        for peer in PEERS {
            for (feature, _) in peer.section().features() {
                if feature.starts_with("revision-")
                    || ["shutdown", "session-end", "stream-end"].contains(&feature)
                {
                    assert_eq!(reason(peer, feature), None, "{}: {feature}", peer.name);
                }
            }
        }
    }
}
