//! Requests to a token endpoint.
//!
//! Specification: [RFC 6749, section 2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)
//! (client authentication), [RFC 7523](https://www.rfc-editor.org/rfc/rfc7523) (client
//! authentication by signature).

use http::header::{AUTHORIZATION, HeaderValue};
use serde_json::json;
use url::Url;
use url::form_urlencoded::Serializer;

use super::proof::{DPOP, DpopKey, Nonces, origin};
use super::response::{TokenError, TokenResponse, check};
use crate::Secret;
use crate::client::discovery::ServerMetadata;
use crate::client::registration::{AuthMethod, Registration};
use crate::client::signing_key::random;
use crate::client::uri_checks::parse_url;
use crate::error::Error;
use crate::web::{FORM, HttpClient, Reply, basic_authorization, redacted, sensitive};

/// Lifetime of a client assertion, in seconds.
const ASSERTION_LIFETIME: u64 = 60;

/// The form of a token request.
pub(crate) struct TokenRequest(Vec<(&'static str, Secret)>);

impl TokenRequest {
    pub(crate) fn new(grant: &'static str) -> Self {
        Self(vec![("grant_type", grant.into())])
    }

    /// Creates a form without a grant.
    fn without_grant() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Secret>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    pub(crate) fn and(self, name: &'static str, value: Option<impl Into<Secret>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn to_text(&self) -> String {
        let mut form = Serializer::new(String::new());
        for (name, value) in &self.0 {
            form.append_pair(name, value.expose());
        }
        form.finish()
    }
}

/// A token endpoint and the client that uses it.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) http_client: &'a HttpClient,
    pub(crate) server: &'a ServerMetadata,
    pub(crate) client: &'a Registration,
    pub(crate) dpop_key: Option<&'a DpopKey>,
    pub(crate) nonces: &'a Nonces,
    pub(crate) now: u64,
}

impl TokenEndpoint<'_> {
    /// Sends a token request.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached or rejects the request; see [`TokenError`].
    pub(crate) async fn ask(&self, form: TokenRequest) -> Result<TokenResponse, Error> {
        let url = self.server.token_endpoint.as_deref().unwrap_or_default();
        let url = parse_url(url, "token_endpoint")?;
        let reply = self.post(&url, form).await?;
        TokenResponse::read(&url, &reply)
    }

    /// Asks the server to revoke a token, if the server has a revocation endpoint. Returns whether the server has this endpoint.
    ///
    /// Specification: [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009).
    pub(crate) async fn revoke(&self, token: &Secret, hint: &'static str) -> Result<bool, Error> {
        let Some(url) = self.server.revocation_endpoint.as_deref() else {
            return Ok(false);
        };
        let url = parse_url(url, "revocation_endpoint")?;
        let form = TokenRequest::without_grant()
            .with("token", token.clone())
            .with("token_type_hint", hint);
        let reply = self.post(&url, form).await?;
        // A server need not be able to revoke access tokens, which expire soon.
        if TokenError::of(&reply).is_none_or(|error| error.error != "unsupported_token_type") {
            check(&redacted(&url), &reply, "did not revoke the token")?;
        }
        Ok(true)
    }

    /// Sends a form with the client authentication. If the server requires a nonce, sends the form once more with the nonce.
    async fn post(&self, url: &Url, form: TokenRequest) -> Result<Reply, Error> {
        // Credentials are sent to their own issuer only.
        if self.client.issuer != self.server.issuer {
            return Err(Error::mismatch(
                "the credentials belong to another authorization server, so they are not sent; sign in again",
            ));
        }
        let (form, authorization) = self.identified(form)?;
        let text = form.to_text();
        let reply = self.send(url, authorization.as_ref(), text.clone()).await?;
        if self.dpop_key.is_some()
            && TokenError::of(&reply).is_some_and(|o| o.error == "use_dpop_nonce")
        {
            return self.send(url, authorization.as_ref(), text).await;
        }
        Ok(reply)
    }

    async fn send(
        &self,
        url: &Url,
        authorization: Option<&HeaderValue>,
        text: String,
    ) -> Result<Reply, Error> {
        let mut headers = Vec::new();
        if let Some(value) = authorization {
            headers.push((AUTHORIZATION, value.clone()));
        }
        let uri = url.as_str().parse::<http::Uri>().unwrap_or_default();
        let origin = origin(&uri);
        if let Some(key) = self.dpop_key {
            let nonce = self.nonces.of(&origin);
            let proof = key.proof("POST", url.as_str(), None, nonce.as_deref(), self.now)?;
            headers.push((DPOP, sensitive(&proof)?));
        }
        let reply = self.http_client.post(url, FORM, &headers, text).await?;
        self.nonces.take(&origin, &reply.headers);
        Ok(reply)
    }

    /// Adds the client authentication to a form.
    fn identified(&self, form: TokenRequest) -> Result<(TokenRequest, Option<HeaderValue>), Error> {
        let id = self.client.client_id.as_str();
        let secret = self.client.secret.as_ref().map_or("", Secret::expose);
        match self.client.method(self.server) {
            AuthMethod::None => Ok((form.with("client_id", id), None)),
            AuthMethod::Post => {
                let form = form.with("client_id", id).with("client_secret", secret);
                Ok((form, None))
            }
            AuthMethod::Basic => {
                let value = basic_authorization(id, secret)?;
                Ok((form, Some(value)))
            }
            AuthMethod::Key => {
                let assertion = self.assertion()?;
                let form = form
                    .with("client_id", id)
                    .with(
                        "client_assertion_type",
                        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                    )
                    .with("client_assertion", assertion);
                Ok((form, None))
            }
        }
    }

    fn assertion(&self) -> Result<String, Error> {
        let key = self.client.key.as_ref().ok_or_else(|| {
            Error::setup("private_key_jwt needs a key; set one with Credentials::key")
        })?;
        let mut header = json!({ "typ": "JWT", "alg": key.algorithm() });
        if let Some(id) = key.id() {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": self.client.client_id,
            "sub": self.client.client_id,
            "aud": self.server.issuer,
            "jti": random()?,
            "iat": self.now,
            "exp": self.now + ASSERTION_LIFETIME,
        });
        key.token(&header, &claims)
    }
}
