//! The origin of one request, and the verified identity behind it.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use serde_json::json;

use super::Grant;

/// Creates the error for a request that needs an authenticated caller, if the server has no authentication layer.
pub fn no_authentication() -> ErrorObject {
    tracing::debug!("a request needs a scope, and the server has no authentication layer");
    ErrorObject::internal(
        "the server has no authentication layer in front of its endpoint, so the caller is unknown; the operator of the server has to add an authentication layer",
    )
}

/// The member of an error's data that lists the scopes that the request needs.
pub const REQUIRED_SCOPES: &str = "requiredScopes";

/// Creates the error for a request that lacks `scope`, which has one or more words. `item` names what needs the scope, for
/// example `tool "add"`. The data of the error contains the words in [`REQUIRED_SCOPES`], so that clients need not parse the
/// message.
pub fn missing_scope(item: impl fmt::Display, scope: &str) -> ErrorObject {
    let words: Vec<&str> = scope.split_whitespace().collect();
    ErrorObject::invalid_request(format!("{item} needs the scope {scope:?}"))
        .with_data(json!({ REQUIRED_SCOPES: words }))
}

/// The origin of one request, as far as its transport knows it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RequestOrigin<'a> {
    /// The verified principal.
    pub principal: Option<&'a Principal>,
    /// The scopes of the verified token.
    pub grant: Option<&'a Grant>,
    facts: Option<&'a dyn TransportFacts>,
    is_local: bool,
}

/// Facts about a request that depend on the transport. They are created when a handler first reads them.
pub trait TransportFacts: Send + Sync {
    /// Returns the facts. For HTTP, they are the `http::request::Parts` of an inbound request, or the `http::Uri` of the server
    /// for an outbound request.
    fn facts(&self) -> &(dyn Any + Send + Sync);

    /// Returns a header of the HTTP request that carries the message, if its value is text.
    /// Default: none.
    fn header(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Returns the known properties of the network connection. Default: nothing.
    fn network(&self) -> Option<Network> {
        None
    }
}

/// A network connection to a peer, for logs and telemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Network {
    /// The name of the protocol in lower case, as in `http`.
    pub protocol: &'static str,
    /// The version of the protocol, as in `1.1`.
    pub version: Option<&'static str>,
    /// The host name or IP address of the server, and its port. Set by a client.
    pub server: Option<(String, u16)>,
    /// The IP address of the client, and its port. Set by a server.
    pub client: Option<(String, u16)>,
}

impl Network {
    /// Creates the description of a connection with this protocol.
    pub fn new(protocol: &'static str) -> Self {
        Self {
            protocol,
            version: None,
            server: None,
            client: None,
        }
    }

    /// Sets the version of the protocol.
    #[must_use]
    pub fn with_version(mut self, version: Option<&'static str>) -> Self {
        self.version = version;
        self
    }

    /// Sets the host name or IP address of the server, and its port.
    #[must_use]
    pub fn with_server(mut self, host: impl Into<String>, port: u16) -> Self {
        self.server = Some((host.into(), port));
        self
    }

    /// Sets the IP address of the client, and its port.
    #[must_use]
    pub fn with_client(mut self, address: impl Into<String>, port: u16) -> Self {
        self.client = Some((address.into(), port));
        self
    }
}

impl<'a> RequestOrigin<'a> {
    /// Creates the origin of a remote peer without a principal or a grant. The peer may use everything that needs no scope.
    pub fn remote() -> Self {
        Self {
            principal: None,
            grant: None,
            facts: None,
            is_local: false,
        }
    }

    /// Creates the origin for the parent of this process, which has every permission.
    pub fn local() -> Self {
        Self {
            is_local: true,
            ..Self::remote()
        }
    }

    /// Sets the verified principal.
    #[must_use]
    pub fn with_principal(mut self, principal: Option<&'a Principal>) -> Self {
        self.principal = principal;
        self
    }

    /// Sets the granted scopes.
    #[must_use]
    pub fn with_grant(mut self, grant: Option<&'a Grant>) -> Self {
        self.grant = grant;
        self
    }

    /// Sets the facts from the transport about the request.
    #[must_use]
    pub fn with_facts(mut self, facts: Option<&'a dyn TransportFacts>) -> Self {
        self.facts = facts;
        self
    }

    /// Returns the facts from the transport about the request.
    pub fn facts(&self) -> Option<&'a (dyn Any + Send + Sync)> {
        self.facts.map(TransportFacts::facts)
    }

    /// Returns a header of the HTTP request that carries the message.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.facts?.header(name)
    }

    /// Returns the known properties of the network connection.
    pub fn network(&self) -> Option<Network> {
        self.facts?.network()
    }

    /// Returns whether the peer is the parent of this process. The parent is then the only peer.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// Returns whether the request is granted every word of `scope`. Does not record a missing scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.is_local || self.grant.is_some_and(|grant| grant.covers(scope))
    }

    /// Returns whether the request is granted every word of `scope`. If not, records the scope as missing in the grant.
    pub fn permits(&self, scope: &str) -> bool {
        self.is_local || self.grant.is_some_and(|grant| grant.demand(scope))
    }
}

impl fmt::Debug for RequestOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestOrigin")
            .field("principal", &self.principal)
            .field("grant", &self.grant)
            .field("is_local", &self.is_local)
            .finish_non_exhaustive()
    }
}

/// The verified identity that sent a request. Its opaque key is equal for the same issuer, subject and client, and different
/// otherwise.
///
/// A session belongs to the principal that opened it. A user with two clients has two principals. Store data of a user under
/// [`user`](Self::user), which is the same for both clients. Principals are compared by their key. Cloning shares the texts.
#[derive(Clone)]
pub struct Principal {
    key: Arc<str>,
    /// The key of the user; `None` if it is the same as `key`.
    user: Option<Arc<str>>,
}

impl Principal {
    /// Creates a principal with this key, which is also the key of its user.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            key: name.into(),
            user: None,
        }
    }

    /// Sets the key of the user, which is the same for all clients of the user.
    #[must_use]
    pub fn with_user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Returns the key.
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// Returns the key of the user. It is the same for the same issuer and subject, with every client
    /// of the user.
    pub fn user(&self) -> &str {
        self.user.as_ref().unwrap_or(&self.key)
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl PartialOrd for Principal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Principal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&&*self.key).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_local_origin_has_every_permission() {
        assert!(RequestOrigin::local().permits("anything"));
        assert!(!RequestOrigin::remote().permits("anything"));
        let grant = Grant::new(["some"]);
        let origin = RequestOrigin::remote().with_grant(Some(&grant));
        assert!(origin.permits("some") && !origin.permits("anything"));
    }
}
