//! DELETE: ends a session.

use http::request::Parts;
use http::{Response, StatusCode};
use mcp_protocol::Closed;

use crate::server::request::head::McpHeaders;
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;
use crate::server::state::EndpointState;

impl EndpointState {
    /// Ends the session that the request names.
    pub(crate) async fn end(
        &self,
        parts: &Parts,
        mcp_headers: &McpHeaders<'_>,
    ) -> Result<Response<Body>, Refusal> {
        let session = self.session(parts, mcp_headers)?;
        if let Some(client) = &self.session_store {
            self.remove_stored(client, &session).await?;
        }
        if let Some(identity) = session.streams.identity
            && self.sessions.remove(&identity.id).is_some()
        {
            session.close(&Closed::protocol("the client ended the session"));
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }
}
