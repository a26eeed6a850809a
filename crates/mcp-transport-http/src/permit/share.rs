//! Shares. A share is the part of a limit that one client can take.
//!
//! A client is a principal or, without authentication, an address. Until half of a limit is in use, clients are not
//! distinguished, so that ordinary requests need no extra work.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use mcp_protocol::{Principal, client_network};

use crate::sync::lock;

/// The client to which memory and work are charged. Unlike a [`mcp_protocol::Owner`], a `KnownOwner` always has an address or a
/// principal. Clients that have neither cannot be distinguished, so their shares are not limited.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum KnownOwner {
    Principal(Principal),
    Address(IpAddr),
}

impl KnownOwner {
    /// Returns the client at an address. An IPv6 network of 64 bits counts as one client, because a host can choose the lower 64
    /// bits of its address.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(client_network(address))
    }
}

impl From<KnownOwner> for mcp_protocol::Owner {
    fn from(owner: KnownOwner) -> Self {
        match owner {
            KnownOwner::Principal(principal) => Self::new(Some(principal), None),
            KnownOwner::Address(address) => Self::new(None, Some(address)),
        }
    }
}

/// Returns `percent` percent of `limit`, but at least 1.
pub(crate) fn share(limit: usize, percent: u8) -> usize {
    let share = (limit as u128 * u128::from(percent) / 100).max(1);
    usize::try_from(share).unwrap_or(usize::MAX)
}

/// The number of units that each owner has taken from the second half of a limit.
#[derive(Default)]
pub(crate) struct Shares {
    share: usize,
    owners: Mutex<HashMap<KnownOwner, usize>>,
}

impl Shares {
    /// Creates shares: each owner can use `percent` of the limit.
    pub(crate) fn of(limit: usize, percent: u8) -> Self {
        Self {
            share: share(limit, percent),
            owners: Mutex::default(),
        }
    }

    /// Returns whether an owner has taken units from the second half.
    pub(crate) fn has_part(&self, owner: &KnownOwner) -> bool {
        lock(&self.owners).contains_key(owner)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.owners).is_empty()
    }
}

/// The units that one permit has taken from the share of its owner. They are released on drop.
pub(crate) struct OwnerShare {
    shares: Arc<Shares>,
    owner: KnownOwner,
    units: usize,
}

impl OwnerShare {
    pub(crate) fn new(shares: &Arc<Shares>, owner: KnownOwner) -> Self {
        Self {
            shares: Arc::clone(shares),
            owner,
            units: 0,
        }
    }

    /// Takes more units. Returns `false` if the owner's share would be exceeded.
    pub(crate) fn try_grow(&mut self, units: usize) -> bool {
        let mut owners = lock(&self.shares.owners);
        let taken = owners.get(&self.owner).copied().unwrap_or(0);
        let fits = taken.saturating_add(units) <= self.shares.share;
        if fits {
            owners.insert(self.owner.clone(), taken + units);
            self.units += units;
        }
        fits
    }

    /// Releases at most `units` units.
    pub(crate) fn shrink(&mut self, units: usize) {
        let units = units.min(self.units);
        self.units -= units;
        let mut owners = lock(&self.shares.owners);
        if let Some(taken) = owners.get_mut(&self.owner) {
            *taken -= units;
            if *taken == 0 {
                owners.remove(&self.owner);
            }
        }
    }

    /// Moves at most `units` units to a new value, which it returns.
    pub(crate) fn split(&mut self, units: usize) -> Box<Self> {
        let units = units.min(self.units);
        self.units -= units;
        Box::new(Self {
            shares: Arc::clone(&self.shares),
            owner: self.owner.clone(),
            units,
        })
    }
}

impl Drop for OwnerShare {
    fn drop(&mut self) {
        self.shrink(self.units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_one_ipv6_network_are_one_client() {
        let owner = |text: &str| KnownOwner::address(text.parse().unwrap());
        assert_eq!(owner("2001:db8::1"), owner("2001:db8::ffff:2"));
        assert_ne!(owner("2001:db8::1"), owner("2001:db8:0:1::1"));
        assert_eq!(owner("::ffff:10.0.0.1"), owner("10.0.0.1"));
        assert_ne!(owner("10.0.0.2"), owner("10.0.0.1"));
    }
}
