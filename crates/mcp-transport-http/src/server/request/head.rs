//! The headers that are looked at for every request, found in one pass: to look each of them up
//! costs several times as much.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use http::header::AsHeaderName;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::server::response::refusal::Refusal;

/// The head of a request, and where it came from.
pub(crate) struct Asked {
    parts: Parts,
    peer: Option<PeerAddr>,
    told: OnceLock<Box<Parts>>,
}

impl Asked {
    pub(crate) fn new(parts: Parts, peer: Option<PeerAddr>) -> Self {
        Self {
            parts,
            peer,
            told: OnceLock::new(),
        }
    }

    /// The head with the address among its extensions. It is put there for who asks: few do, and
    /// the first extension of a request costs more than to find its session.
    pub(crate) fn told(&self) -> &Parts {
        let Some(peer) = self.peer else {
            return &self.parts;
        };
        self.told.get_or_init(|| {
            let mut parts = self.parts.clone();
            parts.extensions.insert(peer);
            Box::new(parts)
        })
    }
}

impl Deref for Asked {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl DerefMut for Asked {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }
}

/// The address a request came from, in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a name for an address, nothing more"
)]
pub struct PeerAddr(pub SocketAddr);

/// Where they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Heads<'a> {
    pub(crate) host: Field<'a>,
    pub(crate) origin: Field<'a>,
    pub(crate) accept: Field<'a>,
    pub(crate) content_type: Field<'a>,
    pub(crate) content_length: Field<'a>,
    pub(crate) content_encoding: Field<'a>,
    pub(crate) session: Field<'a>,
    pub(crate) version: Field<'a>,
    pub(crate) method: Field<'a>,
    pub(crate) name: Field<'a>,
}

impl<'a> Heads<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut this = Self::default();
        for (name, value) in headers {
            let field = match name.as_str() {
                "host" => &mut this.host,
                "origin" => &mut this.origin,
                "accept" => &mut this.accept,
                "content-type" => &mut this.content_type,
                "content-length" => &mut this.content_length,
                "content-encoding" => &mut this.content_encoding,
                "mcp-session-id" => &mut this.session,
                "mcp-protocol-version" => &mut this.version,
                "mcp-method" => &mut this.method,
                "mcp-name" => &mut this.name,
                _ => continue,
            };
            field.add(value);
        }
        this
    }
}

/// A header that should come once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Field<'a> {
    first: Option<&'a HeaderValue>,
    more: bool,
}

/// Two headers where one belongs: what is in front of us may have looked at the other one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doubled;

impl<'a> Field<'a> {
    /// Another header.
    pub(crate) fn of(headers: &'a HeaderMap, name: impl AsHeaderName) -> Self {
        let mut this = Self::default();
        headers.get_all(name).iter().for_each(|it| this.add(it));
        this
    }

    fn add(&mut self, value: &'a HeaderValue) {
        self.more = self.first.is_some();
        self.first.get_or_insert(value);
    }

    /// The value of a header that came at most once.
    pub(crate) fn only(self) -> Result<Option<&'a HeaderValue>, Doubled> {
        if self.more {
            return Err(Doubled);
        }
        Ok(self.first)
    }

    /// The first value, however many there are.
    pub(crate) fn first(self) -> Option<&'a HeaderValue> {
        self.first
    }

    /// Whether it came once, with exactly these bytes.
    pub(crate) fn is(self, value: &[u8]) -> bool {
        !self.more && self.first.is_some_and(|it| it.as_bytes() == value)
    }

    pub(crate) fn is_absent(self) -> bool {
        self.first.is_none()
    }

    /// The text of a header that may come once.
    pub(crate) fn text(self, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
        let Some(value) = self.first else {
            return Ok(None);
        };
        match value.to_str() {
            Ok(text) if !self.more => Ok(Some(text)),
            Ok(_) => Err(Refusal::bad_request(format!(
                "header {name} comes more than once; send it once"
            ))),
            Err(_) => Err(Refusal::bad_request(format!(
                "header {name} is not visible ASCII"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT, HOST};

    use super::*;

    #[test]
    fn a_header_is_found_however_often_it_comes() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("a"));
        headers.append(ACCEPT, HeaderValue::from_static("b"));
        headers.append(ACCEPT, HeaderValue::from_static("c"));
        headers.append("mcp-name", HeaderValue::from_static("d"));
        headers.append("x-other", HeaderValue::from_static("e"));
        let heads = Heads::of(&headers);
        assert!(heads.host.is(b"a") && heads.name.is(b"d"));
        assert!(heads.origin.is_absent() && heads.origin.only().unwrap().is_none());
        assert!(heads.accept.only().is_err() && !heads.accept.is(b"b"));
        assert_eq!(heads.accept.first().unwrap(), "b");
        assert!(heads.accept.text(&ACCEPT).is_err());
        assert_eq!(heads.host.text(&HOST).unwrap(), Some("a"));
    }
}
