//! Request metadata of the stateless revision, and the checks before a request is handled.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{
    ErrorCode, ErrorObject, Request, decode, is_member, member_name, members, quote, read_string,
};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, ClientCapabilities, LOG_LEVEL_KEY, LoggingLevel,
    PROTOCOL_VERSION_KEY, method,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client_identity::{ClientIdentity, ClientIdentityCache, check_identity};
use crate::http_headers;
use crate::tolerance::{repair_capabilities, repair_implementation};
use crate::{Deviation, Revision, Strictness, Tolerance, gate};

/// The reserved members of `_meta` in a request, as JSON text. If `_meta` contains a protocol version, the request belongs to the
/// stateless revision.
///
/// [`admit`](Self::admit) checks and decodes the members.
#[derive(Debug, Clone, Copy)]
pub struct RawRequestMeta<'a> {
    version: &'a str,
    client: Option<&'a str>,
    capabilities: Option<&'a str>,
    log_level: Option<&'a str>,
}

/// The decoded metadata of a request: revision, client and log level.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestMeta {
    /// The revision of the request. The server supports it.
    pub revision: Revision,
    /// The client and its capabilities.
    pub client: Arc<ClientIdentity>,
    /// The minimum level of log messages to send. `None` means that no log messages are sent.
    pub log_level: Option<LoggingLevel>,
}

/// The HTTP headers that echo members of the body; `None` for a missing header.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "transports construct it with all headers"
)]
pub struct StandardHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`, in its encoded form.
    pub name: Option<&'a str>,
}

impl<'a> RawRequestMeta<'a> {
    /// Returns the metadata of a request, if it has a protocol version.
    pub fn of(request: &Request<'a>) -> Option<Self> {
        Self::from_members(request.meta_members().map_while(Result::ok))
    }

    /// Returns the metadata in `params`, which is JSON text. Returns `None` if there is no protocol version.
    pub fn of_params(params: &'a str) -> Option<Self> {
        let mut params = members(params).map_while(Result::ok);
        let (_, meta) = params.find(|(key, _)| is_member(key, "_meta"))?;
        Self::from_members(members(meta).map_while(Result::ok))
    }

    /// Reads the members of `_meta`. Returns `None` if there is no protocol version.
    fn from_members(members: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut version, mut client, mut capabilities, mut log_level) = (None, None, None, None);
        let mut read = |name: &str, value| {
            let slot = match name {
                PROTOCOL_VERSION_KEY => &mut version,
                CLIENT_INFO_KEY => &mut client,
                CLIENT_CAPABILITIES_KEY => &mut capabilities,
                LOG_LEVEL_KEY => &mut log_level,
                _ => return false,
            };
            // `null` counts as absent.
            *slot = (value != "null").then_some(value);
            true
        };
        for (key, value) in members {
            if !read(key, value) && key.contains('\\') {
                read(&member_name(key), value);
            }
        }
        Some(Self {
            version: version?,
            client,
            capabilities,
            log_level,
        })
    }

    /// Returns the protocol version, if it is a string.
    pub fn version(&self) -> Option<Cow<'a, str>> {
        read_string(self.version)
    }

    /// Checks whether the request can be handled: the headers match the body (over HTTP), the revision is in `served`, the required
    /// members are present, and the method exists. The checks run in this order, and the first failed check determines the error.
    ///
    /// # Errors
    /// A check failed; [`admission_status`](http_headers::admission_status) returns the HTTP status of
    /// the error.
    pub fn admit(
        &self,
        request: &Request<'_>,
        served: &[Revision],
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        let none = |_: &str| false;
        self.admit_cached(
            request,
            served,
            headers,
            &ClientIdentityCache::default(),
            &Tolerance::new(Strictness::Strict),
            &none,
        )
    }

    /// Like [`admit`](Self::admit), but uses a cache of client identities, and also accepts the server's custom methods.
    pub(crate) fn admit_cached(
        &self,
        request: &Request<'_>,
        served: &[Revision],
        headers: Option<&StandardHeaders<'_>>,
        cache: &ClientIdentityCache,
        tolerance: &Tolerance,
        has_method: &dyn Fn(&str) -> bool,
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
            .find(|revision| revision.is_stateless() && revision.as_str() == version)
            .ok_or_else(|| not_served(request, &version, served))?;
        let meta = self.decode_members(revision, cache, tolerance)?;
        if let Some(headers) = headers {
            http_headers::check(http_headers::METHOD, headers.method, Some(&*request.method))?;
            http_headers::check_name(request, headers.name)?;
        }
        let known = gate::server_handles(&request.method, revision.rules());
        if !known && !has_method(&request.method) {
            return Err(gate::not_handled(&request.method, revision));
        }
        Ok(meta)
    }

    fn decode_members(
        &self,
        revision: Revision,
        cache: &ClientIdentityCache,
        tolerance: &Tolerance,
    ) -> Result<RequestMeta, ErrorObject> {
        let log_level = self.log_level.map(|value| read(LOG_LEVEL_KEY, value));
        // The request can be handled without log messages.
        let log_level = log_level.transpose().or_else(|error| {
            let is_tolerated = tolerance.admits(Deviation::UnknownLogLevel, &error);
            is_tolerated.then_some(None).ok_or(error)
        })?;
        let client = self.client;
        let Some(capabilities) = self.capabilities else {
            return Err(malformed(CLIENT_CAPABILITIES_KEY, "an object"));
        };
        let identity = cache.find(client.unwrap_or_default(), capabilities, || {
            let what = "the client description in _meta (clientInfo and clientCapabilities)";
            check_identity(what, client.into_iter().chain([capabilities]))?;
            Ok::<_, ErrorObject>(ClientIdentity {
                info: client
                    .map(|client| {
                        repaired(CLIENT_INFO_KEY, client, tolerance, repair_implementation)
                    })
                    .transpose()?,
                capabilities: repaired(
                    CLIENT_CAPABILITIES_KEY,
                    capabilities,
                    tolerance,
                    repair_capabilities::<ClientCapabilities>,
                )?,
            })
        })?;
        Ok(RequestMeta {
            revision,
            client: identity,
            log_level,
        })
    }
}

fn read<T: DeserializeOwned>(key: &str, value: &str) -> Result<T, ErrorObject> {
    decode(value)
        .map_err(|error| ErrorObject::malformed_params(format_args!("/_meta/{key}: {error}")))
}

/// Reads a member of `_meta`. Repairs a malformed member if the deviation is harmless and tolerated.
fn repaired<T: DeserializeOwned>(
    key: &str,
    value: &str,
    tolerance: &Tolerance,
    repair: fn(&mut Value),
) -> Result<T, ErrorObject> {
    read(key, value).or_else(|error| {
        let repaired = decode(value).ok().and_then(|mut value: Value| {
            // Only objects are repaired, and `[]`, which PHP sends for an empty object.
            let is_known = value.is_object() || value == json!([]);
            repair(&mut value);
            serde_json::from_value(value).ok().filter(|_| is_known)
        });
        let is_tolerated = || tolerance.admits(Deviation::MalformedDecoration, &error);
        repaired.filter(|_| is_tolerated()).ok_or(error)
    })
}

/// Returns the error for a request that has no metadata and belongs to no session.
pub fn missing_request_meta(served: &[Revision]) -> ErrorObject {
    let names: Vec<_> = served.iter().map(|revision| revision.as_str()).collect();
    let handshake = if served.iter().any(|revision| !revision.is_stateless()) {
        ", or open a session with initialize"
    } else {
        ""
    };
    ErrorObject::invalid_params(format!(
        "_meta lacks {:?} and {:?}; send both with every request{handshake}; supported versions are {}",
        PROTOCOL_VERSION_KEY,
        CLIENT_CAPABILITIES_KEY,
        names.join(", ")
    ))
}

/// Returns the error for a request in a stateless revision that the server does not support. For `server/discover`, a server
/// with only session-based revisions returns the error for an unknown method. After this error, every client sends `initialize`.
/// After other errors, some clients do not.
fn not_served(request: &Request<'_>, version: &str, served: &[Revision]) -> ErrorObject {
    let has_stateless = served.iter().any(|revision| revision.is_stateless());
    match &*request.method {
        method::SERVER_DISCOVER if !has_stateless => ErrorObject::method_not_found(&request.method),
        _ => unsupported_version(version, served),
    }
}

/// Returns the error for a protocol version that is not supported.
pub(crate) fn unsupported_version(requested: &str, served: &[Revision]) -> ErrorObject {
    let names: Vec<_> = served.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::new(
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        format!(
            "protocol version {} is not supported; supported versions are {}",
            quote(requested, 64),
            names.join(", ")
        ),
    )
    .with_data(json!({
        "supported": names,
        "requested": requested.chars().take(64).collect::<String>(),
    }))
}

fn malformed(key: &str, wanted: &str) -> ErrorObject {
    ErrorObject::malformed_params(format_args!(
        "/_meta: {key:?} is missing or is not {wanted}; send it with every request"
    ))
}
