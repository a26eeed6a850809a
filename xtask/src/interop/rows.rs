//! The rows of the table, and what a peer may lack.

use super::peers::Peer;

/// Features: the name drivers use, and the words for people.
pub(super) const FEATURES: &[(&str, &str)] = &[
    ("initialize", "Handshake"),
    ("discover", "Probe for a newer revision, then handshake"),
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
    ("shutdown", "Clean end, exit code 0"),
];

/// What peers do not have, and why. A driver still has to show that it is not there.
const ABSENT: &[(&[Peer], &[&str], &str)] = &[
    (
        &[
            Peer::Everything,
            Peer::Filesystem,
            Peer::Memory,
            Peer::PythonServer,
            Peer::TypeScriptClient,
        ],
        &["discover"],
        "The client opens with `initialize`; it has nothing to fall back from.",
    ),
    (
        &[Peer::Everything, Peer::Filesystem, Peer::Memory],
        &["pagination"],
        "The server gives every list as one page and never a cursor.",
    ),
    (
        &[
            Peer::PythonServer,
            Peer::PythonClient,
            Peer::TypeScriptClient,
        ],
        &["tasks"],
        "The server does not declare tasks: the Python SDK has none, and ours leaves the experiment of 2025-11-25 out.",
    ),
    (
        &[Peer::Filesystem, Peer::Memory],
        &["progress", "cancellation", "tasks"],
        "Every tool of the server answers at once; none reports progress, waits, or is a task.",
    ),
    (
        &[Peer::Filesystem, Peer::Memory],
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
        &[Peer::Filesystem],
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
        &[Peer::Filesystem, Peer::Memory],
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
        &[Peer::Filesystem, Peer::Memory],
        &["list-changed"],
        "The server's lists never change.",
    ),
    (
        &[Peer::Memory],
        &["templates"],
        "The server has resources, but no templates.",
    ),
    (
        &[Peer::Memory],
        &["roots", "roots-changed"],
        "The server does not ask for roots, though they are offered and changed.",
    ),
];

/// The place of a feature in the table.
pub(super) fn index(feature: &str) -> Option<usize> {
    FEATURES.iter().position(|(name, _)| *name == feature)
}

/// Why the peer may lack the feature, if it may.
pub(super) fn reason(peer: Peer, feature: &str) -> Option<&'static str> {
    ABSENT
        .iter()
        .find(|(peers, features, _)| peers.contains(&peer) && features.contains(&feature))
        .map(|(_, _, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_given_for_rows_that_exist_and_once_each() {
        for peer in Peer::ALL {
            let entries = ABSENT.iter().filter(|(peers, _, _)| peers.contains(&peer));
            let mut absent: Vec<&str> = entries
                .flat_map(|(_, features, _)| *features)
                .copied()
                .collect();
            assert!(
                absent.iter().all(|feature| index(feature).is_some()),
                "{absent:?}"
            );
            let all = absent.len();
            absent.sort_unstable();
            absent.dedup();
            assert_eq!(absent.len(), all, "{peer:?}");
        }
    }

    #[test]
    fn revisions_and_the_end_are_never_absent() {
        for (feature, _) in FEATURES {
            if feature.starts_with("revision-") || *feature == "shutdown" {
                assert!(
                    Peer::ALL
                        .iter()
                        .all(|peer| reason(*peer, feature).is_none())
                );
            }
        }
    }
}
