//! Clients of stateless servers, and of servers whose revision is unknown.

mod cache;
mod extensions;
mod header_params;
mod http;
mod listen;
mod negotiation;
mod requests;
mod round_trips;
mod separation;

use crate::peer::client;
use crate::prelude::*;

const REVISION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The result of `server/discover`.
fn discovered(versions: &[&str], capabilities: Value) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": capabilities,
        "instructions": "Be kind.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "scripted", "version": "0" } },
    })
}

/// Answers the next request, which must be the probe, as a stateless server.
async fn welcome(wire: &mut PipeEnd, capabilities: Value) -> Value {
    let probe = wire.next("server/discover").await;
    let result = discovered(&[REVISION], capabilities);
    wire.answer(&probe, result).await;
    probe
}

/// Connects a client to a scripted stateless server.
pub(crate) async fn connected(builder: ClientBuilder, capabilities: Value) -> (PipeEnd, Client) {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(builder.connect(transport));
    welcome(&mut wire, capabilities).await;
    (wire, connecting.await.unwrap().unwrap())
}

/// The error of a server that does not support the requested revision.
async fn unsupported(wire: &mut PipeEnd, request: &Value, versions: &[&str]) {
    let data = json!({ "supported": versions, "requested": REVISION });
    let error = json!({ "code": -32022, "message": "not served", "data": data });
    let id = &request["id"];
    wire.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        .await;
}

/// Closes the client; asserts that it sends nothing more.
async fn closed(client: Client, mut wire: PipeEnd) {
    client.close().await.unwrap();
    wire.ended().await;
}

/// Checks that a request names its revision.
fn claims(request: &Value) {
    let meta = &request["params"]["_meta"];
    assert_eq!(meta[VERSION_KEY], REVISION, "{request}");
    let capabilities = &meta["io.modelcontextprotocol/clientCapabilities"];
    assert!(capabilities.is_object(), "{request}");
}
