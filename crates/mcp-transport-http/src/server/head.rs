//! The head of a request, and the headers that are checked for every request.

use std::any::Any;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use http::header::AsHeaderName;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Version};

use mcp_protocol::{Network, Principal, Revision, TransportFacts};

use crate::permit::share::KnownOwner;
use crate::server::response::refusal::Refusal;

/// The head of a request, and the address of the client.
pub(crate) struct RequestHead {
    parts: Parts,
    peer: Option<PeerAddr>,
    told: OnceLock<Box<Parts>>,
}

impl RequestHead {
    pub(crate) fn new(parts: Parts, peer: Option<PeerAddr>) -> Self {
        Self {
            parts,
            peer,
            told: OnceLock::new(),
        }
    }

    /// Returns the client to which memory and work are charged.
    pub(crate) fn owner(&self) -> Option<KnownOwner> {
        let extensions = &self.parts.extensions;
        if let Some(principal) = extensions.get::<Principal>() {
            return Some(KnownOwner::Principal(principal.clone()));
        }
        let peer = self.peer.as_ref().or_else(|| extensions.get());
        peer.map(|peer| KnownOwner::address(peer.0.ip()))
    }

    /// Returns the head with a [`PeerAddr`] in its extensions.
    ///
    /// The head is copied when a handler first needs it. Few handlers need the address, and adding the first extension to a
    /// request costs more instructions than finding its session.
    fn parts_with_peer(&self) -> &Parts {
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

impl TransportFacts for RequestHead {
    fn facts(&self) -> &(dyn Any + Send + Sync) {
        self.parts_with_peer()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    fn network(&self) -> Option<Network> {
        let version = match self.parts.version {
            Version::HTTP_10 => Some("1.0"),
            Version::HTTP_11 => Some("1.1"),
            Version::HTTP_2 => Some("2"),
            Version::HTTP_3 => Some("3"),
            _ => None,
        };
        let network = Network::new("http").with_version(version);
        let peer = self.peer.as_ref().or_else(|| self.parts.extensions.get());
        Some(match peer {
            Some(PeerAddr(peer)) => network.with_client(peer.ip().to_string(), peer.port()),
            None => network,
        })
    }
}

impl Deref for RequestHead {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl DerefMut for RequestHead {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }
}

/// The address of the client that sent a request. It is in the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a newtype for an address")]
pub struct PeerAddr(pub SocketAddr);

/// The headers that are checked for every request. They are found in one pass, because separate look-ups cost several times as
/// much.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct McpHeaders<'a> {
    pub(crate) host: SingleHeader<'a>,
    pub(crate) origin: SingleHeader<'a>,
    pub(crate) accept: SingleHeader<'a>,
    pub(crate) content_type: SingleHeader<'a>,
    pub(crate) content_length: SingleHeader<'a>,
    pub(crate) content_encoding: SingleHeader<'a>,
    pub(crate) session: SingleHeader<'a>,
    pub(crate) version: SingleHeader<'a>,
    /// Whether at least one version header names the stateless revision.
    pub(crate) names_stateless_revision: bool,
    pub(crate) method: SingleHeader<'a>,
    pub(crate) name: SingleHeader<'a>,
}

impl<'a> McpHeaders<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut this = Self::default();
        for (name, value) in headers {
            // The most frequent names are first, because they are compared in turn.
            let field = match name.as_str() {
                "host" => &mut this.host,
                "accept" => &mut this.accept,
                "content-type" => &mut this.content_type,
                "content-length" => &mut this.content_length,
                "mcp-protocol-version" => {
                    this.names_stateless_revision |= is_stateless(value);
                    &mut this.version
                }
                "mcp-session-id" => &mut this.session,
                "mcp-method" => &mut this.method,
                "mcp-name" => &mut this.name,
                "origin" => &mut this.origin,
                "content-encoding" => &mut this.content_encoding,
                _ => continue,
            };
            field.add(value);
        }
        this
    }
}

fn is_stateless(version: &HeaderValue) -> bool {
    let mut stateless = Revision::ALL
        .into_iter()
        .filter(|revision| revision.is_stateless());
    stateless.any(|revision| version.as_bytes() == revision.as_str().as_bytes())
}

/// The values of a header that must not be repeated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SingleHeader<'a> {
    first: Option<&'a HeaderValue>,
    more: bool,
}

/// The error for a header that is repeated although this is not allowed. A proxy in front of the server may have used the other
/// value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DuplicateHeader;

impl<'a> SingleHeader<'a> {
    /// Finds the header `name`.
    pub(crate) fn of(headers: &'a HeaderMap, name: impl AsHeaderName) -> Self {
        let mut this = Self::default();
        headers
            .get_all(name)
            .iter()
            .for_each(|value| this.add(value));
        this
    }

    fn add(&mut self, value: &'a HeaderValue) {
        self.more = self.first.is_some();
        self.first.get_or_insert(value);
    }

    /// Returns the value of a header that is not repeated.
    pub(crate) fn single(self) -> Result<Option<&'a HeaderValue>, DuplicateHeader> {
        if self.more {
            return Err(DuplicateHeader);
        }
        Ok(self.first)
    }

    /// Returns the first value, even if the header is repeated.
    pub(crate) fn first(self) -> Option<&'a HeaderValue> {
        self.first
    }

    /// Returns whether the header has exactly this value and is not repeated.
    pub(crate) fn is(self, value: &[u8]) -> bool {
        !self.more && self.first.is_some_and(|first| first.as_bytes() == value)
    }

    pub(crate) fn is_absent(self) -> bool {
        self.first.is_none()
    }

    /// Returns the text of a header that is not repeated.
    pub(crate) fn text(self, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
        let Some(value) = self.first else {
            return Ok(None);
        };
        match value.to_str() {
            Ok(text) if !self.more => Ok(Some(text)),
            Ok(_) => Err(Refusal::bad_request(format!(
                "header {name} is repeated; send it once"
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
    fn a_repeated_header_is_found_and_marked() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("a"));
        headers.append(ACCEPT, HeaderValue::from_static("b"));
        headers.append(ACCEPT, HeaderValue::from_static("c"));
        headers.append("mcp-name", HeaderValue::from_static("d"));
        headers.append("x-other", HeaderValue::from_static("e"));
        let mcp_headers = McpHeaders::of(&headers);
        assert!(mcp_headers.host.is(b"a") && mcp_headers.name.is(b"d"));
        assert!(mcp_headers.origin.is_absent() && mcp_headers.origin.single().unwrap().is_none());
        assert!(mcp_headers.accept.single().is_err() && !mcp_headers.accept.is(b"b"));
        assert_eq!(mcp_headers.accept.first().unwrap(), "b");
        assert!(mcp_headers.accept.text(&ACCEPT).is_err());
        assert_eq!(mcp_headers.host.text(&HOST).unwrap(), Some("a"));
    }
}
