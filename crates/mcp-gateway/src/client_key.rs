//! Which client a request is from.

use std::fmt;
use std::net::IpAddr;

use mcp_protocol::{Principal, RequestContext};

/// The client that requests and connections are counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ClientKey {
    Principal(Principal),
    /// A network of IPv6 (64 bits) counts as one client, because its host chooses the rest of its address.
    Address(IpAddr),
    /// All clients without an address. There is usually one.
    Stdio,
}

impl ClientKey {
    pub(crate) fn of(context: &RequestContext) -> Self {
        let origin = context.exchange().link().origin();
        if let Some(principal) = origin.principal {
            return Self::Principal(principal.clone());
        }
        let address = origin.network().and_then(|network| network.client);
        let address = address.and_then(|(address, _)| address.parse::<IpAddr>().ok());
        match address.map(|address| address.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                let network = address.to_bits() >> 64 << 64;
                Self::Address(IpAddr::V6(network.into()))
            }
            Some(address) => Self::Address(address),
            None => Self::Stdio,
        }
    }

    /// Returns whether the client can use only a part of a limit, because there can be others.
    pub(crate) fn has_share(&self) -> bool {
        *self != Self::Stdio
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => fmt::Debug::fmt(principal.as_str(), f),
            Self::Address(address) => address.fmt(f),
            Self::Stdio => f.write_str("stdio"),
        }
    }
}
