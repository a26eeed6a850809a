//! What a request says of itself, and whether it is served.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, Request, decode, members, read_string};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, LoggingLevel, PROTOCOL_VERSION_KEY,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::client_identity::{ClientIdentity, ClientIdentityCache};
use crate::http_headers;
use crate::{Revision, gate};

/// A request that says in its `_meta` which revision it is written in, and that is what makes it
/// a request of a revision without a handshake, whatever else it is.
///
/// It holds what stands in the `_meta` as text; whether that is right, admission tells.
#[derive(Debug, Clone, Copy)]
pub struct RawRequestMeta<'a> {
    version: &'a str,
    client: Option<&'a str>,
    capabilities: Option<&'a str>,
    log_level: Option<&'a str>,
}

/// What a request says of itself and of who sends it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestMeta {
    /// The revision it is written in, one that is served.
    pub revision: Revision,
    /// Who sends it, and what can be asked of them.
    pub sender: Arc<ClientIdentity>,
    /// The least serious log message to send along; `None` means none at all.
    pub log_level: Option<LoggingLevel>,
}

/// The headers of an HTTP request that repeat what stands in its body; `None` where one is
/// missing.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "the transport names all of them")]
pub struct StandardHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`, as it was sent.
    pub name: Option<&'a str>,
}

impl<'a> RawRequestMeta<'a> {
    /// The claim of a request, if it makes one.
    pub fn of(request: &Request<'a>) -> Option<Self> {
        Self::within(request.meta_members().map_while(Result::ok))
    }

    /// The claim in the JSON text of some params, if there is one.
    pub fn of_params(params: &'a str) -> Option<Self> {
        let mut params = members(params).map_while(Result::ok);
        let (_, meta) = params.find(|(key, _)| *key == "_meta")?;
        Self::within(members(meta).map_while(Result::ok))
    }

    fn within(meta: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut version, mut client, mut capabilities, mut log_level) = (None, None, None, None);
        for (key, value) in meta {
            let slot = match key {
                PROTOCOL_VERSION_KEY => &mut version,
                CLIENT_INFO_KEY => &mut client,
                CLIENT_CAPABILITIES_KEY => &mut capabilities,
                LOG_LEVEL_KEY => &mut log_level,
                _ => continue,
            };
            *slot = Some(value);
        }
        Some(Self {
            version: version?,
            client,
            capabilities,
            log_level,
        })
    }

    /// The revision it names, if that is text.
    pub fn version(&self) -> Option<Cow<'a, str>> {
        read_string(self.version)
    }

    /// Whether the request is served: the headers agree with it (over HTTP), the revision is
    /// among those `served`, nothing is missing, and the method exists. The first failure is the
    /// answer.
    ///
    /// # Errors
    /// One of the protocol's errors; over HTTP, [`status`](http_headers::status) tells with which status.
    pub fn admit(
        &self,
        request: &Request<'_>,
        served: &[Revision],
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        self.admit_cached(request, served, headers, &ClientIdentityCache::default())
    }

    /// The same with a memory of who has sent lately.
    pub(crate) fn admit_cached(
        &self,
        request: &Request<'_>,
        served: &[Revision],
        headers: Option<&StandardHeaders<'_>>,
        senders: &ClientIdentityCache,
    ) -> Result<RequestMeta, ErrorObject> {
        let version = self
            .version()
            .ok_or_else(|| malformed(PROTOCOL_VERSION_KEY, "a string"))?;
        if let Some(headers) = headers {
            http_headers::check(
                http_headers::PROTOCOL_VERSION,
                headers.version,
                Some(&*version),
            )?;
        }
        let revision = served
            .iter()
            .copied()
            .find(|it| it.is_stateless() && it.as_str() == version)
            .ok_or_else(|| unsupported_version(&version, served))?;
        let envelope = self.envelope(revision, senders)?;
        if let Some(headers) = headers {
            http_headers::check(http_headers::METHOD, headers.method, Some(&*request.method))?;
            http_headers::check_name(request, headers.name)?;
        }
        let known = gate::server_handles(&request.method, revision.rules());
        if !known {
            return Err(ErrorObject::method_not_found(&request.method));
        }
        Ok(envelope)
    }

    fn envelope(
        &self,
        revision: Revision,
        senders: &ClientIdentityCache,
    ) -> Result<RequestMeta, ErrorObject> {
        let log_level = self.log_level.map(|value| read(LOG_LEVEL_KEY, value));
        let log_level = log_level.transpose()?;
        let client = self.client;
        let Some(capabilities) = self.capabilities else {
            return Err(malformed(CLIENT_CAPABILITIES_KEY, "an object"));
        };
        let sender = senders.find(client.unwrap_or_default(), capabilities, || {
            Ok::<_, ErrorObject>(ClientIdentity {
                client: client
                    .map(|client| read(CLIENT_INFO_KEY, client))
                    .transpose()?,
                capabilities: read(CLIENT_CAPABILITIES_KEY, capabilities)?,
            })
        })?;
        Ok(RequestMeta {
            revision,
            sender,
            log_level,
        })
    }
}

fn read<T: DeserializeOwned>(key: &str, value: &str) -> Result<T, ErrorObject> {
    decode(value).map_err(|error| {
        ErrorObject::invalid_params(format!("invalid params: /_meta/{key}: {error}"))
    })
}

/// The answer to a request that says nothing of itself and belongs to no session.
pub fn missing_request_meta(served: &[Revision]) -> ErrorObject {
    let names: Vec<_> = served.iter().map(|it| it.as_str()).collect();
    let handshake = if served.iter().any(|it| !it.is_stateless()) {
        ", or open a session with initialize"
    } else {
        ""
    };
    ErrorObject::invalid_params(format!(
        "_meta lacks {:?} and {:?}; send both with every request{handshake}; served are {}",
        PROTOCOL_VERSION_KEY,
        CLIENT_CAPABILITIES_KEY,
        names.join(", ")
    ))
}

/// The answer to a revision that is not served.
pub(crate) fn unsupported_version(requested: &str, served: &[Revision]) -> ErrorObject {
    let shown: String = requested.chars().take(64).collect();
    let names: Vec<_> = served.iter().map(|it| it.as_str()).collect();
    ErrorObject::new(
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        format!(
            "protocol version {shown:?} is not served; served are {}",
            names.join(", ")
        ),
    )
    .with_data(json!({ "supported": names, "requested": shown }))
}

fn malformed(key: &str, wanted: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "invalid params: /_meta: {key:?} is missing or not {wanted}; send it with every request"
    ))
}
