//! The negotiation of the revision, and its stored result.

use std::time::Duration;

use mcp_protocol::Revision;
use serde::{Deserialize, Serialize};

/// How a client determines the revision of a server.
///
/// Specification: [compatibility][spec].
///
/// [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Negotiation {
    /// Sends `server/discover` as a probe. If the server does not support it, sends `initialize`.
    #[default]
    Auto,
    /// Sends `initialize` without a probe.
    SessionBased,
    /// Only connects to servers of the stateless revision.
    Stateless,
    /// Starts with the [known version](crate::Client::known_version) of an earlier connection, and negotiates again if that
    /// version is outdated. With a known session-based version, the client sends no probe. A stateless server still receives
    /// `server/discover`, because the client needs the capabilities in the reply.
    Prior(KnownVersion),
}

/// The negotiated version of a server. A host can store it for the next connection to the same server. It is valid as long as the
/// server is the same program or has the same HTTP origin.
///
/// ```
/// use mcp_client::{KnownVersion, Negotiation, Revision, serde_json};
///
/// let found = KnownVersion::of(Revision::V2025_11_25);
/// let stored = serde_json::to_string(&found)?;
/// assert_eq!(stored, r#"{"revision":"2025-11-25"}"#);
/// let prior = Negotiation::Prior(serde_json::from_str(&stored)?);
/// # assert_eq!(prior, Negotiation::Prior(found));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct KnownVersion(Revision);

impl KnownVersion {
    /// Creates the known version of a server that uses this revision.
    pub fn of(revision: Revision) -> Self {
        Self(revision)
    }

    /// Returns the revision.
    pub fn revision(self) -> Revision {
        self.0
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    revision: String,
}

impl From<KnownVersion> for Stored {
    fn from(version: KnownVersion) -> Self {
        Self {
            revision: version.0.as_str().to_owned(),
        }
    }
}

impl TryFrom<Stored> for KnownVersion {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let revision = stored.revision.parse().map(Self);
        revision.map_err(|error| error.to_string())
    }
}

/// The settings of the negotiation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) negotiation: Negotiation,
    /// The newest revision to use.
    pub(crate) newest: Revision,
    /// Maximum time that the client waits for the response to the probe, without the time of a sign-in.
    pub(crate) probe_timeout: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            negotiation: Negotiation::Auto,
            newest: Revision::LATEST,
            probe_timeout: Duration::from_secs(5),
        }
    }
}

impl Policy {
    /// Iterates over the revisions that the negotiation allows.
    pub(crate) fn revisions(self) -> impl Iterator<Item = Revision> {
        let all = Revision::ALL.into_iter();
        all.filter(move |revision| {
            *revision <= self.newest
                && match self.negotiation {
                    Negotiation::SessionBased => !revision.is_stateless(),
                    Negotiation::Stateless => revision.is_stateless(),
                    _ => true,
                }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: M-VER-013
    #[test]
    fn a_known_version_is_stored_and_read_back() {
        for revision in Revision::ALL {
            let version = KnownVersion::of(revision);
            let text = serde_json::to_string(&version).unwrap();
            assert_eq!(
                serde_json::from_str::<KnownVersion>(&text).unwrap(),
                version
            );
        }
        for wrong in [r#"{"revision":"2099-01-01"}"#, "{}", r#""2025-11-25""#] {
            assert!(
                serde_json::from_str::<KnownVersion>(wrong).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_known_version_of_an_earlier_release_is_read() {
        let former = r#"{"era":"legacy","revision":"2025-11-25"}"#;
        assert_eq!(
            serde_json::from_str::<KnownVersion>(former).unwrap(),
            KnownVersion::of(Revision::V2025_11_25)
        );
    }

    #[test]
    fn no_revision_newer_than_the_configured_revision_is_offered() {
        let policy = |negotiation, newest| {
            let policy = Policy {
                negotiation,
                newest,
                ..Policy::default()
            };
            policy.revisions().collect::<Vec<_>>()
        };
        let (old, new) = (Revision::V2025_06_18, Revision::LATEST);
        assert_eq!(policy(Negotiation::Auto, new), Revision::ALL);
        assert_eq!(policy(Negotiation::Auto, old), Revision::ALL[..3]);
        assert_eq!(
            policy(Negotiation::SessionBased, new),
            Revision::WITH_SESSIONS
        );
        assert_eq!(policy(Negotiation::Stateless, new), [new]);
        assert_eq!(policy(Negotiation::Stateless, old), []);
    }
}
