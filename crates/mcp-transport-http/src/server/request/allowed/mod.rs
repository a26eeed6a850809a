//! Allow lists for `Host` and `Origin`. They protect a local server against requests from web
//! pages, sent directly or by DNS rebinding.
//!
//! This is neither CORS nor authorization: an accepted request is still unauthenticated.
//!
//! Specification: [security
//! warning](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning).

mod address;
mod check;
#[cfg(test)]
mod tests;

use address::{Address, Origin};
pub(crate) use check::{SourceCheck, SourceHeader, host, origin};

/// The accepted values of `Host` or of `Origin`.
#[derive(Debug, Clone)]
pub(crate) struct AllowList {
    any: bool,
    /// Values in addition to the loopback names, which are always accepted.
    entries: Vec<Entry>,
    /// The error for the first value that could not be parsed.
    problem: Option<String>,
}

/// A value that was allowed explicitly.
#[derive(Debug, Clone)]
enum Entry {
    Host {
        host: Box<str>,
        port: Option<u16>,
    },
    Origin {
        scheme: Box<str>,
        host: Box<str>,
        port: Option<u16>,
    },
    /// The origin `null`, which browsers send for pages without an origin.
    Null,
}

impl AllowList {
    /// Accepts `localhost`, `127.0.0.1` and `[::1]` on every port; as origins, over http and https.
    pub(crate) fn loopback() -> Self {
        Self {
            any: false,
            entries: Vec::new(),
            problem: None,
        }
    }

    /// Accepts every value, including a missing or malformed one.
    pub(crate) fn any() -> Self {
        Self {
            any: true,
            ..Self::loopback()
        }
    }

    /// Also accepts `value`. Hosts: `example.com` for every port, `example.com:8443` for that port
    /// only; clients omit the default port of a scheme. Origins: `https://example.com`, or `null`
    /// for pages without an origin.
    ///
    /// Case is ignored, and wildcards are not supported. A value that is neither a host nor an
    /// origin is an error when the endpoint is created.
    #[must_use]
    pub(crate) fn allow(mut self, value: &str) -> Self {
        match Entry::parse(value) {
            Ok(entry) => self.entries.push(entry),
            Err(why) => {
                let shown = check::shown(value.as_bytes());
                self.problem
                    .get_or_insert_with(|| format!("`{shown}` cannot be allowed: {why}"));
            }
        }
        self
    }

    /// The error for the first value that could not be parsed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// The error for this list. It also reports a host in the list of origins and an origin in the
    /// list of hosts, which would never match.
    pub(crate) fn problem_as(&self, header: SourceHeader) -> Option<String> {
        let problem = self.problem().or_else(|| {
            let stranger = self.entries.iter().find(|entry| !entry.is_for(header))?;
            Some(match stranger {
                Entry::Host { host, .. } => {
                    format!("`{host}` is a host, an origin starts with its scheme")
                }
                Entry::Origin { scheme, host, .. } => {
                    format!("`{scheme}://{host}` is an origin, a host has no scheme")
                }
                Entry::Null => "`null` is an origin, not a host".to_owned(),
            })
        });
        problem.map(|problem| format!("{}: {problem}", header.setting()))
    }

    /// Whether only names of this machine are accepted.
    pub(crate) fn is_loopback_only(&self) -> bool {
        let is_loopback = |entry: &Entry| match entry {
            Entry::Host { host, .. } | Entry::Origin { host, .. } => address::is_loopback(host),
            Entry::Null => false,
        };
        !self.any && self.entries.iter().all(is_loopback)
    }

    fn has_host(&self, address: &Address<'_>) -> bool {
        address::is_loopback(address.host)
            || self.entries.iter().any(|entry| match entry {
                Entry::Host { host, port } => {
                    host.eq_ignore_ascii_case(address.host)
                        && port.is_none_or(|port| address.port == Some(port))
                }
                _ => false,
            })
    }

    fn has_origin(&self, origin: &Origin<'_>) -> bool {
        let address = &origin.address;
        (origin.is_http() && address::is_loopback(address.host))
            || self.entries.iter().any(|entry| match entry {
                Entry::Origin { scheme, host, port } => {
                    scheme.eq_ignore_ascii_case(origin.scheme)
                        && host.eq_ignore_ascii_case(address.host)
                        && *port == origin.port()
                }
                _ => false,
            })
    }

    fn has_null(&self) -> bool {
        let is_null = |entry: &Entry| matches!(entry, Entry::Null);
        self.entries.iter().any(is_null)
    }
}

impl Entry {
    /// The error is the reason.
    fn parse(value: &str) -> Result<Self, &'static str> {
        if value.contains('*') {
            return Err("there are no wildcards; \
                Options::allow_any_host and Options::allow_any_origin allow everything");
        }
        if value == "null" {
            return Ok(Self::Null);
        }
        if value.contains("://") {
            let origin = Origin::parse(value)
                .ok_or("an origin is a scheme, a host and perhaps a port, without a path")?;
            return Ok(Self::Origin {
                scheme: origin.scheme.into(),
                host: origin.address.canonical_host(),
                port: origin.port(),
            });
        }
        let address = Address::parse(value).ok_or(
            "a host is an ASCII name, or an address with IPv6 in brackets, \
                and perhaps a port from 1 to 65535",
        )?;
        Ok(Self::Host {
            host: address.canonical_host(),
            port: address.port,
        })
    }

    fn is_for(&self, header: SourceHeader) -> bool {
        matches!(self, Self::Host { .. }) == matches!(header, SourceHeader::Host)
    }
}
