//! The identity of a session: its id, and the numbers of its events under each lease.

use crate::server::session_id::SessionId;
use crate::server::stream::event_id::EventId;

/// The id of a session, and the numbers of its events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionIdentity {
    pub(crate) id: SessionId,
    /// The secret number in event ids.
    pub(crate) tag: u64,
    /// The key of the session in the event store. Each lease begins with new streams, so each lease has another key.
    pub(crate) event_key: SessionId,
    /// The number of earlier leases of the session. Their secret numbers are the numbers directly before `tag`.
    earlier: u64,
}

impl SessionIdentity {
    /// Returns the identity of a new session.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let id = SessionId::random()?;
        Ok(Self {
            id,
            tag: getrandom::u64()?,
            event_key: id,
            earlier: 0,
        })
    }

    /// Returns the identity of a session under its lease number `fence`, if the first lease had the secret
    /// number `tag`.
    pub(crate) fn continued(id: SessionId, tag: u64, fence: u64) -> Self {
        let earlier = fence.saturating_sub(1);
        Self {
            id,
            tag: tag.wrapping_add(earlier),
            event_key: id.event_key(earlier),
            earlier,
        }
    }

    /// Returns the number after which the ids of the session's server requests begin. The ids are different under each lease, so
    /// that a response to an earlier request is not mistaken for a response to a new request. A JSON number represents each id
    /// exactly.
    pub(super) fn last_request_id(&self) -> i64 {
        /// The number of leases with different ids.
        const LEASES: u64 = 1 << 20;
        i64::try_from((self.earlier % LEASES) << 32).unwrap_or(0)
    }

    /// Parses the id of an event that was sent under an earlier lease of the session. Also returns how many leases ago the event
    /// was sent.
    pub(crate) fn parse_earlier(&self, text: &[u8]) -> Option<(EventId, u64)> {
        let (id, tag) = EventId::parse_tagged(text)?;
        let age = self.tag.wrapping_sub(tag);
        (1..=self.earlier).contains(&age).then_some((id, age))
    }

    /// Returns the identities of the session under its current and the latest earlier leases, the current identity first.
    pub(crate) fn recent_leases(self) -> impl Iterator<Item = Self> {
        /// Number of earlier leases whose events are kept.
        const MAX_EARLIER: u64 = 16;
        (0..=self.earlier.min(MAX_EARLIER)).map(move |age| self.before(age))
    }

    /// Returns the identity that the session had this number of leases ago.
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
