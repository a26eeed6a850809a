//! Which connection a request uses.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::Revision;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{RequestContext, Session};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{ClientCapabilities, Implementation};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Core;
use crate::caller::Routes;
use crate::connection::{Identity, UpstreamConnection, unavailable};
use crate::pool::{ChosenLevel, Key, Lease};
use crate::upstream::Sharing;

/// Returns the client of a session as an upstream server gets to know it. Tasks belong to one connection, so
/// they are left out.
fn identity_of(session: &Session) -> Identity {
    let info = session.client().cloned();
    let info = info.unwrap_or_else(|| Implementation::new("unknown", "unknown"));
    let mut capabilities = session.client_capabilities().cloned().unwrap_or_default();
    capabilities.tasks = None;
    if let Some(extensions) = &mut capabilities.extensions {
        extensions.remove(TASKS_EXTENSION);
    }
    (info, capabilities)
}

/// Returns whether a server may send requests to a client with these capabilities.
fn can_be_asked(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.is_some()
        || capabilities.sampling.is_some()
        || capabilities.roots.is_some()
}

impl Core {
    /// Returns the connection of a session of a session-based client.
    ///
    /// # Errors
    /// The server cannot be reached, or there are too many connections.
    pub(crate) async fn session_connection(
        &self,
        session: &Arc<Session>,
    ) -> Result<Arc<UpstreamConnection>, ErrorObject> {
        let own = self.connection_of(session);
        let mut connection = own.0.lock().await;
        if let Some(open) = connection.as_ref().filter(|open| open.is_open()) {
            return Ok(Arc::clone(open));
        }
        self.release_shared().await;
        let routes = Routes::new(Some(session));
        let newest = session.revision();
        let opened = self
            .open(Some(identity_of(session)), newest, routes)
            .await?;
        if let Some(level) = session.value(ChosenLevel::default).get() {
            opened.set_level(level).await;
        }
        *connection = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Returns a connection for one call of a stateless client.
    ///
    /// # Errors
    /// The server cannot be reached, or there are too many connections.
    pub(crate) async fn lease(
        self: &Arc<Self>,
        context: &RequestContext,
    ) -> Result<Lease, ErrorObject> {
        let (info, mut capabilities) = identity_of(context.session());
        // A stateless client does not announce changes, so the server must ask for the roots each time.
        if let Some(roots) = &mut capabilities.roots {
            roots.list_changed = None;
        }
        let is_exclusive = can_be_asked(&capabilities);
        let is_shared = self.upstream.sharing == Sharing::All;
        if is_shared && !is_exclusive {
            let connection = self.shared().await?;
            return Ok(Lease {
                connection,
                home: None,
            });
        }
        let principal = match is_shared {
            true => None,
            false => context.principal().cloned(),
        };
        let key = (is_shared || principal.is_some()).then(|| Key {
            principal,
            identity: serde_json::json!([info, capabilities]).to_string(),
        });
        let known = key
            .as_ref()
            .and_then(|key| self.pool.take(key, is_exclusive));
        let connection = match known {
            Some(connection) => connection,
            None => {
                self.release_shared().await;
                let newest = Revision::LATEST_WITH_SESSIONS;
                let client = Some((info, capabilities));
                let connection = self.open(client, newest, Routes::new(None)).await?;
                if let Some(key) = &key {
                    self.pool.add(key.clone(), &connection);
                }
                connection
            }
        };
        let home = key.map(|key| (Arc::clone(&self.pool), key));
        Ok(Lease { connection, home })
    }

    async fn open(
        &self,
        client: Option<Identity>,
        newest: Revision,
        routes: Arc<Routes>,
    ) -> Result<Arc<UpstreamConnection>, ErrorObject> {
        let permit = self.permit_after_sweep()?;
        let upstream = &self.upstream;
        let version = (newest.min(upstream.newest), self.known_version().1);
        let opened = UpstreamConnection::open(upstream, client, version, routes, None, permit);
        opened.await.map_err(|error| {
            let server = &*upstream.name;
            let text = format!("the server {server:?} cannot be reached: {error}");
            unavailable(server, text)
        })
    }

    /// Returns the right to open a connection, for which unused connections are closed if necessary.
    fn permit_after_sweep(&self) -> Result<OwnedSemaphorePermit, ErrorObject> {
        self.permit().or_else(|_| {
            self.pool.sweep(Instant::now(), Duration::ZERO);
            self.permit()
        })
    }
}
