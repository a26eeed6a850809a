//! Answers `ping` and `server/discover` of a gateway that asks whether this server can serve requests.
//!
//! A proxy can answer these methods even if the server behind the proxy has ended. A gateway therefore adds a member to `_meta`,
//! with which it asks for the readiness of the server behind the proxy. Other servers ignore the member.

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

/// Returns whether the request asks for the readiness of the service.
fn asks_readiness(request: &Request<'_>) -> bool {
    // Params without the name of the member are not decoded.
    let params = request
        .params
        .filter(|params| params.contains(READINESS_META));
    let params: Option<Params> = params.and_then(|params| decode(params).ok());
    params.is_some_and(|params| params.meta.asks_readiness)
}

/// Returns a reply with the payload. If the request asks for the readiness of the service, the reply first waits for
/// [`Service::readiness`], and fails if the service is not ready.
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
