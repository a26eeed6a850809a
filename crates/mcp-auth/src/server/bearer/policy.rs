//! The policy of a protected server: which requests are accepted, and which permissions they have.

use std::sync::Arc;
use std::time::SystemTime;

use http::header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Response};
use mcp_protocol::{Grant, LogLimit, Principal, http_headers};
use mcp_server::types::method::SUBSCRIPTIONS_LISTEN;
use tokio::time::Instant;

use super::body::TextBody;
use super::metadata::Metadata;
use super::refusal::{ChallengeContext, Refusal};
use crate::Secret;
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::server::audience::Audience;
use crate::server::claims::{BOUND, Claims, SKEW, Scheme, UNBOUND};
use crate::server::dpop::{NONCE, ProofChecker, ProofError};
use crate::server::identity::Identity;
use crate::server::verify::{Rejection, RejectionReason, Verify};

/// Maximum length of the granted scopes in a challenge, in bytes.
const MAX_REPEATED_BYTES: usize = 2_048;
/// Maximum number of characters of an audience in the log.
const MAX_AUDIENCE_CHARS: usize = 200;
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) struct Policy {
    pub(super) audience: Audience,
    pub(super) verifier: Arc<dyn Verify>,
    /// The scopes that every request requires.
    pub(super) required: Scopes,
    /// Pairs of scope sets. A token that has all scopes of the first set also has the scopes of the second set.
    pub(super) implied: Vec<(Scopes, Scopes)>,
    pub(super) metadata: Metadata,
    pub(super) allows_anonymous: bool,
    /// The checker for proofs of bound tokens; `None` if bound tokens are rejected.
    pub(super) dpop: Option<ProofChecker>,
    /// The limit on log messages about refused tokens.
    pub(super) refusals: LogLimit,
}

/// A refusal, and the authentication scheme of the request.
pub(super) type Refused = (Option<Scheme>, Refusal);

/// The permissions of an accepted request.
pub(super) struct Admission {
    grant: Grant,
    granted: Scopes,
    /// The scheme of the token; `None` if the request has no token.
    scheme: Option<Scheme>,
    /// Whether the client should receive a newer nonce.
    needs_nonce: bool,
    /// The expiry of the token, if the request opens a stream that is not part of a call.
    stream_end: Option<Instant>,
}

impl Admission {
    /// Admits a request without a token. The request has no scopes.
    fn anonymous(parts: &mut Parts) -> Self {
        let grant = Grant::new([""; 0]);
        parts.extensions.insert(grant.clone());
        Self {
            grant,
            granted: Scopes::default(),
            scheme: None,
            needs_nonce: false,
            stream_end: None,
        }
    }

    /// Returns the time at which the response must end because the token expires. Returns `None` for a response that is not a
    /// stream, and for a stream that may outlast the token.
    pub(super) fn stream_end<B>(&self, response: &Response<B>) -> Option<Instant> {
        self.stream_end.filter(|_| is_stream(response.headers()))
    }
}

impl Policy {
    fn context(&self, scheme: Option<Scheme>) -> ChallengeContext<'_> {
        ChallengeContext {
            metadata: self.metadata.url(),
            scopes: &self.required,
            dpop: self.dpop.as_ref(),
            scheme,
        }
    }

    /// Verifies a request and returns its permissions; `None` for a request that does not need permissions.
    pub(super) async fn admit(&self, parts: &mut Parts) -> Result<Option<Admission>, Refused> {
        // Components in front of this layer must not set the identity.
        parts.extensions.remove::<Principal>();
        parts.extensions.remove::<Grant>();
        parts.extensions.remove::<Identity>();
        if is_preflight(parts) {
            parts.headers.remove(AUTHORIZATION);
            return Ok(None);
        }
        if self.allows_anonymous && !parts.headers.contains_key(AUTHORIZATION) {
            return Ok(Some(Admission::anonymous(parts)));
        }
        let taken = super::token::take(parts, self.dpop.is_some());
        let (scheme, token) = taken.map_err(|refusal| (None, refusal))?;
        let refused = |refusal| (Some(scheme), refusal);
        let verified = match (scheme, &self.dpop) {
            (Scheme::Dpop, Some(dpop)) => self.verify_bound(dpop, parts, &token).await,
            _ => self.verify(&token).await.map(|identity| (identity, false)),
        };
        let (identity, needs_nonce) = verified.map_err(refused)?;
        drop(token);
        let granted = identity.scopes().clone();
        let identity = identity.with_scopes(&self.with_implied(&granted).to_string());
        if !identity.scopes().contains_all(&self.required) {
            return Err(refused(self.step_up(&granted, "")));
        }
        let grant = identity.grant();
        let stream_end = identity
            .expires()
            .filter(|_| opens_stream(parts))
            .and_then(instant_of);
        parts.extensions.insert(identity.principal());
        parts.extensions.insert(grant.clone());
        parts.extensions.insert(identity);
        Ok(Some(Admission {
            grant,
            granted,
            scheme: Some(scheme),
            needs_nonce,
            stream_end,
        }))
    }

    async fn verify(&self, token: &Secret) -> Result<Identity, Refusal> {
        if self.dpop.as_ref().is_some_and(|dpop| dpop.required) {
            let why = "the token is not bound to a key, or was sent without a proof";
            return Err(Refusal::Invalid(why.into()));
        }
        let verified = self.verifier.verify(token, &self.audience).await;
        let identity = verified.map_err(refusal)?;
        match Claims::new(identity.claims()).key() {
            Some(_) => Err(Refusal::Invalid(BOUND.into())),
            None => Ok(identity),
        }
    }

    /// Verifies a token with its proof. Also returns whether the client should receive a newer nonce.
    async fn verify_bound(
        &self,
        dpop: &ProofChecker,
        parts: &mut Parts,
        token: &Secret,
    ) -> Result<(Identity, bool), Refusal> {
        let proof = dpop.check(parts, token, &self.audience);
        let proof = proof.map_err(proof_refusal)?;
        let verified = self.verifier.verify_bound(token, &self.audience).await;
        let identity = verified.map_err(refusal)?;
        let key = Claims::new(identity.claims()).key();
        let key = key.ok_or(Refusal::Invalid(UNBOUND.into()))?;
        let accepted = dpop.accept(proof, key, &mut parts.extensions).await;
        let needs_nonce = accepted.map_err(proof_refusal)?;
        Ok((identity, needs_nonce))
    }

    /// Returns the granted scopes and the scopes that they imply.
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

    /// Returns the scopes of a challenge: the scopes that every request needs, the missing scopes, and the granted scopes. The
    /// new token then has the granted scopes too.
    fn step_up(&self, granted: &Scopes, missing: &str) -> Refusal {
        let required = self.required.union(&Scopes::parse(missing));
        let mut room = MAX_REPEATED_BYTES;
        let repeated = granted
            .iter()
            .filter(|scope| *scope != OFFLINE_ACCESS)
            .take_while(|f| {
                let fits = f.len() < room;
                room = room.saturating_sub(f.len() + 1);
                fits
            });
        let all = required.union(&repeated.collect());
        Refusal::Scope { required, all }
    }

    pub(super) fn refuse(&self, (scheme, refusal): &Refused) -> Response<TextBody> {
        self.log(refusal);
        refusal.response(self.context(*scheme))
    }

    /// Logs the reason why a token was refused, at level INFO. Refusals that are a part of every sign-in, such as a missing token
    /// or nonce, are logged only at level DEBUG. `Unavailable` is also logged only at level DEBUG, because its cause is already
    /// in the log.
    fn log(&self, refusal: &Refusal) {
        let status = refusal.status().as_u16();
        if matches!(
            refusal,
            Refusal::Missing | Refusal::Anonymous(_) | Refusal::Nonce | Refusal::Unavailable
        ) {
            tracing::debug!(status, ?refusal, "refused");
            return;
        }
        let Some(omitted) = self.refusals.admit(std::time::Instant::now()) else {
            return;
        };
        let reason = refusal.description();
        match refusal {
            Refusal::Audience(received) => {
                let received: String = received.chars().take(MAX_AUDIENCE_CHARS).collect();
                let expected = self.audience.resource();
                tracing::info!(status, %reason, expected, received, omitted, "a token was refused");
            }
            _ => tracing::info!(status, %reason, omitted, "a token was refused"),
        }
    }

    /// Turns a response into a challenge if the handler required more scopes. The body does not change, because it is the
    /// response to a message.
    pub(super) fn challenge<B>(&self, admitted: &Admission, response: &mut Response<B>) {
        if let Some(dpop) = self.dpop.as_ref().filter(|_| admitted.needs_nonce)
            && let Some(nonce) = dpop.nonce()
        {
            response.headers_mut().insert(NONCE, nonce);
        }
        let Some(missing) = admitted.grant.missing() else {
            return;
        };
        // Another token does not help if the request failed for another reason.
        if response.status().is_server_error() || is_stream(response.headers()) {
            return;
        }
        let refusal = match (self.step_up(&admitted.granted, &missing), admitted.scheme) {
            (Refusal::Scope { all, .. }, None) => Refusal::Anonymous(all),
            (refusal, _) => refusal,
        };
        *response.status_mut() = refusal.status();
        self.log(&refusal);
        refusal.challenge(self.context(admitted.scheme), response.headers_mut());
    }
}

fn refusal(rejection: Rejection) -> Refusal {
    match rejection.0 {
        RejectionReason::Invalid(why) => Refusal::Invalid(why),
        RejectionReason::Audience(names) => Refusal::Audience(names),
        RejectionReason::Unavailable(error) => {
            tracing::warn!(%error, "tokens cannot be verified");
            Refusal::Unavailable
        }
    }
}

fn proof_refusal(error: ProofError) -> Refusal {
    match error {
        ProofError::Invalid(why) => Refusal::Proof(why),
        ProofError::Nonce => Refusal::Nonce,
        ProofError::Unavailable(error) => {
            tracing::warn!(%error, "a proof cannot be stored");
            Refusal::Unavailable
        }
    }
}

fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns whether the request opens a stream that is not part of a call: a GET stream of a session, or a subscription. Returns
/// `false` for the GET stream of the HTTP+SSE transport, which has no session id and contains the responses of calls.
fn opens_stream(parts: &Parts) -> bool {
    let method = parts.headers.get(http_headers::METHOD);
    let is_subscription = method.is_some_and(|method| method == SUBSCRIPTIONS_LISTEN);
    is_subscription || (parts.method == Method::GET && parts.headers.contains_key(SESSION_ID))
}

/// Returns the time until which a token that expires at `expires` is accepted. It includes the tolerated clock skew of the
/// issuer.
fn instant_of(expires: SystemTime) -> Option<Instant> {
    let expires = expires.checked_add(SKEW)?;
    let left = expires.duration_since(SystemTime::now());
    Instant::now().checked_add(left.unwrap_or_default())
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|g| g.as_bytes());
    kind.is_some_and(|kind| {
        let stream = b"text/event-stream";
        kind.get(..stream.len())
            .is_some_and(|x| x.eq_ignore_ascii_case(stream))
    })
}
