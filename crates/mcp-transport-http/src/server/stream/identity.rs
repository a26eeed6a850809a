//! The identity of a session: its id, and the values that distinguish its events under different leases.

use crate::server::session_id::SessionId;
use crate::server::stream::event_id::EventId;

/// The id of a session, and the values that distinguish its events under the current lease from events under earlier leases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionIdentity {
    pub(crate) id: SessionId,
    /// The secret number in the event ids under the current lease.
    pub(crate) tag: u64,
    /// The key of the session in the event store. Each lease begins with new streams, so each lease has a different key.
    pub(crate) event_key: SessionId,
    /// The number of earlier leases of the session. Each lease has its own secret number. These numbers are consecutive, and
    /// `tag` is the last of them.
    earlier: u64,
}

impl SessionIdentity {
    /// Returns the identity of a new session with random numbers.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let id = SessionId::random()?;
        Ok(Self {
            id,
            tag: getrandom::u64()?,
            event_key: id,
            earlier: 0,
        })
    }

    /// Returns the identity of a session under the lease with the fencing number `fence`. `tag` is the secret number under the
    /// first lease.
    pub(crate) fn continued(id: SessionId, tag: u64, fence: u64) -> Self {
        let earlier = fence.saturating_sub(1);
        Self {
            id,
            tag: tag.wrapping_add(earlier),
            event_key: id.event_key(earlier),
            earlier,
        }
    }

    /// Returns the number after which the ids of the session's server requests begin. Each lease has different ids, so that a
    /// late response to an earlier request does not count as the response to a new request. All ids are small enough for an exact
    /// JSON number.
    pub(super) fn last_request_id(&self) -> i64 {
        /// Number of leases after which the same ids are used again.
        const LEASES: u64 = 1 << 20;
        i64::try_from((self.earlier % LEASES) << 32).unwrap_or(0)
    }

    /// Parses the id of an event that was sent under an earlier lease of the session. Returns the id, and how many leases ago the
    /// event was sent.
    pub(crate) fn parse_earlier(&self, text: &[u8]) -> Option<(EventId, u64)> {
        let (id, tag) = EventId::parse_tagged(text)?;
        let age = self.tag.wrapping_sub(tag);
        (1..=self.earlier).contains(&age).then_some((id, age))
    }

    /// Returns the identities of the session under its current lease and its latest earlier leases. The current identity comes
    /// first.
    pub(crate) fn recent_leases(self) -> impl Iterator<Item = Self> {
        /// Maximum number of earlier leases whose events are kept.
        const MAX_EARLIER: u64 = 16;
        (0..=self.earlier.min(MAX_EARLIER)).map(move |age| self.before(age))
    }

    /// Returns the identity that the session had `leases` leases ago.
    fn before(&self, leases: u64) -> Self {
        let earlier = self.earlier.saturating_sub(leases);
        Self {
            tag: self.tag.wrapping_sub(leases),
            event_key: self.id.event_key(earlier),
            earlier,
            ..*self
        }
    }
}
