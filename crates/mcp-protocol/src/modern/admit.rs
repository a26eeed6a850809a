//! What a request says of itself, and whether it is served.

use mcp_jsonrpc::{ErrorCode, ErrorObject, Request, decode, members};

use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, ClientCapabilities, Implementation, LOG_LEVEL_KEY,
    LoggingLevel, PROTOCOL_VERSION_KEY,
};
use serde_json::json;

use super::mirror;
use crate::{Revision, gate};

/// A request that says in its `_meta` which revision it is written in, and that is what makes it
/// a request of a revision without a handshake, whatever else it is.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    meta: &'a str,
    version: &'a str,
}

/// What a request says of itself and of who sends it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Envelope {
    /// The revision it is written in, one that is served.
    pub revision: Revision,
    /// The client software, by its own account.
    pub client: Option<Implementation>,
    /// What the client offers while the request runs.
    pub capabilities: ClientCapabilities,
    /// The least serious log message to send along; `None` means none at all.
    pub log_level: Option<LoggingLevel>,
}

/// The headers of an HTTP request that repeat what stands in its body; `None` where one is
/// missing.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "the transport names all of them")]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`, as it was sent.
    pub name: Option<&'a str>,
}

impl<'a> Claim<'a> {
    /// The claim of a request, if it makes one.
    pub fn of(request: &Request<'a>) -> Option<Self> {
        Self::within(request.param_members().filter_map(Result::ok))
    }

    /// The claim in the JSON text of some params, if there is one.
    pub fn of_params(params: &'a str) -> Option<Self> {
        Self::within(members(params).map_while(Result::ok))
    }

    fn within(mut params: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (_, meta) = params.find(|(key, _)| *key == "_meta")?;
        let mut inner = members(meta).map_while(Result::ok);
        let (_, version) = inner.find(|(key, _)| *key == PROTOCOL_VERSION_KEY)?;
        Some(Self { meta, version })
    }

    /// The revision it names, if that is text.
    pub fn version(&self) -> Option<String> {
        decode(self.version).ok()
    }

    /// Whether the request is served: the headers agree with it (over HTTP), the revision is
    /// among those `served`, nothing is missing, and the method exists. The first failure is the
    /// answer.
    ///
    /// # Errors
    /// One of the protocol's errors; over HTTP, [`status`](mirror::status) tells with which status.
    pub fn admit(
        &self,
        request: &Request<'_>,
        served: &[Revision],
        headers: Option<&Headers<'_>>,
    ) -> Result<Envelope, ErrorObject> {
        let version = self
            .version()
            .ok_or_else(|| malformed(PROTOCOL_VERSION_KEY, "a string"))?;
        if let Some(headers) = headers {
            mirror::check(
                mirror::PROTOCOL_VERSION,
                headers.version,
                Some(version.as_str()),
            )?;
        }
        let revision = served
            .iter()
            .copied()
            .find(|it| it.is_modern() && it.as_str() == version)
            .ok_or_else(|| unsupported(&version, served))?;
        let envelope = self.envelope(revision)?;
        if let Some(headers) = headers {
            mirror::check(mirror::METHOD, headers.method, Some(&*request.method))?;
            mirror::check_name(request, headers.name)?;
        }
        let known = gate::server_handles(&request.method, revision.rules());
        if !known {
            return Err(ErrorObject::method_not_found(&request.method));
        }
        Ok(envelope)
    }

    fn envelope(&self, revision: Revision) -> Result<Envelope, ErrorObject> {
        let mut envelope = Envelope {
            revision,
            client: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
        };
        let mut declared = false;
        for member in members(self.meta) {
            let (key, value) = member.map_err(|error| {
                ErrorObject::invalid_params(format!("invalid params: /_meta: {error}"))
            })?;
            match key {
                CLIENT_INFO_KEY => {
                    let info = decode(value).map_err(|error| misfit(key, &error))?;
                    envelope.client = Some(info);
                }
                CLIENT_CAPABILITIES_KEY => {
                    envelope.capabilities = decode(value).map_err(|error| misfit(key, &error))?;
                    declared = true;
                }
                LOG_LEVEL_KEY => {
                    let level: LoggingLevel = decode(value).map_err(|error| misfit(key, &error))?;
                    envelope.log_level = Some(level);
                }
                _ => {}
            }
        }
        if declared {
            Ok(envelope)
        } else {
            Err(malformed(CLIENT_CAPABILITIES_KEY, "an object"))
        }
    }
}

/// The answer to a request that says nothing of itself and belongs to no session.
pub fn unclaimed(served: &[Revision]) -> ErrorObject {
    let names: Vec<_> = served.iter().map(|it| it.as_str()).collect();
    let handshake = if served.iter().any(|it| !it.is_modern()) {
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
pub(crate) fn unsupported(requested: &str, served: &[Revision]) -> ErrorObject {
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

fn misfit(key: &str, error: &mcp_jsonrpc::DecodeError) -> ErrorObject {
    ErrorObject::invalid_params(format!("invalid params: /_meta/{key}: {error}"))
}
