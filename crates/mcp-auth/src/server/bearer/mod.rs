//! The layer that lets those alone through who have a token.

mod body;
mod builder;
mod metadata;
mod refusal;
mod service;
mod token;

use std::fmt;
use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ORIGIN, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use mcp_protocol::{Grant, Principal};
use tower_layer::Layer;

pub use self::body::{Body, Text};
pub use self::builder::Builder;
pub use self::metadata::Metadata;
use self::refusal::{Place, Refusal};
pub use self::service::Protected;
use super::audience::Audience;
use super::identity::Identity;
use super::verify::{Fault, Verify};
use crate::scopes::Scopes;

/// What no server asks for.
const OFFLINE: &str = "offline_access";
/// More bytes of scopes that are granted already are not repeated in a challenge.
const REPEATED: usize = 2_048;

/// Protects the server at this URL: [`RequireBearer::builder`] by another name.
pub fn require_bearer(resource: impl Into<String>, verifier: impl Verify) -> Builder {
    RequireBearer::builder(resource, verifier)
}

/// A tower layer that lets those requests through that have a good token, and tells the others
/// how to get one.
///
/// - A request without a token, or with a bad one, is answered with 401 and a challenge that leads
///   to the metadata; one whose token lacks a scope with 403 and the scopes it takes; one that
///   cannot be understood with 400. If tokens cannot be verified now, that is 503, not 401.
/// - A request with a good token loses its `Authorization` header and gets a
///   [`Principal`], a [`Grant`] and an [`Identity`] in its extensions. The token goes no further.
/// - If a handler then turns out to need more than is granted, as with [`Tool::scope`] or
///   [`Auth::require`], the response becomes 403 with the scopes it takes, unless it is a stream
///   already.
/// - The [metadata](Metadata) is answered to everybody.
/// - A CORS preflight is passed on: it has no token and does nothing. A layer that answers it
///   belongs before this one, so that pages can read the refusals too.
///
/// Each request is verified by itself, whatever session it belongs to, and a session can be used
/// only by the principal that opened it. A stream that is open when its token ends stays open:
/// what is sent on it was asked for while the token was good.
///
/// The service behind may be any tower service over HTTP requests whose responses have a body that
/// bytes can stand in for.
///
/// [`Tool::scope`]: mcp_server::Tool::scope
/// [`Auth::require`]: super::Auth::require
#[derive(Clone)]
pub struct RequireBearer(Arc<Policy>);

struct Policy {
    audience: Audience,
    verifier: Arc<dyn Verify>,
    /// What every request takes.
    required: Scopes,
    /// Which scopes are as good as others, too.
    implied: Vec<(Scopes, Scopes)>,
    metadata: Metadata,
}

impl RequireBearer {
    /// Describes the server at this URL, as clients reach it from outside, and who verifies its
    /// tokens.
    pub fn builder(resource: impl Into<String>, verifier: impl Verify) -> Builder {
        Builder::new(resource.into(), verifier)
    }

    /// The service with this layer before it, as [`Layer::layer`] makes it.
    pub fn layer<S>(&self, inner: S) -> Protected<S> {
        Protected::new(inner, self.clone())
    }

    /// The metadata, for routers that have to be told its paths. What is protected answers it too,
    /// where requests for it get there.
    pub fn metadata(&self) -> Metadata {
        self.0.metadata.clone()
    }
}

impl<S> Layer<S> for RequireBearer {
    type Service = Protected<S>;

    fn layer(&self, inner: S) -> Protected<S> {
        Self::layer(self, inner)
    }
}

impl fmt::Debug for RequireBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireBearer")
            .field("audience", &self.0.audience)
            .field("required", &self.0.required)
            .finish_non_exhaustive()
    }
}

/// What a request that was let through may do.
struct Admitted {
    grant: Grant,
    /// The scopes of its token.
    granted: Scopes,
}

impl Policy {
    fn place(&self) -> Place<'_> {
        Place {
            metadata: self.metadata.url(),
            scopes: &self.required,
        }
    }

    /// Whether a request may pass, and what it may do then; `None` for what needs no permission.
    async fn admit(&self, parts: &mut Parts) -> Result<Option<Admitted>, Refusal> {
        // Whoever stands before this layer does not decide who the user is.
        parts.extensions.remove::<Principal>();
        parts.extensions.remove::<Grant>();
        parts.extensions.remove::<Identity>();
        if is_preflight(parts) {
            parts.headers.remove(AUTHORIZATION);
            return Ok(None);
        }
        let token = token::take(parts)?;
        let verified = self.verifier.verify(&token, &self.audience).await;
        let identity = verified.map_err(|reject| match reject.into_fault() {
            Fault::Invalid(why) => Refusal::Invalid(why),
            Fault::Unavailable(error) => {
                tracing::warn!(%error, "tokens cannot be verified");
                Refusal::Unavailable
            }
        })?;
        drop(token);
        let granted = identity.scopes().clone();
        let identity = identity.with_scopes(&self.widened(&granted).to_string());
        if !identity.scopes().contains_all(&self.required) {
            return Err(Refusal::Scope(self.step_up(&granted, "")));
        }
        let grant = identity.grant();
        parts.extensions.insert(identity.principal());
        parts.extensions.insert(grant.clone());
        parts.extensions.insert(identity);
        Ok(Some(Admitted { grant, granted }))
    }

    /// What is granted, and what that implies.
    ///
    /// Specification: 2026-07-28, authorization, scope challenge handling.
    fn widened(&self, granted: &Scopes) -> Scopes {
        let mut all = granted.clone();
        // One may imply another that implies a third: no chain is longer than the list.
        for _ in &self.implied {
            for (broad, narrow) in &self.implied {
                if all.contains_all(broad) {
                    all = all.union(narrow);
                }
            }
        }
        all
    }

    /// What to ask for next: what every request takes, what this one takes, and what there is
    /// already, so that nothing is lost by asking.
    fn step_up(&self, granted: &Scopes, missing: &str) -> Scopes {
        let needed = self.required.union(&Scopes::parse(missing));
        let mut room = REPEATED;
        let repeated = granted
            .iter()
            .filter(|scope| *scope != OFFLINE)
            .take_while(|it| {
                let fits = it.len() < room;
                room = room.saturating_sub(it.len() + 1);
                fits
            });
        needed.union(&repeated.collect())
    }

    fn refuse(&self, refusal: &Refusal) -> Response<Text> {
        let response = refusal.response(self.place());
        tracing::debug!(status = response.status().as_u16(), ?refusal, "refused");
        response
    }

    /// Turns an answer into a challenge, if what it answers turned out to take more scopes. What it
    /// says stays: it answers a message.
    fn challenge<B>(&self, admitted: &Admitted, response: &mut Response<B>) {
        let Some(missing) = admitted.grant.missing() else {
            return;
        };
        // What failed for another reason is not mended by a token.
        if response.status().is_server_error() || is_stream(response.headers()) {
            return;
        }
        let refusal = Refusal::Scope(self.step_up(&admitted.granted, &missing));
        tracing::debug!(status = 403, ?refusal, "refused");
        *response.status_mut() = StatusCode::FORBIDDEN;
        let challenge = refusal.challenge(self.place());
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|it| it.as_bytes());
    kind.is_some_and(|kind| {
        let stream = b"text/event-stream";
        kind.get(..stream.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(stream))
    })
}
