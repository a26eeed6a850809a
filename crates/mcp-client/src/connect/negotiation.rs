//! Which era a server is of: how that is found out, and what was found.

use std::fmt;
use std::time::Duration;

use mcp_protocol::Revision;
use serde::{Deserialize, Serialize};

/// How a client finds out which era a server is of.
///
/// Specification: [compatibility][spec].
///
/// [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Negotiation {
    /// Asks for `server/discover`, and opens with a handshake unless the answer is that of a
    /// modern server.
    #[default]
    Auto,
    /// Opens with a handshake and asks nothing before.
    Legacy,
    /// Speaks to modern servers alone.
    Modern,
    /// Begins with what was [found](crate::Client::known_version) before, and finds out anew if that
    /// turns out to be wrong. Saves a legacy server the question; a modern one is asked all the
    /// same, because its answer says what it offers.
    Prior(KnownVersion),
}

/// How revisions open a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "each revision is of one or the other"
)]
pub enum Era {
    /// Up to 2025-11-25: with a handshake, which opens a session.
    Legacy,
    /// From 2026-07-28 on: not at all, each request tells all there is to know.
    Modern,
}

/// What was found out about a server. It belongs to the process or to the origin, and can be
/// stored for the next connection to the same.
///
/// ```
/// use mcp_client::{Negotiation, KnownVersion};
/// use mcp_protocol::Revision;
///
/// let found = KnownVersion::of(Revision::V2025_11_25);
/// let stored = serde_json::to_string(&found)?;
/// assert_eq!(stored, r#"{"era":"legacy","revision":"2025-11-25"}"#);
/// let prior = Negotiation::Prior(serde_json::from_str(&stored)?);
/// # assert_eq!(prior, Negotiation::Prior(found));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct KnownVersion(Revision);

impl KnownVersion {
    /// The server speaks this revision.
    pub fn of(revision: Revision) -> Self {
        Self(revision)
    }

    /// Its era.
    pub fn era(self) -> Era {
        if self.0.is_stateless() {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// The revision that is spoken with it.
    pub fn revision(self) -> Revision {
        self.0
    }
}

impl fmt::Debug for KnownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownVersion({:?}, {})", self.era(), self.0)
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    era: Era,
    revision: String,
}

impl From<KnownVersion> for Stored {
    fn from(version: KnownVersion) -> Self {
        Self {
            era: version.era(),
            revision: version.0.as_str().to_owned(),
        }
    }
}

impl TryFrom<Stored> for KnownVersion {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let version = stored.revision.parse().map(Self);
        let version = version.map_err(|error| error.to_string())?;
        if version.era() == stored.era {
            return Ok(version);
        }
        Err(format!("revision {} is of the other era", version.0))
    }
}

/// What a builder says about finding out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) negotiation: Negotiation,
    /// The newest revision to speak.
    pub(crate) newest: Revision,
    /// How long silence on a pipe is waited through.
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
    /// The revisions to speak, as far as the negotiation leaves a choice.
    pub(crate) fn revisions(self) -> impl Iterator<Item = Revision> {
        let all = Revision::ALL.into_iter();
        all.filter(move |revision| {
            *revision <= self.newest
                && match self.negotiation {
                    Negotiation::Legacy => !revision.is_stateless(),
                    Negotiation::Modern => revision.is_stateless(),
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
    fn a_verdict_is_stored_and_read_back() {
        for revision in Revision::ALL {
            let version = KnownVersion::of(revision);
            let text = serde_json::to_string(&version).unwrap();
            assert_eq!(
                serde_json::from_str::<KnownVersion>(&text).unwrap(),
                version
            );
        }
        for wrong in [
            r#"{"era":"modern","revision":"2025-11-25"}"#,
            r#"{"era":"modern","revision":"2099-01-01"}"#,
            r#"{"era":"new","revision":"2026-07-28"}"#,
        ] {
            assert!(
                serde_json::from_str::<KnownVersion>(wrong).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn what_is_spoken_ends_at_the_newest_revision() {
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
        assert_eq!(policy(Negotiation::Legacy, new), Revision::WITH_SESSIONS);
        assert_eq!(policy(Negotiation::Modern, new), [new]);
        assert_eq!(policy(Negotiation::Modern, old), []);
    }
}
