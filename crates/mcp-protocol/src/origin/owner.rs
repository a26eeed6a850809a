//! The owner of memory and work: a principal or an address.

use core::fmt;
use core::net::IpAddr;

use super::{Principal, RequestOrigin};

/// The client to which memory and work are charged: its principal or, without a principal, its address. Both are unknown if the
/// client is on the same machine, if the HTTP server does not report addresses, or after a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Owner {
    /// The verified principal.
    pub principal: Option<Principal>,
    /// The [network](client_network) of a client without a principal.
    pub address: Option<IpAddr>,
}

impl Owner {
    /// Creates the owner with this principal or, without a principal, with this address.
    pub fn new(principal: Option<Principal>, address: Option<IpAddr>) -> Self {
        let address = address.filter(|_| principal.is_none());
        Self {
            principal,
            address: address.map(client_network),
        }
    }

    /// Returns the owner of a request.
    pub fn of(origin: &RequestOrigin<'_>) -> Self {
        let address = || {
            let (address, _) = origin.network()?.client?;
            address.parse().ok()
        };
        match origin.principal {
            Some(principal) => Self::new(Some(principal.clone()), None),
            None => Self::new(None, address()),
        }
    }

    /// Returns whether the principal or the address of the client is known.
    pub fn is_known(&self) -> bool {
        self.principal.is_some() || self.address.is_some()
    }
}

/// Writes the principal in quotes, or the address.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.principal, self.address) {
            (Some(principal), _) => fmt::Debug::fmt(principal.as_str(), f),
            (None, Some(address)) => address.fmt(f),
            (None, None) => f.write_str("a client without an address"),
        }
    }
}

/// Returns the address that counts as one client. For IPv6 this is the network of 64 bits, because a host can choose the lower 64
/// bits of its address.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}
