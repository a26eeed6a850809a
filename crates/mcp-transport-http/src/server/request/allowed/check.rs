//! The two headers of a request against what is allowed.

use http::Uri;

use super::Allowed;
use super::address::{Address, Origin};
use crate::server::request::head::{Doubled, Field};

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
pub(crate) fn host(hosts: &Allowed, target: &Uri, header: Field<'_>) -> Verdict {
    if hosts.any {
        return Verdict::Allowed;
    }
    let header = match header.only() {
        Ok(header) => header.map(|header| header.as_bytes()),
        Err(Doubled) => return refused(Checked::Host, "it has more than one Host header"),
    };
    // HTTP/2 has the host in the target, and HTTP/1.1 may.
    let authority = target.authority().map(|host| host.as_str().as_bytes());
    let value = match (authority, header) {
        (None, None) => return refused(Checked::Host, "it has no Host header"),
        (Some(target), Some(header)) if !target.eq_ignore_ascii_case(header) => {
            let (target, header) = (shown(target), shown(header));
            let why = format!("it is for `{target}`, and its Host header is `{header}`");
            return refused(Checked::Host, &why);
        }
        (Some(value), _) | (None, Some(value)) => value,
    };
    if is_this_machine(value) {
        return Verdict::Allowed;
    }
    let address = str::from_utf8(value).ok().and_then(Address::parse);
    let why = match address {
        Some(address) if hosts.has_host(&address) => return Verdict::Allowed,
        Some(_) => "is not served here",
        None => "is not a host with an optional port",
    };
    refused(Checked::Host, &format!("its Host `{}` {why}", shown(value)))
}

/// Checks the web page a request comes from, if it comes from one.
pub(crate) fn origin(origins: &Allowed, header: Field<'_>) -> Verdict {
    if origins.any {
        return Verdict::Allowed;
    }
    let value = match header.only() {
        Ok(Some(value)) => value.as_bytes(),
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

fn is_u16(digits: &str) -> bool {
    digits.parse::<u16>().is_ok()
}

/// Whether it is a name of this machine, which is always in, as nearly every client there writes
/// it; the rest is parsed.
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
