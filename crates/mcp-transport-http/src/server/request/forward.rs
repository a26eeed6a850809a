//! Forwards requests whose handler has chosen another endpoint.

use bytes::Bytes;
use http::Response;

use crate::server::forwarder::ForwardError;
use crate::server::response::body::{Body, json};
use crate::server::response::refusal::Refusal;
use crate::server::running::finished::ChosenForward;
use crate::server::state::EndpointState;

impl EndpointState {
    /// Forwards a request whose handler has chosen another endpoint, and returns the response of that endpoint. If that
    /// endpoint cannot be reached, returns the response of the handler.
    ///
    /// # Errors
    /// The bodies of requests take all of `ServerOptions::with_max_total_body_bytes`, or the authentication layer could not
    /// add its headers.
    pub(crate) async fn forward_chosen(
        &self,
        chosen: ChosenForward,
        body: Bytes,
    ) -> Result<Response<Body>, Refusal> {
        let ChosenForward {
            stream,
            mut response,
        } = chosen;
        let (Some(forwarder), Some((head, address))) = (&self.forwarder, stream.forward_target())
        else {
            return Ok(response);
        };
        let mut memory = self.bodies.permit();
        let grown = memory.try_grow(body.len(), || head.owner());
        grown.map_err(|exhausted| exhausted.bodies(&self.bodies))?;
        let permits = (response.body_mut().take_permit(), memory);
        let sent = forwarder.send(address.clone(), head, body.clone(), permits);
        Ok(match sent.await {
            Ok(forwarded) => forwarded,
            Err(ForwardError::Unreachable) => response,
            Err(ForwardError::Refused(refusal)) => return Err(refusal),
            Err(ForwardError::Interrupted) => match forwarder.interrupted(&body) {
                Some(errors) => json(errors),
                None => response,
            },
        })
    }
}
