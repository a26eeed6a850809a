//! Allow lists for `Host` and `Origin`. They protect a local server against requests from web
//! pages, sent directly or by DNS rebinding.
//!
//! This is neither CORS nor authorization: an accepted request is still unauthenticated.
//!
//! Specification: [security
//! warning](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning).

mod address;
#[cfg(test)]
mod tests;

use http::Uri;
use mcp_jsonrpc::quote;

use crate::server::head::{DuplicateHeader, SingleHeader};
use address::{Address, Origin};

/// The maximum length of a quoted header value in an error message, in characters.
const MAX_SHOWN: usize = 256;

/// The values of `Host` or `Origin` that are accepted.
#[derive(Debug, Clone)]
pub(crate) struct AllowList {
    any: bool,
    /// The accepted values in addition to the loopback names, which are always accepted.
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
    /// Creates a list that accepts `localhost`, `127.0.0.1` and `[::1]` on every port. As a list of origins, it accepts these
    /// hosts with `http` and with `https`.
    pub(crate) fn loopback() -> Self {
        Self {
            any: false,
            entries: Vec::new(),
            problem: None,
        }
    }

    /// Creates a list that accepts every value, including a missing or malformed value.
    pub(crate) fn any() -> Self {
        Self {
            any: true,
            ..Self::loopback()
        }
    }

    /// Also accepts `value`. In a list of hosts, `example.com` is valid for every port, and `example.com:8443` only for this
    /// port. Clients omit the default port of a scheme. In a list of origins, `value` is an origin such as `https://example.com`,
    /// or `null` for pages without an origin.
    ///
    /// Case is ignored, and wildcards are not supported. If a value is neither a host nor an origin, creating the endpoint fails.
    #[must_use]
    pub(crate) fn allow(mut self, value: &str) -> Self {
        match Entry::parse(value) {
            Ok(entry) => self.entries.push(entry),
            Err(why) => {
                let shown = shown(value.as_bytes());
                self.problem
                    .get_or_insert_with(|| format!("`{shown}` cannot be allowed: {why}"));
            }
        }
        self
    }

    /// Returns the error for the first value that could not be parsed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// Returns the error if this list cannot be the list of `header` values. A host in a list of origins is an error, and an
    /// origin in a list of hosts is an error, because such values would never match.
    pub(crate) fn problem_as(&self, header: SourceHeader) -> Option<String> {
        let problem = self.problem().or_else(|| {
            let stranger = self.entries.iter().find(|entry| !entry.is_for(header))?;
            Some(match stranger {
                Entry::Host { host, .. } => {
                    format!("`{host}` is a host; write an origin with its scheme, such as `https://{host}`")
                }
                Entry::Origin { scheme, host, .. } => {
                    format!("`{scheme}://{host}` is an origin; write a host without a scheme, such as `{host}`")
                }
                Entry::Null => "`null` is an origin, not a host".to_owned(),
            })
        });
        problem.map(|problem| format!("{}: {problem}", header.setting()))
    }

    /// Returns whether only names of this machine are accepted.
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
    /// Parses a value. The error contains the reason.
    fn parse(value: &str) -> Result<Self, &'static str> {
        if value.contains('*') {
            return Err("wildcards are not supported; \
                ServerOptions::allow_any_host allows every host, and ServerOptions::allow_any_origin every origin");
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

/// Which header is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceHeader {
    Host,
    Origin,
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SourceCheck {
    Allowed,
    /// The request is rejected. The text says why, and which setting to change.
    Refused(String),
}

/// Checks the host of a request. Rejects a request without a host or with several hosts.
pub(crate) fn host(hosts: &AllowList, target: &Uri, header: SingleHeader<'_>) -> SourceCheck {
    if hosts.any {
        return SourceCheck::Allowed;
    }
    let header = match header.single() {
        Ok(header) => header.map(|header| header.as_bytes()),
        Err(DuplicateHeader) => {
            return refused(SourceHeader::Host, "it has more than one Host header");
        }
    };
    // HTTP/2 sends the host in the request target, and HTTP/1.1 may do so.
    let authority = target.authority().map(|host| host.as_str().as_bytes());
    let value = match (authority, header) {
        (None, None) => return refused(SourceHeader::Host, "it has no Host header"),
        (Some(target), Some(header)) if !target.eq_ignore_ascii_case(header) => {
            let (target, header) = (shown(target), shown(header));
            let why = format!("it is for `{target}`, and its Host header is `{header}`");
            return refused(SourceHeader::Host, &why);
        }
        (Some(value), _) | (None, Some(value)) => value,
    };
    if is_this_machine(value) {
        return SourceCheck::Allowed;
    }
    let address = str::from_utf8(value).ok().and_then(Address::parse);
    let why = match address {
        Some(address) if hosts.has_host(&address) => return SourceCheck::Allowed,
        Some(_) => "is not served here",
        None => "is not a host with an optional port",
    };
    refused(
        SourceHeader::Host,
        &format!("its Host `{}` {why}", shown(value)),
    )
}

/// Checks the origin of a request. A request without an origin does not come from a web page.
pub(crate) fn origin(origins: &AllowList, header: SingleHeader<'_>) -> SourceCheck {
    if origins.any {
        return SourceCheck::Allowed;
    }
    let value = match header.single() {
        Ok(Some(value)) => value.as_bytes(),
        Ok(None) => return SourceCheck::Allowed,
        Err(DuplicateHeader) => {
            return refused(SourceHeader::Origin, "it has more than one Origin header");
        }
    };
    let origin = str::from_utf8(value).ok().and_then(Origin::parse);
    let why = match origin {
        Some(origin) if origins.has_origin(&origin) => return SourceCheck::Allowed,
        None if value == b"null" && origins.has_null() => return SourceCheck::Allowed,
        None if value != b"null" => "is not an origin",
        _ => "is not served here",
    };
    refused(
        SourceHeader::Origin,
        &format!("its Origin `{}` {why}", shown(value)),
    )
}

impl SourceHeader {
    /// Returns the name of the setting with which more values are accepted.
    fn setting(self) -> &'static str {
        match self {
            Self::Host => "ServerOptions::allow_host",
            Self::Origin => "ServerOptions::allow_origin",
        }
    }
}

/// Returns whether `digits` is a number from 1 to 65535.
fn is_port(digits: &[u8]) -> bool {
    let port = digits.iter().try_fold(0_u16, |port, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        port.checked_mul(10)?.checked_add(digit.into())
    });
    port.is_some_and(|port| port != 0)
}

/// Returns whether the host is a name of this machine in the spelling that nearly all clients use. This is a fast path. Other
/// spellings need the parser.
fn is_this_machine(host: &[u8]) -> bool {
    let name = |name: &[u8]| host.strip_prefix(name);
    match name(b"127.0.0.1").or_else(|| name(b"localhost")) {
        Some([]) => true,
        Some([b':', port @ ..]) => !port.starts_with(b"0") && is_port(port),
        _ => false,
    }
}

#[cold]
fn refused(header: SourceHeader, why: &str) -> SourceCheck {
    let setting = header.setting();
    SourceCheck::Refused(format!(
        "the request was refused: {why}; the operator can allow it with {setting}"
    ))
}

/// Returns a header value in quotation marks, on one line and clipped to a maximum length.
#[cold]
fn shown(value: &[u8]) -> String {
    format!("{:#}", quote(&value.escape_ascii().to_string(), MAX_SHOWN))
}
