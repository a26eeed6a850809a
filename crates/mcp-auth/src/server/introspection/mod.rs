//! Token introspection, for tokens that only their issuer can read: the verifier and its requests to
//! the issuer.
//!
//! Specification: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662).

mod builder;
mod cache;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderValue};
use mcp_protocol::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::Serializer;

pub use self::builder::IntrospectionBuilder;
use self::cache::{Cache, Outcome};
use crate::Secret;
use crate::error::Error;
use crate::server::audience::Audience;
use crate::server::claims::{Claims, SKEW, Scheme};
use crate::server::identity::Identity;
use crate::server::issuer::{Issuer, check};
use crate::server::strict::parse_object;
use crate::server::verify::{Rejection, Verify};
use crate::web::{FORM, HttpClient, Reply, basic_authorization, redacted};

/// A verifier that asks the issuer about each token.
///
/// The response is validated like the claims of a signed token: issuer, audience, expiry, and the binding to a key (see
/// [`Dpop`](super::Dpop)). Results are cached. A revoked token is therefore accepted for at most one more minute.
///
/// ```no_run
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// use mcp_auth::server::{Introspection, require_bearer};
///
/// let secret = std::env::var("INTROSPECTION_SECRET").unwrap_or_default();
/// let verifier = Introspection::builder("https://issuer.example", "my-server", secret).build()?;
/// let guard = require_bearer("https://mcp.example.com/mcp", verifier).build()?;
/// # drop(guard);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Introspection(Arc<Inner>);

struct Inner {
    client: IntrospectionClient,
    /// Whether a response must have an audience.
    require_audience: bool,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    cache: Cache,
}

impl Introspection {
    async fn identity(
        &self,
        token: &Secret,
        audience: &Audience,
        scheme: Scheme,
    ) -> Result<Identity, Rejection> {
        let this = &*self.0;
        let outcome = this.cache.get(token, || this.introspect(token)).await;
        let identity = match outcome.map_err(Rejection::unavailable)? {
            Outcome::Active(identity) => identity,
            Outcome::Inactive(why) => return Err(Rejection::invalid(why)),
        };
        // Time, audience and binding are checked for each request and are not cached.
        let claims = Claims::new(identity.claims());
        claims.check_binding(scheme)?;
        claims.check_times((this.clock)(), SKEW)?;
        let is_for_anybody = !this.require_audience && !claims.has("aud");
        if !is_for_anybody && !claims.names(audience) {
            return Err(claims.other_audience());
        }
        Ok(identity)
    }
}

impl Inner {
    async fn introspect(&self, token: &Secret) -> Result<Outcome, Error> {
        let claims = self.client.introspect(token).await?;
        let check = self.check(Claims::new(&claims));
        Ok(match check {
            Ok(identity) => Outcome::Active(identity.with_claims(claims)),
            Err(reject) => Outcome::Inactive(reject.to_string()),
        })
    }

    /// Returns the identity of a token that the issuer reports as active.
    fn check(&self, claims: Claims<'_>) -> Result<Identity, Rejection> {
        let issuer = &self.client.issuer.name;
        if !claims.is_active() {
            return Err(Rejection::invalid("the token is not active"));
        }
        if claims.text("iss")?.is_some_and(|t| t != issuer) {
            return Err(Rejection::invalid("the token is from another issuer"));
        }
        let kind = claims.text("token_type")?.unwrap_or("Bearer");
        // Some issuers send `access_token` as the type. A token of the type DPoP must have a key.
        let kinds = ["bearer", "access_token"];
        let is_bound = kind.eq_ignore_ascii_case("DPoP") && claims.key().is_some();
        if !is_bound && !kinds.iter().any(|i| i.eq_ignore_ascii_case(kind)) {
            return Err(Rejection::invalid("the token is not a bearer token"));
        }
        let subject = match claims.text("sub")? {
            // A client that acts for itself is its own subject.
            None => claims.text("client_id")?,
            subject => subject,
        };
        let Some(subject) = subject.filter(|s| !s.is_empty()) else {
            return Err(Rejection::invalid("the token has no subject (sub)"));
        };
        claims.identity(issuer, subject)
    }
}

impl Verify for Introspection {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self.identity(token, audience, Scheme::Bearer))
    }

    fn verify_bound<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self.identity(token, audience, Scheme::Dpop))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.0.client.issuer.name)
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.0.client.issuer.name)
            .finish_non_exhaustive()
    }
}

/// An introspection endpoint, and the credentials that this server has at the endpoint.
struct IntrospectionClient {
    issuer: Issuer,
    /// The endpoint; it is discovered when it is first used.
    endpoint: Mutex<Option<Url>>,
    id: String,
    secret: Secret,
    /// Whether the credentials are sent in the form instead of a header.
    in_form: bool,
    http_client: HttpClient,
}

impl IntrospectionClient {
    /// Returns the introspection response for a token.
    async fn introspect(&self, token: &Secret) -> Result<Map<String, Value>, Error> {
        let url = self.endpoint().await?;
        let (form, headers) = self.request(token)?;
        let reply = self.http_client.post(&url, FORM, &headers, form).await?;
        if is_unsupported(&reply) {
            // An empty response counts as the response for an inactive token.
            return Ok(Map::new());
        }
        check(&url, &reply)?;
        parse_object(&reply.body).ok_or_else(|| {
            let message = format!("the response of {} is not a JSON object", redacted(&url));
            Error::invalid_response(message)
        })
    }

    async fn endpoint(&self) -> Result<Url, Error> {
        let mut known = self.endpoint.lock().await;
        if let Some(url) = &*known {
            return Ok(url.clone());
        }
        let document = self.issuer.document(&self.http_client).await?;
        let url = document.introspection_endpoint.as_deref();
        let url = self.issuer.endpoint("introspection_endpoint", url)?;
        Ok(known.insert(url).clone())
    }

    fn request(
        &self,
        token: &Secret,
    ) -> Result<(String, Vec<(http::HeaderName, HeaderValue)>), Error> {
        let mut form = Serializer::new(String::new());
        form.append_pair("token", token.expose())
            .append_pair("token_type_hint", "access_token");
        if self.in_form {
            form.append_pair("client_id", &self.id)
                .append_pair("client_secret", self.secret.expose());
            return Ok((form.finish(), Vec::new()));
        }
        let value = basic_authorization(&self.id, self.secret.expose())?;
        Ok((form.finish(), vec![(AUTHORIZATION, value)]))
    }
}

/// Returns whether the issuer reports that it does not support introspection of this type of token. Some issuers send the error
/// of RFC 7009, section 2.2.1, in this case.
fn is_unsupported(reply: &Reply) -> bool {
    let error = parse_object(&reply.body).and_then(|mut body| body.shift_remove("error"));
    reply.status == StatusCode::BAD_REQUEST
        && error.is_some_and(|error| error == "unsupported_token_type")
}
