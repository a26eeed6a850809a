//! The tables and their rows.

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
    /// Servers and clients that shake hands and have a session, connected in this way.
    Sessions(Transport),
    /// The same without, at 2026-07-28.
    Modern(Transport),
    /// Authorization servers.
    Authorization,
}

impl Section {
    pub(super) const ALL: [Self; 6] = [
        Self::Sessions(Transport::Stdio),
        Self::Sessions(Transport::Http),
        Self::Modern(Transport::Stdio),
        Self::Modern(Transport::Http),
        Self::Sessions(Transport::Sse),
        Self::Authorization,
    ];

    /// The words for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sessions(Transport::Stdio) => "Up to 2025-11-25, over stdio",
            Self::Sessions(Transport::Http) => "Up to 2025-11-25, over Streamable HTTP",
            Self::Modern(Transport::Stdio) => "At 2026-07-28, over stdio",
            Self::Modern(_) => "At 2026-07-28, over Streamable HTTP",
            Self::Sessions(Transport::Sse) => "Over HTTP+SSE, the transport of 2024-11-05",
            Self::Authorization => "Authorization",
        }
    }

    /// How its peers are connected.
    pub(super) fn transport(self) -> Transport {
        match self {
            Self::Sessions(transport) | Self::Modern(transport) => transport,
            Self::Authorization => Transport::Http,
        }
    }

    /// The word for its era in the arguments of drivers.
    pub(super) fn era(self) -> &'static str {
        match self {
            Self::Modern(_) => "modern",
            _ => "legacy",
        }
    }

    /// The words on the command line for all of its peers.
    pub(super) fn words(self) -> Vec<&'static str> {
        let transport = self.transport().name();
        match self {
            Self::Modern(_) => vec![transport, self.era()],
            _ => vec![transport],
        }
    }

    /// The features that its peers show: the name drivers use, and the words for people.
    pub(super) fn features(self) -> Vec<(&'static str, &'static str)> {
        let tables: &[&[_]] = match self {
            Self::Sessions(Transport::Stdio) => &[HANDSHAKE, FEATURES, SESSIONS, PROGRAM],
            Self::Sessions(Transport::Http) => &[HANDSHAKE, FEATURES, SESSIONS, SESSION],
            Self::Sessions(Transport::Sse) => &[HANDSHAKE, FEATURES, SESSIONS, STREAM],
            Self::Modern(Transport::Stdio) => &[DISCOVERY, FEATURES, ROUNDS, PROGRAM],
            Self::Modern(_) => &[DISCOVERY, FEATURES, ROUNDS, HEADERS],
            Self::Authorization => &[AUTHORIZATION],
        };
        tables.concat()
    }
}

/// The feature whose cells hold a revision instead of a word.
pub(super) const AUTO: &str = "auto";

/// How a connection begins with a session.
const HANDSHAKE: &[(&str, &str)] = &[("initialize", "Handshake"), ("ping", "Ping")];

/// And without.
const DISCOVERY: &[(&str, &str)] = &[
    ("discover", "Discovery"),
    ("revision-2026-07-28", "Revision 2026-07-28, and no other"),
];

/// Features of every revision: the name drivers use, and the words for people.
const FEATURES: &[(&str, &str)] = &[
    (AUTO, "Where `Auto` arrives"),
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
    ("sampling", "Sampling"),
    ("elicitation", "Elicitation, filled in"),
    ("elicitation-defaults", "Elicitation, defaults"),
    ("elicitation-refused", "Elicitation, declined and cancelled"),
    ("elicitation-url", "Elicitation by URL"),
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
];

/// What only sessions have.
const SESSIONS: &[(&str, &str)] = &[
    ("tasks", "Tool run as a task"),
    ("url-required", "URL required (-32042)"),
    ("revision-2024-11-05", "Revision 2024-11-05"),
    ("revision-2025-03-26", "Revision 2025-03-26"),
    ("revision-2025-06-18", "Revision 2025-06-18"),
    ("revision-2025-11-25", "Revision 2025-11-25"),
];

/// What is asked in rounds.
const ROUNDS: &[(&str, &str)] = &[
    ("together", "Three questions in one round"),
    ("again", "A question because of an answer"),
    ("prompt-asks", "Prompt that asks"),
    (
        "incapable",
        "Question for a client that cannot answer (-32021)",
    ),
];

/// What only a program on a pipe shows.
const PROGRAM: &[(&str, &str)] = &[("shutdown", "Clean end, exit code 0")];

/// What only HTTP has.
const SESSION: &[(&str, &str)] = &[
    ("resumption", "Stream given back, answer on another"),
    ("session-end", "Session ended"),
];

/// What only HTTP without a session has.
const HEADERS: &[(&str, &str)] = &[
    ("headers", "Argument mirrored in a header"),
    ("closed", "Clean end"),
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
    ("reuse", "Refresh token used by another client"),
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
