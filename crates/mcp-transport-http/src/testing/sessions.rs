//! Tests of the rules for a [`SessionStore`].

use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_protocol::task::Timestamp;

use crate::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStore, SessionStoreError,
    SessionStoreErrorKind as Kind,
};

/// Tests the rules for a [`SessionStore`]. The store must be empty, and must be able to hold 20 sessions and 1 MiB of records.
/// The tests may leave sessions in the store.
///
/// # Errors
/// The store violates a rule. The text describes the rule.
pub async fn session_store_contract(store: &impl SessionStore) -> Result<(), String> {
    let test = Test {
        store,
        start: now(),
    };
    test.created_sessions_are_found().await?;
    test.records_are_not_changed().await?;
    test.a_claim_takes_the_lease().await?;
    test.concurrent_claims_get_different_leases().await?;
    test.without_the_lease_nothing_changes().await?;
    test.the_lease_permits_changes().await?;
    test.expired_sessions_do_not_exist().await
}

struct Test<'a, S> {
    store: &'a S,
    start: Timestamp,
}

const BLUE: EndpointId = EndpointId::from_bytes([0xb; 16]);
const GREEN: EndpointId = EndpointId::from_bytes([0xe; 16]);
const MINUTE: Duration = Duration::from_secs(60);

/// Returns the id of session `number` in the test `test`.
fn id(test: u8, number: u8) -> SessionId {
    let mut bytes = [0; 32];
    (bytes[0], bytes[31]) = (test, number);
    SessionId::from_bytes(bytes)
}

/// Returns the current time. The real time is needed because a store may remove expired sessions by its own clock.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::default().after(since.unwrap_or_default())
}

fn record(principal: Option<&str>, uri: &str) -> Result<SessionRecord, String> {
    let json = serde_json::json!({
        "format": 1, "created": 5, "event_tag": u64::MAX, "principal": principal,
        "state": {
            "revision": "2025-11-25", "log_level": "error", "subscriptions": [uri], "is_open": true,
            "client": {
                "info": {"name": "peer", "version": "1"}, "capabilities": {"roots": {"listChanged": true}},
            },
        },
    });
    SessionRecord::decode(json.to_string().as_bytes()).map_err(|error| error.to_string())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers construct the values for the comparison"
)]
fn same<T: PartialEq + Debug>(what: &str, is: T, should: T) -> Result<(), String> {
    if is == should {
        return Ok(());
    }
    Err(format!("{what}: {is:?} instead of {should:?}"))
}

/// Replaces an error with its kind.
fn kind<T>(result: Result<T, SessionStoreError>) -> Result<T, Kind> {
    result.map_err(|error| error.kind())
}

impl<S: SessionStore> Test<'_, S> {
    fn at(&self, minutes: u32) -> Timestamp {
        self.start.after(MINUTE * minutes)
    }

    /// Creates a session that expires after ten minutes.
    async fn create(&self, id: SessionId, record: &SessionRecord) -> Result<SessionLease, String> {
        let lease = SessionLease::first(id, BLUE);
        let created = self
            .store
            .create(lease, record.clone(), self.at(10), self.start);
        same("create", kind(created.await), Ok(()))?;
        Ok(lease)
    }

    /// Checks that the store returns the record `should` for a session at the time `minutes`.
    async fn stored(
        &self,
        what: &str,
        id: SessionId,
        minutes: u32,
        should: Option<&SessionRecord>,
    ) -> Result<(), String> {
        let loaded = self.store.load(id, self.at(minutes)).await;
        same(what, kind(loaded), Ok(should.cloned()))
    }

    async fn claim(&self, id: SessionId, owner: EndpointId) -> Result<SessionLease, String> {
        let claimed = self.store.claim(id, owner, self.start).await;
        match kind(claimed) {
            Ok(Some((lease, _))) => Ok(lease),
            other => Err(format!("a claim: {other:?} instead of a lease")),
        }
    }

    async fn created_sessions_are_found(&self) -> Result<(), String> {
        let (known, unknown) = (id(1, 1), id(1, 2));
        let first = record(Some("ann"), "a:1")?;
        self.stored("a session before it was created", known, 0, None)
            .await?;
        let lease = self.create(known, &first).await?;
        self.stored("a session", known, 0, Some(&first)).await?;
        self.stored("an unknown session", unknown, 0, None).await?;
        let claimed = self.store.claim(unknown, BLUE, self.start).await;
        same(
            "a claim of an unknown session",
            kind(claimed).map(|claimed| claimed.is_some()),
            Ok(false),
        )?;
        let again = self
            .store
            .create(lease, record(None, "b:1")?, self.at(10), self.start);
        same("a known id", kind(again.await), Err(Kind::Conflict))?;
        self.stored("a session after a conflict", known, 0, Some(&first))
            .await
    }

    async fn records_are_not_changed(&self) -> Result<(), String> {
        let long = "ä".repeat(SessionRecord::MAX_BYTES / 2 - 1_000);
        let records = [
            (record(None, "\u{1}\"")?, "a record without a principal"),
            (record(Some(""), "")?, "a record with an empty principal"),
            (record(Some("ann"), &long)?, "a record of almost MAX_BYTES"),
        ];
        for (number, (record, what)) in (1..).zip(&records) {
            let id = id(2, number);
            let lease = self.create(id, record).await?;
            self.stored(what, id, 0, Some(record)).await?;
            let removed = self.store.remove(lease, self.start).await;
            same("a removal", kind(removed), Ok(()))?;
        }
        Ok(())
    }

    async fn a_claim_takes_the_lease(&self) -> Result<(), String> {
        let (id, record) = (id(3, 1), record(Some("ann"), "a:1")?);
        let mut lease = self.create(id, &record).await?;
        for owner in [GREEN, BLUE, BLUE] {
            let claimed = self.store.claim(id, owner, self.start).await;
            let should = Ok(Some((lease.next(owner), record.clone())));
            same("a claim", kind(claimed), should)?;
            let old = self.store.renew(lease, self.at(10), self.start).await;
            same(
                "the lease before the claim",
                kind(old),
                Err(Kind::LeaseLost),
            )?;
            lease = lease.next(owner);
            let new = self.store.renew(lease, self.at(10), self.start).await;
            same("the claimed lease", kind(new), Ok(()))?;
        }
        Ok(())
    }

    async fn concurrent_claims_get_different_leases(&self) -> Result<(), String> {
        let (id, record) = (id(4, 1), record(None, "a:1")?);
        self.create(id, &record).await?;
        let (mut blue, mut green) = (pin!(self.claim(id, BLUE)), pin!(self.claim(id, GREEN)));
        let (mut first, mut second) = (None, None);
        poll_fn(|cx| {
            if first.is_none()
                && let Poll::Ready(lease) = blue.as_mut().poll(cx)
            {
                first = Some(lease);
            }
            if second.is_none()
                && let Poll::Ready(lease) = green.as_mut().poll(cx)
            {
                second = Some(lease);
            }
            if first.is_some() && second.is_some() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        let (Some(first), Some(second)) = (first, second) else {
            return Err("two claims did not complete".to_owned());
        };
        let mut leases = [first?, second?];
        leases.sort_by_key(|lease| lease.fence);
        same("two claims", leases.map(|lease| lease.fence), [2, 3])?;
        let [older, newer] = leases;
        let older = self.store.renew(older, self.at(10), self.start).await;
        same("the first of two claims", kind(older), Err(Kind::LeaseLost))?;
        let newer = self.store.renew(newer, self.at(10), self.start).await;
        same("the second of two claims", kind(newer), Ok(()))
    }

    async fn without_the_lease_nothing_changes(&self) -> Result<(), String> {
        let (id, first) = (id(5, 1), record(Some("ann"), "a:1")?);
        let lost = self.create(id, &first).await?;
        let lease = self.claim(id, GREEN).await?;
        let wrong = [
            (lost, "a lost lease"),
            (
                SessionLease::new(id, BLUE, lease.fence),
                "the lease of another owner",
            ),
            (lease.next(GREEN), "a lease that does not exist yet"),
        ];
        for (wrong, what) in wrong {
            let renewed = self.store.renew(wrong, self.at(30), self.start).await;
            same(what, kind(renewed), Err(Kind::LeaseLost))?;
            let other = record(None, "b:1")?;
            let updated = self.store.update(wrong, other, self.at(30), self.start);
            same(what, kind(updated.await), Err(Kind::LeaseLost))?;
            let removed = self.store.remove(wrong, self.start).await;
            same(what, kind(removed), Err(Kind::LeaseLost))?;
        }
        self.stored("a session after rejected changes", id, 9, Some(&first))
            .await?;
        self.stored("its expiry", id, 10, None).await
    }

    async fn the_lease_permits_changes(&self) -> Result<(), String> {
        let (id, first) = (id(6, 1), record(Some("ann"), "a:1")?);
        let lease = self.create(id, &first).await?;
        for (expires, what) in [(20, "a later expiry"), (5, "an earlier expiry")] {
            let renewed = self.store.renew(lease, self.at(expires), self.start).await;
            same(what, kind(renewed), Ok(()))?;
            self.stored(what, id, 19, Some(&first)).await?;
        }
        let second = record(Some("ann"), "a longer URI: 2")?;
        for (record, expires) in [(&second, 15), (&first, 30)] {
            let updated = self
                .store
                .update(lease, record.clone(), self.at(expires), self.start);
            same("an update", kind(updated.await), Ok(()))?;
            self.stored("an updated record", id, expires - 1, Some(record))
                .await?;
        }
        let removed = self.store.remove(lease, self.start).await;
        same("a removal", kind(removed), Ok(()))?;
        self.stored("a removed session", id, 0, None).await?;
        let renewed = self.store.renew(lease, self.at(40), self.start).await;
        same(
            "the lease of a removed session",
            kind(renewed),
            Err(Kind::LeaseLost),
        )?;
        self.create(id, &second).await?;
        self.stored(
            "a session that was removed and created again",
            id,
            0,
            Some(&second),
        )
        .await
    }

    async fn expired_sessions_do_not_exist(&self) -> Result<(), String> {
        let (expired, kept) = (id(7, 1), id(7, 2));
        let first = record(None, "a:1")?;
        let lease = self.create(expired, &first).await?;
        let later = self.create(kept, &first).await?;
        let renewed = self.store.renew(later, self.at(20), self.start).await;
        same("a renewal", kind(renewed), Ok(()))?;
        let at = self.at(10);
        self.stored("a session before its expiry", expired, 9, Some(&first))
            .await?;
        self.stored("an expired session", expired, 10, None).await?;
        let claimed = self.store.claim(expired, GREEN, at).await;
        same(
            "a claim of an expired session",
            kind(claimed).map(|claimed| claimed.is_some()),
            Ok(false),
        )?;
        let lost = Err(Kind::LeaseLost);
        let renewed = self.store.renew(lease, self.at(20), at).await;
        same("a renewal of an expired session", kind(renewed), lost)?;
        let updated = self.store.update(lease, first.clone(), self.at(20), at);
        same("an update of an expired session", kind(updated.await), lost)?;
        let removed = self.store.remove(lease, at).await;
        same("a removal of an expired session", kind(removed), lost)?;
        let created = self.store.create(lease, first.clone(), self.at(20), at);
        same("the id of an expired session", kind(created.await), Ok(()))?;
        for id in [expired, kept] {
            self.stored("a session that has not expired", id, 10, Some(&first))
                .await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySessionStore;

    #[tokio::test]
    async fn sessions_in_memory_follow_the_contract() {
        let store = MemorySessionStore::new()
            .with_max_sessions(20)
            .with_max_bytes(1 << 20);
        session_store_contract(&store).await.unwrap();
    }
}
