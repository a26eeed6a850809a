//! Compares `Host` and `Origin` of a request with the allow lists.

use http::Uri;

use super::AllowList;
use super::address::{Address, Origin};
use crate::server::request::head::{DuplicateHeader, SingleHeader};

/// The maximum length of a quoted header value in an error message, in characters.
const SHOWN: usize = 256;

/// The header that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceHeader {
    Host,
    Origin,
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SourceCheck {
    Allowed,
    /// The error message: why the request is rejected, and which setting to change.
    Refused(String),
}

/// Checks the host of a request. A request without a host, or with several, is rejected.
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

/// Checks the origin of a request that comes from a web page.
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
    /// The setting that accepts more values.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Host => "Options::allow_host",
            Self::Origin => "Options::allow_origin",
        }
    }
}

fn is_u16(digits: &str) -> bool {
    digits.parse::<u16>().is_ok()
}

/// Whether the host is a name of this machine in the spelling of nearly every client. It is a fast
/// path; other spellings are parsed.
fn is_this_machine(host: &[u8]) -> bool {
    let name = |name: &[u8]| host.strip_prefix(name);
    match name(b"127.0.0.1").or_else(|| name(b"localhost")) {
        Some([]) => true,
        Some([b':', port @ ..]) if !port.starts_with(b"0") => {
            port.iter().all(u8::is_ascii_digit) && str::from_utf8(port).is_ok_and(is_u16)
        }
        _ => false,
    }
}

#[cold]
fn refused(header: SourceHeader, why: &str) -> SourceCheck {
    let setting = header.setting();
    SourceCheck::Refused(format!(
        "the request was refused: {why}; the setting is {setting}"
    ))
}

/// Quotes a header value on one line, up to a maximum length.
#[cold]
pub(super) fn shown(value: &[u8]) -> String {
    const MORE: &str = "...";
    let mut out = String::new();
    // Where to cut if the value is too long.
    let mut cut = 0;
    for byte in value {
        out.extend(byte.escape_ascii().map(char::from));
        if out.len() > SHOWN {
            out.truncate(cut);
            out.push_str(MORE);
            break;
        }
        if out.len() + MORE.len() <= SHOWN {
            cut = out.len();
        }
    }
    out
}
