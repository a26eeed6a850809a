//! The two headers of a request against what is allowed.

use http::header::{HOST, HeaderName, ORIGIN};
use http::request::Parts;

use super::Allowed;
use super::address::{Address, Origin};

/// The longest piece of a request in a message, in characters.
const SHOWN: usize = 256;

/// Which header is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    Host,
    Origin,
}

/// Whether a request may reach the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// Why not, and what to change, for people.
    Refused(String),
}

/// Checks the host a request is meant for. It has exactly one, or it is refused.
pub(crate) fn host(hosts: &Allowed, parts: &Parts) -> Verdict {
    if hosts.any {
        return Verdict::Allowed;
    }
    let header = match only(parts, &HOST) {
        Ok(header) => header,
        Err(Doubled) => return refused(Checked::Host, "it has more than one Host header"),
    };
    // HTTP/2 has the host in the target, and HTTP/1.1 may.
    let authority = parts.uri.authority().map(|host| host.as_str().as_bytes());
    let value = match (authority, header) {
        (None, None) => return refused(Checked::Host, "it has no Host header"),
        (Some(target), Some(header)) if !target.eq_ignore_ascii_case(header) => {
            let (target, header) = (shown(target), shown(header));
            let why = format!("it is for `{target}`, and its Host header is `{header}`");
            return refused(Checked::Host, &why);
        }
        (Some(value), _) | (None, Some(value)) => value,
    };
    let address = str::from_utf8(value).ok().and_then(Address::parse);
    let why = match address {
        Some(address) if hosts.has_host(&address) => return Verdict::Allowed,
        Some(_) => "is not served here",
        None => "is not a host with an optional port",
    };
    refused(Checked::Host, &format!("its Host `{}` {why}", shown(value)))
}

/// Checks the web page a request comes from, if it comes from one.
pub(crate) fn origin(origins: &Allowed, parts: &Parts) -> Verdict {
    if origins.any {
        return Verdict::Allowed;
    }
    let value = match only(parts, &ORIGIN) {
        Ok(Some(value)) => value,
        Ok(None) => return Verdict::Allowed,
        Err(Doubled) => return refused(Checked::Origin, "it has more than one Origin header"),
    };
    let origin = str::from_utf8(value).ok().and_then(Origin::parse);
    let why = match origin {
        Some(origin) if origins.has_origin(&origin) => return Verdict::Allowed,
        None if value == b"null" && origins.has_null() => return Verdict::Allowed,
        None if value != b"null" => "is not an origin",
        _ => "is not served here",
    };
    refused(
        Checked::Origin,
        &format!("its Origin `{}` {why}", shown(value)),
    )
}

impl Checked {
    /// What a person changes to let more pass.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Host => "Options::allow_host",
            Self::Origin => "Options::allow_origin",
        }
    }
}

/// Two headers where one belongs: what is in front of us may have looked at the other one.
struct Doubled;

fn only<'a>(parts: &'a Parts, name: &HeaderName) -> Result<Option<&'a [u8]>, Doubled> {
    let mut values = parts.headers.get_all(name).iter();
    let first = values.next().map(|value| value.as_bytes());
    match values.next() {
        None => Ok(first),
        Some(_) => Err(Doubled),
    }
}

#[cold]
fn refused(header: Checked, why: &str) -> Verdict {
    let setting = header.setting();
    Verdict::Refused(format!(
        "the request was refused: {why}; the setting is {setting}"
    ))
}

/// What a peer wrote, on one line and not too long.
#[cold]
pub(super) fn shown(value: &[u8]) -> String {
    const MORE: &str = "...";
    let mut out = String::new();
    // Where to cut if the rest does not fit.
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
