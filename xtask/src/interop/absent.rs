//! What a peer may lack.

use super::peers::Peer;
use super::rows::AUTO;

/// What peers do not have, by name, and why. A driver still has to show that it is not there.
const ABSENT: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "typescript-client",
            "typescript-client-http",
            "typescript-client-sse",
        ],
        &[AUTO],
        "The client opens with `initialize`; it has nothing to fall back from.",
    ),
    (
        &["rmcp-client", "rmcp-client-http"],
        &[AUTO],
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
            "typescript-2-server",
            "rmcp-server",
            "python-client",
            "typescript-client",
            "typescript-2-client",
            "rmcp-client",
            "python-server-http",
            "fastmcp-http",
            "typescript-2-server-http",
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
        &["url-required"],
        "The framework makes a failed result of the error that asks for a visit.",
    ),
    (
        &["fastmcp-http"],
        &["subscribe"],
        "The framework declares no subscriptions.",
    ),
    (
        &["fastmcp-modern-http"],
        &["subscribe"],
        "The framework answers `subscriptions/listen` with -32601.",
    ),
    (
        &["fastmcp-modern-http"],
        &["list-changed"],
        "The framework answers `subscriptions/listen` with -32601.",
    ),
    (
        &[
            "fastmcp-modern-http",
            "rmcp-server-modern",
            "rmcp-server-modern-http",
        ],
        &["incapable"],
        "The SDK leaves it to handlers to look at what the client declared, and the one here asks all the same; our client then ends the call by itself.",
    ),
    (
        &["typescript-2-client-modern-http"],
        &["unknown-method"],
        "The client reads an error of the protocol where the status is 400 alone; here it is 404, as the transport has it.",
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
    use super::super::peers::PEERS;
    use super::*;

    #[test]
    fn reasons_are_given_for_rows_that_exist_and_once_each() {
        for peer in PEERS {
            let known = peer.section.features();
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
            for (feature, _) in peer.section.features() {
                if feature.starts_with("revision-")
                    || ["shutdown", "closed", "session-end", "stream-end"].contains(&feature)
                {
                    assert_eq!(reason(peer, feature), None, "{}: {feature}", peer.name);
                }
            }
        }
    }
}
