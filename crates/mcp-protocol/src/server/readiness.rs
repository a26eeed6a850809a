//! Answers `ping` and `server/discover` of a gateway that asks whether this server can serve requests.
//!
//! A proxy can answer these methods although its own server has ended. A gateway in front of it therefore asks with a member of
//! `_meta`. Other servers ignore the member.

use mcp_jsonrpc::{Request, decode};
use serde::Deserialize;

use crate::{Payload, Reply, Service};

/// The member of `_meta` with which a gateway asks whether the servers behind a proxy respond. Its value is `true`.
pub const READINESS_META: &str = "mcp-gateway/readiness";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "mcp-gateway/readiness")]
    asks_readiness: bool,
}

/// Returns whether the client asks with the request whether the service can serve requests.
fn asks_readiness(request: &Request<'_>) -> bool {
    // Most requests do not contain the name, so they are not decoded.
    let params = request
        .params
        .filter(|params| params.contains(READINESS_META));
    let params: Option<Params> = params.and_then(|params| decode(params).ok());
    params.is_some_and(|params| params.meta.asks_readiness)
}

/// Returns the payload; if the client asks whether the service can serve requests, only after the service has confirmed it.
pub(super) fn answer(service: &dyn Service, request: &Request<'_>, payload: Payload) -> Reply {
    if !asks_readiness(request) {
        return Reply::ok(payload);
    }
    match service.readiness() {
        None => Reply::ok(payload),
        Some(ready) => Reply::Pending(Box::pin(async move {
            ready.await?;
            Ok(payload)
        })),
    }
}
