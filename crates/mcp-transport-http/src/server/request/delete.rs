//! DELETE: ends a session.

use http::request::Parts;
use http::{Response, StatusCode};
use mcp_protocol::Closed;

use crate::server::cluster::Cluster;
use crate::server::head::McpHeaders;
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;
use crate::server::session::ActivityGuard;
use crate::server::state::EndpointState;

impl EndpointState {
    /// Ends the session that the request names.
    pub(crate) async fn end(
        &self,
        parts: &Parts,
        mcp_headers: &McpHeaders<'_>,
        claimed: Option<&ActivityGuard>,
        cluster: Option<&Cluster>,
    ) -> Result<Response<Body>, Refusal> {
        let session = self.session(parts, mcp_headers, claimed)?;
        if let Some(cluster) = cluster {
            cluster.remove(&session).await?;
        }
        if let Some(identity) = session.streams.identity
            && let Some(removed) = self.sessions.remove(&identity.id)
        {
            removed.close(&Closed::protocol("the client ended the session"));
            if let Some(store) = &self.options.event_store {
                for lease in identity.recent_leases() {
                    store.forget_session(lease.event_key);
                }
            }
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }
}
