//! Pings that detect whether the server has stopped responding.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_types::{JsonObject, method};

use crate::shared::Shared;

/// Settings of the pings that check a connection. On the stateless revision, which has no `ping`,
/// the client sends `server/discover` instead.
///
/// Specification: [ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeepAlive {
    /// Interval between pings, which is also the timeout of each ping.
    pub interval: Duration,
    /// Number of consecutive unanswered pings after which the connection is closed.
    pub misses: u32,
}

impl KeepAlive {
    /// Creates settings that send a ping every `interval`, and close the connection after `misses` consecutive
    /// unanswered pings.
    pub fn new(interval: Duration, misses: u32) -> Self {
        Self { interval, misses }
    }
}

/// Starts the pings. They end when the client is dropped.
pub(crate) fn start(shared: &Arc<Shared>, keep_alive: KeepAlive) {
    tokio::spawn(run(Arc::downgrade(shared), keep_alive));
}

async fn run(shared: Weak<Shared>, keep_alive: KeepAlive) {
    let mut missed = 0;
    loop {
        tokio::time::sleep(keep_alive.interval).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let ping = match &shared.agreed.meta {
            None => shared.link.request(method::PING, None),
            Some(meta) => {
                let params = meta.write(&JsonObject::new(), None, &[]);
                let method = method::SERVER_DISCOVER;
                shared
                    .link
                    .request_with(method.into(), Some(params), meta.extras(None))
            }
        };
        match tokio::time::timeout(keep_alive.interval, ping).await {
            Ok(Ok(_)) => missed = 0,
            Ok(Err(_)) => return,
            Err(_) => {
                missed += 1;
                tracing::warn!(missed, "the server did not answer a ping");
            }
        }
        if missed >= keep_alive.misses {
            tracing::error!(
                missed,
                "the server does not respond to pings; closing the connection"
            );
            if let Err(error) = shared.connection.close().await {
                tracing::debug!(%error, "closing the connection failed");
            }
            return;
        }
    }
}
