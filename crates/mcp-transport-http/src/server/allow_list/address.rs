//! Parses hosts with ports, and origins. The parser is stricter than the grammar of URIs: it rejects texts that no browser sends.

use std::net::Ipv6Addr;

/// The accepted names of this machine. Other names of this machine, such as `localhost.`, `0.0.0.0` and `[::ffff:127.0.0.1]`, are
/// not accepted. Clients do not need these names, and attacks have used them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The maximum length of a DNS name in bytes, including the final dot.
const MAX_NAME_LENGTH: usize = 254;

pub(super) fn is_loopback(host: &str) -> bool {
    LOOPBACK.iter().any(|name| name.eq_ignore_ascii_case(host))
}

/// A host with an optional port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address<'a> {
    pub(super) host: &'a str,
    pub(super) port: Option<u16>,
}

impl<'a> Address<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let end = if text.starts_with('[') {
            text.find(']')? + 1
        } else {
            text.find(':').unwrap_or(text.len())
        };
        let (host, rest) = text.split_at_checked(end)?;
        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(port(digits)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        is_host(host).then_some(Self { host, port })
    }

    /// Returns the host in the spelling that clients use. Of the many spellings of an IPv6 address, clients send the shortest.
    pub(super) fn canonical_host(&self) -> Box<str> {
        match v6(self.host) {
            Some(address) => format!("[{address}]").into(),
            None => self.host.into(),
        }
    }
}

/// The origin of a web page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) scheme: &'a str,
    pub(super) address: Address<'a>,
}

impl<'a> Origin<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, address) = text.split_once("://")?;
        let address = Address::parse(address)?;
        is_scheme(scheme).then_some(Self { scheme, address })
    }

    pub(super) fn is_http(&self) -> bool {
        self.default_port().is_some()
    }

    /// Returns the port, or the default port of the scheme.
    pub(super) fn port(&self) -> Option<u16> {
        self.address.port.or_else(|| self.default_port())
    }

    fn default_port(&self) -> Option<u16> {
        if self.scheme.eq_ignore_ascii_case("https") {
            Some(443)
        } else if self.scheme.eq_ignore_ascii_case("http") {
            Some(80)
        } else {
            None
        }
    }
}

fn is_host(host: &str) -> bool {
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.starts_with('[') {
        v6(host).is_some()
    } else {
        !host.is_empty() && host.len() <= MAX_NAME_LENGTH && host.bytes().all(is_named)
    }
}

fn v6(host: &str) -> Option<Ipv6Addr> {
    let inner = host.strip_prefix('[')?.strip_suffix(']')?;
    inner.parse().ok()
}

fn is_scheme(scheme: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_part)
}

/// Parses a port. Accepts no sign and no leading zeros, so that every port has only one spelling.
fn port(digits: &str) -> Option<u16> {
    if digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
