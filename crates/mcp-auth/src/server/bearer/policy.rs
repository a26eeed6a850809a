//! The policy of a protected server: which requests are accepted, and with which permissions.

use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ORIGIN, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use mcp_protocol::{Grant, Principal};

use super::body::TextBody;
use super::metadata::Metadata;
use super::refusal::{ChallengeContext, Refusal};
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::server::audience::Audience;
use crate::server::identity::Identity;
use crate::server::verify::{RejectionReason, Verify};

/// Maximum number of bytes of granted scopes that a challenge repeats.
const MAX_REPEATED_BYTES: usize = 2_048;

pub(super) struct Policy {
    pub(super) audience: Audience,
    pub(super) verifier: Arc<dyn Verify>,
    /// The scopes that every request requires.
    pub(super) required: Scopes,
    /// Scopes that imply other scopes.
    pub(super) implied: Vec<(Scopes, Scopes)>,
    pub(super) metadata: Metadata,
}

/// The permissions of an accepted request.
pub(super) struct Admission {
    grant: Grant,
    granted: Scopes,
}

impl Policy {
    fn context(&self) -> ChallengeContext<'_> {
        ChallengeContext {
            metadata: self.metadata.url(),
            scopes: &self.required,
        }
    }

    /// Verifies a request and returns its permissions; `None` for a request that needs none.
    pub(super) async fn admit(&self, parts: &mut Parts) -> Result<Option<Admission>, Refusal> {
        // Components in front of this layer must not set the identity.
        parts.extensions.remove::<Principal>();
        parts.extensions.remove::<Grant>();
        parts.extensions.remove::<Identity>();
        if is_preflight(parts) {
            parts.headers.remove(AUTHORIZATION);
            return Ok(None);
        }
        let token = super::token::take(parts)?;
        let verified = self.verifier.verify(&token, &self.audience).await;
        let identity = verified.map_err(|rejection| match rejection.0 {
            RejectionReason::Invalid(why) => Refusal::Invalid(why),
            RejectionReason::Unavailable(error) => {
                tracing::warn!(%error, "tokens cannot be verified");
                Refusal::Unavailable
            }
        })?;
        drop(token);
        let granted = identity.scopes().clone();
        let identity = identity.with_scopes(&self.with_implied(&granted).to_string());
        if !identity.scopes().contains_all(&self.required) {
            return Err(Refusal::Scope(self.step_up(&granted, "")));
        }
        let grant = identity.grant();
        parts.extensions.insert(identity.principal());
        parts.extensions.insert(grant.clone());
        parts.extensions.insert(identity);
        Ok(Some(Admission { grant, granted }))
    }

    /// Returns the granted scopes and those that they imply.
    ///
    /// Specification: 2026-07-28, authorization, scope challenge handling.
    fn with_implied(&self, granted: &Scopes) -> Scopes {
        let mut all = granted.clone();
        // Implications may form a chain, which is at most as long as the list.
        for _ in &self.implied {
            for (broad, narrow) in &self.implied {
                if all.contains_all(broad) {
                    all = all.union(narrow);
                }
            }
        }
        all
    }

    /// Returns the scopes of a challenge: those of every request, the missing ones, and the granted
    /// ones, so that the new token keeps them.
    fn step_up(&self, granted: &Scopes, missing: &str) -> Scopes {
        let needed = self.required.union(&Scopes::parse(missing));
        let mut room = MAX_REPEATED_BYTES;
        let repeated = granted
            .iter()
            .filter(|scope| *scope != OFFLINE_ACCESS)
            .take_while(|f| {
                let fits = f.len() < room;
                room = room.saturating_sub(f.len() + 1);
                fits
            });
        needed.union(&repeated.collect())
    }

    pub(super) fn refuse(&self, refusal: &Refusal) -> Response<TextBody> {
        let response = refusal.response(self.context());
        tracing::debug!(status = response.status().as_u16(), ?refusal, "refused");
        response
    }

    /// Turns a response into a challenge if the handler required more scopes. The body stays,
    /// because it is the response to a message.
    pub(super) fn challenge<B>(&self, admitted: &Admission, response: &mut Response<B>) {
        let Some(missing) = admitted.grant.missing() else {
            return;
        };
        // Another token does not help if the request failed for another reason.
        if response.status().is_server_error() || is_stream(response.headers()) {
            return;
        }
        let refusal = Refusal::Scope(self.step_up(&admitted.granted, &missing));
        tracing::debug!(status = 403, ?refusal, "refused");
        *response.status_mut() = StatusCode::FORBIDDEN;
        let challenge = refusal.challenge(self.context());
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|g| g.as_bytes());
    kind.is_some_and(|kind| {
        let stream = b"text/event-stream";
        kind.get(..stream.len())
            .is_some_and(|x| x.eq_ignore_ascii_case(stream))
    })
}
