//! Secrets do not appear in logs at any level.

use std::fmt::Write as _;

use mcp_tests::tcp::Request;

use super::support::{ProtectedServer, bearing, tool};
use crate::prelude::*;
use crate::traced::Traced;

// proves: AUTH-080, AUTH-081, M-AUTH-079
#[tokio::test]
async fn t42_nothing_secret_is_logged_by_either_side() {
    // With only one subscriber in the process, tracing caches that a callsite has no interested
    // subscriber at all. A second one prevents that.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let (traced, _guard) = Traced::start();
    let signed = ProtectedServer::start().await;
    let opaque = ProtectedServer::opaque().await;
    let mut told = String::new();
    for world in [&signed, &opaque] {
        let client = world.client().await;
        for name in ["whoami", "write", "upstream"] {
            client.call_tool(name, json!({})).await.unwrap();
        }
        world.auth.wait(600);
        client.call_tool("admin", json!({})).await.unwrap();
        // A rejected token is not logged either.
        let token = world.token("alice", "notes:read");
        let answer = world.ask(&bearing(Request::post("{}"), &token)).await;
        assert_eq!(answer.status, 403);
        let _ = write!(told, "{answer:?}");
        world.auth.wait(600);
        let session = bearing(Request::post("{}"), &token);
        let answer = world.ask(&tool(&session, 1, "whoami")).await;
        assert_eq!(answer.status, 401);
        let _ = write!(told, "{answer:?}");
    }
    let log = traced.text();
    // The log contains the expected events.
    for logged in ["refused", "fetched keys", "signed in", "expired"] {
        assert!(log.contains(logged), "{logged}");
    }
    let upstream = signed.done.upstream.lock().unwrap();
    for secrets in [signed.auth.secrets(), opaque.auth.secrets()] {
        assert!(secrets.len() > 10);
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            for text in [&log, &told, &upstream] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
    assert!(!log.contains("canary"));
}
