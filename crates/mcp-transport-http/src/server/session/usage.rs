//! Counts the sessions and their memory, in total and for each client.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::permit::share::{KnownOwner, share};
use crate::server::options::ServerOptions;
use crate::sync::lock;

/// The memory of a session in bytes, without the client identity.
pub(crate) const SESSION: usize = 5 << 10;

/// Divisor of a limit. The quotient is the part of the limit that only clients with a small usage can take.
const RESERVED_DIVISOR: usize = 8;
/// Divisor of a limit. The quotient is the maximum usage of a client that takes from the reserved part. With the default limits,
/// this usage is enough for four sessions, or for one session with a usual identity. Without the reserved part, calls that wait
/// in the sessions of fifty clients would keep out all other clients.
const SMALL_USAGE_DIVISOR: usize = 1_024;

/// Returns whether the usage of all clients may become `total` if the usage of the requesting client becomes `taken`.
fn has_room(limit: usize, total: usize, taken: usize) -> bool {
    total <= limit - limit / RESERVED_DIVISOR || taken <= (limit / SMALL_USAGE_DIVISOR).max(1)
}

/// A number of sessions, and the memory of these sessions in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) sessions: usize,
    pub(crate) bytes: usize,
}

impl Usage {
    /// One session, without its client identity.
    pub(crate) const SESSION: Self = Self {
        sessions: 1,
        bytes: SESSION,
    };

    pub(super) fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.bytes += other.bytes;
    }

    fn subtract(&mut self, other: Self) {
        self.sessions -= other.sessions;
        self.bytes -= other.bytes;
    }
}

/// The number and memory of an endpoint's sessions: in total, and for each client.
#[derive(Default)]
pub(crate) struct SessionUsage(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    total: Usage,
    owners: HashMap<KnownOwner, Usage>,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// The limit on the number or memory of all sessions.
    All,
    /// The limit on the number of sessions of one principal.
    Principal,
    /// The share of one client.
    Share,
}

impl SessionUsage {
    pub(crate) fn total(&self) -> Usage {
        lock(&self.0).total
    }

    /// Adds `part` to the usage of a client. Returns an error if a limit would be exceeded.
    pub(super) fn reserve(
        &self,
        owner: Option<&KnownOwner>,
        part: Usage,
        options: &ServerOptions,
    ) -> Result<(), NoRoom> {
        let (max, max_bytes) = (
            options.session_limits.max_sessions,
            options.memory.max_session_bytes,
        );
        let percent = options.client_share_percent;
        let counts = &mut *lock(&self.0);
        let mut total = counts.total;
        total.add(part);
        if total.sessions > max || total.bytes > max_bytes {
            return Err(NoRoom::All);
        }
        if let Some(owner) = owner {
            let mut taken = counts.owners.get(owner).copied().unwrap_or_default();
            taken.add(part);
            let is_principal = matches!(owner, KnownOwner::Principal(_));
            if is_principal && taken.sessions > options.session_limits.max_sessions_per_principal {
                return Err(NoRoom::Principal);
            }
            let has_share =
                !is_principal && total.sessions > max / 2 && taken.sessions > share(max, percent);
            let has_bytes = total.bytes > max_bytes / 2 && taken.bytes > share(max_bytes, percent);
            if has_share || has_bytes {
                return Err(NoRoom::Share);
            }
            // A client share of 100 % switches the distinction of clients off, for example behind a proxy.
            let has_room = percent >= 100
                || (is_principal || has_room(max, total.sessions, taken.sessions))
                    && has_room(max_bytes, total.bytes, taken.bytes);
            if !has_room {
                return Err(NoRoom::All);
            }
            counts.owners.insert(owner.clone(), taken);
        }
        counts.total = total;
        Ok(())
    }

    /// Subtracts `part` from the usage of a client.
    pub(crate) fn release(&self, owner: Option<&KnownOwner>, part: Usage) {
        let counts = &mut *lock(&self.0);
        counts.total.subtract(part);
        if let Some(owner) = owner
            && let Some(taken) = counts.owners.get_mut(owner)
        {
            taken.subtract(part);
            if *taken == Usage::default() {
                counts.owners.remove(owner);
            }
        }
    }

    /// Returns the client whose sessions use the most memory, and all clients whose sessions use more than half of this memory.
    pub(super) fn largest_owners(&self) -> HashSet<KnownOwner> {
        let counts = lock(&self.0);
        let bytes = counts.owners.values().map(|usage| usage.bytes);
        let most = bytes.max().unwrap_or(0);
        let owners = counts.owners.iter();
        owners
            .filter(|(_, usage)| usage.bytes > most / 2)
            .map(|(owner, _)| owner.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use mcp_protocol::Principal;

    use super::*;

    #[test]
    fn a_part_of_the_memory_is_reserved_for_clients_with_a_small_usage() {
        let options = ServerOptions::new()
            .with_client_share(10)
            .with_memory_limits(|memory| memory.max_session_bytes = 1 << 20);
        let usage = SessionUsage::default();
        let owner = |last| KnownOwner::address(Ipv4Addr::new(10, 0, 0, last).into());
        let reserve = |last, bytes| {
            let part = Usage { sessions: 0, bytes };
            usage.reserve(Some(&owner(last)), part, &options)
        };
        for last in 1..=50 {
            while reserve(last, 10 << 10).is_ok() {}
        }
        let rest = Usage {
            sessions: 0,
            bytes: (7 << 17) - usage.total().bytes,
        };
        assert!(rest.bytes < 10 << 10);
        assert_eq!(usage.reserve(None, rest, &options), Ok(()));
        assert_eq!(reserve(60, 1 << 10), Ok(()));
        assert_eq!(reserve(60, 1), Err(NoRoom::All));
        assert_eq!(reserve(61, 1 << 10), Ok(()));
    }

    #[test]
    fn a_client_can_take_only_its_share_of_the_second_half_of_the_memory() {
        let options = ServerOptions::new()
            .with_client_share(10)
            .with_memory_limits(|memory| memory.max_session_bytes = 1_000);
        let usage = SessionUsage::default();
        let owner = |last| KnownOwner::address(Ipv4Addr::new(10, 0, 0, last).into());
        let part = |bytes| Usage { sessions: 0, bytes };
        let reserve = |last, bytes| usage.reserve(Some(&owner(last)), part(bytes), &options);
        // In the first half, there are no shares.
        assert_eq!(reserve(1, 500), Ok(()));
        assert_eq!(reserve(1, 1), Err(NoRoom::Share));
        assert_eq!(reserve(2, 100), Ok(()));
        assert_eq!(reserve(2, 1), Err(NoRoom::Share));
        assert_eq!(usage.total(), part(600));
        usage.release(Some(&owner(2)), part(100));
        assert_eq!(reserve(2, 100), Ok(()));
        // Without an owner, only the total counts.
        assert_eq!(usage.reserve(None, part(400), &options), Ok(()));
        assert_eq!(usage.reserve(None, part(1), &options), Err(NoRoom::All));
    }

    #[test]
    fn an_address_can_take_only_its_share_of_the_second_half_of_the_sessions() {
        let options = ServerOptions::new()
            .with_client_share(20)
            .with_session_limits(|limits| limits.max_sessions = 10);
        let usage = SessionUsage::default();
        let owner = |last| KnownOwner::address(Ipv4Addr::new(10, 0, 0, last).into());
        let part = Usage {
            sessions: 1,
            bytes: 0,
        };
        let reserve = |last| usage.reserve(Some(&owner(last)), part, &options);
        for _ in 0..5 {
            assert_eq!(reserve(1), Ok(()));
        }
        assert_eq!(reserve(1), Err(NoRoom::Share));
        assert_eq!([reserve(2), reserve(2)], [Ok(()), Ok(())]);
        assert_eq!(reserve(2), Err(NoRoom::Share));
        // The share does not limit a principal.
        let principal = KnownOwner::Principal(Principal::new("alice"));
        for _ in 0..3 {
            assert_eq!(usage.reserve(Some(&principal), part, &options), Ok(()));
        }
        assert_eq!(reserve(3), Err(NoRoom::All));
    }
}
