//! Which `Host` and `Origin` values reach the server: the guard against web pages that talk to a
//! server on the user's machine, directly or under a name that was made to point there.
//!
//! Not for cross-origin headers and not for authorization: what passes here is still a stranger.
//!
//! Specification: [security warning](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning).

mod address;
mod check;
#[cfg(test)]
mod tests;

use address::{Address, Origin};
pub(crate) use check::{Checked, Verdict, host, origin};

/// Which values of `Host`, or of `Origin`, reach the server.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    any: bool,
    /// Beside the loopback names, which are always in.
    entries: Vec<Entry>,
    /// What is wrong with the first value that could not be understood.
    problem: Option<String>,
}

/// One value that was allowed explicitly.
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
    /// The origin of pages that have none.
    Null,
}

impl Allowed {
    /// `localhost`, `127.0.0.1` and `[::1]`, on every port; as origins, over http and https.
    pub(crate) fn loopback() -> Self {
        Self {
            any: false,
            entries: Vec::new(),
            problem: None,
        }
    }

    /// Everything, and nothing is looked at: a missing or malformed value passes too.
    pub(crate) fn any() -> Self {
        Self {
            any: true,
            ..Self::loopback()
        }
    }

    /// Also allows this one. For hosts: `example.com` is every port of it, `example.com:8443`
    /// that one; clients leave the default port of a scheme out. For origins:
    /// `https://example.com`, and `null` for pages without an origin.
    ///
    /// Case does not matter and there are no wildcards. A value that is neither is an error when
    /// the server is built.
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

    /// What is wrong with what was allowed, whatever it was meant for.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// What is wrong with it as the list of this header: also a host among the origins, or an
    /// origin among the hosts, which would never match.
    pub(crate) fn problem_as(&self, header: Checked) -> Option<String> {
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

    /// Whether nothing but names of this machine is allowed.
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
    /// The error says why not.
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

    fn is_for(&self, header: Checked) -> bool {
        matches!(self, Self::Host { .. }) == matches!(header, Checked::Host)
    }
}
