//! The dated revisions of the protocol. Every difference between them is a field of [`Rules`] or a
//! function in [`downgrade`](crate::downgrade); no other code compares revisions.

use std::fmt;
use std::str::FromStr;

use mcp_jsonrpc::quote;

/// A dated revision of the protocol. Ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05, the first revision.
    V2024_11_05,
    /// 2025-03-26, the only revision with batches.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25.
    V2025_11_25,
    /// 2026-07-28, the stateless revision: it has no `initialize` and no session.
    V2026_07_28,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The session-based revisions, oldest first. A session of these revisions begins with `initialize`.
    pub const WITH_SESSIONS: [Self; 4] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
    ];

    /// The newest session-based revision.
    pub const LATEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    /// The revision of an HTTP request without a version header.
    ///
    /// Specification: transports, protocol version header.
    pub const ASSUMED: Self = Self::V2025_03_26;

    /// Returns the name of the revision, as it is written in messages.
    pub fn as_str(self) -> &'static str {
        self.rules().name
    }

    /// Returns the features of the revision.
    pub fn rules(self) -> &'static Rules {
        match self {
            Self::V2024_11_05 => &RULES_2024_11_05,
            Self::V2025_03_26 => &RULES_2025_03_26,
            Self::V2025_06_18 => &RULES_2025_06_18,
            Self::V2025_11_25 => &RULES_2025_11_25,
            Self::V2026_07_28 => &RULES_2026_07_28,
        }
    }

    /// Returns whether the revision is stateless: each request carries its metadata, and there is no
    /// `initialize`, no session and no request from the server.
    pub fn is_stateless(self) -> bool {
        self.rules().stateless
    }

    /// Returns the revision that a server selects for `initialize`: the requested revision if it is
    /// supported, and otherwise the newest supported revision. Returns `None` if no session-based
    /// revision is supported.
    ///
    /// Specification: lifecycle, version negotiation.
    pub fn negotiate(requested: &str, supported: &[Self]) -> Option<Self> {
        let mut usable = supported
            .iter()
            .copied()
            .filter(|revision| !revision.is_stateless());
        match requested.parse() {
            Ok(revision) if usable.clone().any(|known| known == revision) => Some(revision),
            _ => usable.by_ref().max(),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or_else(|| UnknownRevision(text.chars().take(65).collect()))
    }
}

/// Error for an unknown revision string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRevision(String);

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown protocol revision {}", quote(&self.0, 64))
    }
}

impl std::error::Error for UnknownRevision {}

/// The features of one revision.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// The name of the revision, as it is written in messages.
    pub name: &'static str,
    /// The revision is stateless. Each request has the revision and the client's identity and capabilities in `_meta`. There is
    /// no `initialize`, no session and no request from the server. Results have a type, and lists have cache hints.
    pub stateless: bool,
    /// The revision has batches, which must be accepted.
    pub batches: bool,
    /// An error response on a stream may omit the id.
    pub error_without_id: bool,
    /// Over HTTP, a server may close a stream early, and the client then resumes it. The first event of such a stream has an id
    /// and no data, and `retry` sets the delay.
    pub polling: bool,
    /// The capability `completions` exists.
    pub completions_capability: bool,
    /// The revision has tool annotations, `audio` blocks and messages in progress notifications.
    pub annotations_and_audio: bool,
    /// The revision has `title` in lists, `_meta` on items and blocks, and `lastModified`.
    pub titles_and_meta: bool,
    /// The revision has `outputSchema`, `structuredContent` and `resource_link` blocks.
    pub structured_output: bool,
    /// The revision has `elicitation/create` in form mode.
    pub elicitation: bool,
    /// The revision has elicitation modes: the member `mode`, URL mode, the code -32042 and the completion notification.
    pub elicitation_modes: bool,
    /// The revision has forms with titled choices, multiple choices, and defaults of every kind.
    pub rich_forms: bool,
    /// Completion requests have the member `context`.
    pub completion_context: bool,
    /// The revision has `icons`, and `description` and `websiteUrl` of an implementation.
    pub icons: bool,
    /// The revision has sampling with tools, arrays of content, and `_meta` on sampling messages.
    pub sampling_tools: bool,
    /// The revision has tasks: `execution`, the capability `tasks`, and `tasks/*`.
    pub tasks: bool,
    /// Structured content may be any JSON value, and an output schema may be any schema.
    pub any_structured: bool,
    /// A missing resource has a separate error code.
    pub resource_error_code: bool,
    /// Invalid tool arguments are reported in a tool result, which the model can read, and not in a
    /// protocol error.
    pub argument_errors_as_results: bool,
}

const RULES_2024_11_05: Rules = Rules {
    name: "2024-11-05",
    stateless: false,
    batches: false,
    error_without_id: false,
    polling: false,
    completions_capability: false,
    annotations_and_audio: false,
    titles_and_meta: false,
    structured_output: false,
    elicitation: false,
    elicitation_modes: false,
    rich_forms: false,
    completion_context: false,
    icons: false,
    sampling_tools: false,
    tasks: false,
    any_structured: false,
    resource_error_code: true,
    argument_errors_as_results: true,
};

const RULES_2025_03_26: Rules = Rules {
    name: "2025-03-26",
    batches: true,
    completions_capability: true,
    annotations_and_audio: true,
    ..RULES_2024_11_05
};

const RULES_2025_06_18: Rules = Rules {
    name: "2025-06-18",
    batches: false,
    titles_and_meta: true,
    structured_output: true,
    elicitation: true,
    completion_context: true,
    ..RULES_2025_03_26
};

const RULES_2025_11_25: Rules = Rules {
    name: "2025-11-25",
    error_without_id: true,
    polling: true,
    elicitation_modes: true,
    rich_forms: true,
    icons: true,
    sampling_tools: true,
    tasks: true,
    ..RULES_2025_06_18
};

const RULES_2026_07_28: Rules = Rules {
    name: "2026-07-28",
    stateless: true,
    polling: false,
    tasks: false,
    any_structured: true,
    resource_error_code: false,
    ..RULES_2025_11_25
};

#[cfg(test)]
mod tests {
    use super::*;

    // proves: LIFE-009, LIFE-010, LIFE-011
    #[test]
    fn initialize_returns_the_requested_revision_or_the_newest_if_it_is_unknown() {
        for revision in Revision::WITH_SESSIONS {
            assert_eq!(
                Revision::negotiate(revision.as_str(), &Revision::ALL),
                Some(revision)
            );
        }
        for unknown in ["2099-01-01", "1.0.0", "", "2025-11-25 ", "2026-07-28"] {
            assert_eq!(
                Revision::negotiate(unknown, &Revision::ALL),
                Some(Revision::LATEST_WITH_SESSIONS)
            );
        }
        let old = [Revision::V2024_11_05, Revision::V2025_03_26];
        assert_eq!(
            Revision::negotiate("2025-11-25", &old),
            Some(Revision::V2025_03_26)
        );
        assert_eq!(
            Revision::negotiate("2025-11-25", &[Revision::V2026_07_28]),
            None
        );
    }

    #[test]
    fn revisions_are_ordered_by_date() {
        let names = Revision::ALL.map(Revision::as_str);
        assert!(names.is_sorted());
        assert!(Revision::ALL.is_sorted());
    }
}
