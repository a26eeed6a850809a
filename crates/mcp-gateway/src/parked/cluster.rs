//! The processes of one gateway. Any process can receive the request that continues a parked call, but the call continues at the
//! process that runs it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{InvalidServer, Principal, RequestContext};
use mcp_server::StateKeys;
use serde_json::json;

use super::{Fingerprint, unknown_state};
use crate::upstream::FORWARDED_MEMBER;

/// The keys that all processes of a gateway share, and the address of this process. With a cluster, a client may send the request
/// that continues a parked call to any process. Cloning shares the keys.
///
/// The `requestState` of a parked call then contains the address of the process that runs the call. The `requestState` is
/// encrypted, and is bound to the principal, the params and the lifetime of the call. A client can therefore neither read nor
/// choose the address. The HTTP endpoint forwards the request to this address. The endpoint needs
/// `ServerOptions::with_forwarding` with the [address](Self::address) of this process.
///
/// ```no_run
/// # fn f(key: [u8; 32]) -> Result<mcp_gateway::Cluster, Box<dyn std::error::Error>> {
/// use mcp_gateway::Cluster;
/// use mcp_server::StateKeys;
///
/// let cluster = Cluster::new("http://10.0.0.7:8000/mcp".parse()?, StateKeys::new(key))?;
/// # Ok(cluster)
/// # }
/// ```
#[derive(Clone)]
pub struct Cluster {
    address: Uri,
    keys: Arc<StateKeys>,
}

/// The place where a call is parked.
pub(crate) enum ParkedAt {
    /// In this process, with this id.
    Here(String),
    /// In the process with this address.
    Elsewhere(String),
}

/// The values to which the `requestState` of a parked call is bound.
pub(crate) struct ParkedBinding<'a> {
    pub(crate) upstream: &'a str,
    pub(crate) principal: Option<&'a Principal>,
    pub(crate) fingerprint: Fingerprint,
}

impl Cluster {
    /// Creates the settings of this process. The other processes reach it at `address`, such as `http://10.0.0.7:8000/mcp`. The
    /// keys must be the same in all processes. The lifetime in `keys` is not used.
    ///
    /// # Errors
    /// The address is not an `http` URL with a host.
    pub fn new(address: Uri, keys: StateKeys) -> Result<Self, InvalidServer> {
        if address.scheme_str() != Some("http") || address.host().is_none() {
            return Err(InvalidServer::new(format!(
                "the address {address} of this process is not an http URL with a host, such as http://10.0.0.7:8000/mcp"
            )));
        }
        Ok(Self {
            address,
            keys: Arc::new(keys),
        })
    }

    /// Returns the address at which the other processes reach this process.
    pub fn address(&self) -> &Uri {
        &self.address
    }

    /// Returns the keys that all processes share.
    pub(crate) fn keys(&self) -> &StateKeys {
        &self.keys
    }

    /// Returns the `requestState` of the call that this process has parked with this id.
    pub(crate) fn state(
        &self,
        id: &str,
        lifetime: Duration,
        binding: &ParkedBinding<'_>,
    ) -> Result<String, ErrorObject> {
        let state = format!("{id} {}", self.address);
        self.keys
            .encrypt_for(lifetime, state.as_bytes(), &binding.to_bytes())
    }

    /// Returns the place where the call with this `requestState` is parked.
    ///
    /// # Errors
    /// The `requestState` was not created by a process of this gateway, has expired, or belongs to another principal or to other
    /// params.
    pub(crate) fn find(
        &self,
        state: &str,
        binding: &ParkedBinding<'_>,
    ) -> Result<ParkedAt, ErrorObject> {
        let state = self.keys.decrypt(state, &binding.to_bytes());
        let state = state.and_then(|state| String::from_utf8(state).ok());
        let parts = state.as_deref().and_then(|state| state.split_once(' '));
        let (id, address) = parts.ok_or_else(unknown_state)?;
        Ok(match self.address == address {
            true => ParkedAt::Here(id.to_owned()),
            false => ParkedAt::Elsewhere(address.to_owned()),
        })
    }
}

/// Forwards the request to the process at `address`, and returns an error. The client receives the error only if the request
/// cannot be forwarded, or if the other process cannot be reached.
pub(crate) fn forward(context: &RequestContext, address: &str) -> ErrorObject {
    if !context.forward(address) {
        tracing::warn!(
            address,
            "a request that continues a parked call was not forwarded to its process: the endpoint of this process needs \
             ServerOptions::with_forwarding, and a request is forwarded only once"
        );
        return unknown_state();
    }
    ErrorObject::invalid_params(FORWARDED).with_data(json!({ FORWARDED_MEMBER: true }))
}

/// The text of the error for a request that is forwarded. The client receives it only if the other process cannot be reached.
const FORWARDED: &str = "the process of the gateway that runs this call cannot be reached, so the call cannot be continued; send the original \
                         request again without requestState";

/// Returns whether the error was created by [`forward`]. Servers and clients cannot forge such an error, because
/// [`of_peer`](crate::upstream::of_peer) removes the member `forwarded` from their errors.
pub(crate) fn is_forwarded(error: &ErrorObject) -> bool {
    (error.data.as_ref()).is_some_and(|data| data.get(FORWARDED_MEMBER).is_some())
}

impl ParkedBinding<'_> {
    /// Encodes the binding. Different bindings have different bytes. The bytes also differ from all bytes that other parts of the
    /// program authenticate with the same keys.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"parked call".to_vec();
        bytes.extend_from_slice(&self.fingerprint);
        bytes.extend_from_slice(&(self.upstream.len() as u64).to_be_bytes());
        bytes.extend_from_slice(self.upstream.as_bytes());
        if let Some(principal) = self.principal {
            bytes.push(1);
            bytes.extend_from_slice(principal.as_str().as_bytes());
        }
        bytes
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
