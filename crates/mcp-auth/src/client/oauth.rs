//! [`OAuth`]: the authorizer of a client transport.

use std::fmt;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode, request, response};
use mcp_protocol::{BoxFuture, TransportError};
use mcp_transport_http::{AfterRefusal, Authorize};

use crate::Secret;
use crate::client::challenge::Challenge;
use crate::client::inner::Inner;
use crate::client::progress::SignInProgress;
use crate::client::sign_in::RenewalReason;
use crate::client::token::{DPOP, TokenSet, TokenType, origin};
use crate::error::{Error, quoted};
use crate::scopes::Scopes;
use crate::web::{redacted, sensitive};

/// An OAuth client for one server.
///
/// Pass it to [`HttpTransport::authorize`](mcp_transport_http::HttpTransport::authorize). It does nothing until the server
/// rejects a message. It then discovers the authorization server, registers the client, asks the user for consent, and lets the
/// transport send the message again. Later, it renews the token automatically. Clones share tokens and state, so several
/// connections to the same server can use one client.
#[derive(Clone)]
pub struct OAuth {
    pub(crate) inner: Arc<Inner>,
}

impl OAuth {
    /// Signs in now, even if the client has tokens and the server has rejected no message. First sends one request without a
    /// token to the server, because the challenge in the response can name the metadata and the scopes. If an earlier call needed
    /// more scopes than its token had, the sign-in also requests the missing scopes. It does not request them if the program
    /// chooses the scopes ([`OAuthBuilder::scopes`](crate::client::OAuthBuilder::scopes)).
    ///
    /// # Errors
    /// Returns an error if no token can be obtained. The earlier tokens then remain.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the sign-in. The earlier tokens then remain.
    pub async fn sign_in(&self) -> Result<(), Error> {
        self.inner.load().await?;
        {
            let mut state = self.inner.state();
            state.sign_ins = 0;
            state.step_ups = 0;
        }
        let (_, challenge) = self.inner.challenge().await;
        let needed = match self.inner.settings.scopes {
            Some(_) => None,
            None => self.inner.load_needed_scopes().await?,
        };
        // Only this sign-in requests the scopes, because the authorization server might reject a scope that it does not know.
        self.inner.remove_needed_scopes().await?;
        let reason = RenewalReason::Requested { challenge, needed };
        self.inner.renew(None, &reason).await
    }

    /// Asks the authorization server to revoke the tokens ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)), so that the MCP
    /// server no longer accepts them. Returns `true` if the authorization server has revoked the tokens, and `false` if there are
    /// no tokens or the authorization server cannot revoke tokens. Does not remove the tokens from memory or from the store; call
    /// [`sign_out`](Self::sign_out) for this.
    ///
    /// # Errors
    /// Returns an error if the authorization server cannot be discovered, has changed, or rejects the request.
    pub async fn revoke(&self) -> Result<bool, Error> {
        let inner = &self.inner;
        inner.load().await?;
        let Some(tokens) = inner.state().tokens.clone() else {
            return Ok(false);
        };
        let (_, challenge) = inner.challenge().await;
        let found = inner.discover(challenge.as_ref()).await?;
        let client = match found.server.issuer == tokens.issuer {
            true => inner.client_for(&tokens).await?,
            false => None,
        };
        let Some(client) = client else {
            return Err(Error::mismatch(format!(
                "the tokens of {} are not revoked: the server now names the issuer {}, or the client id is no longer stored; call OAuth::sign_out to remove the tokens from this client",
                quoted(&tokens.issuer),
                quoted(&found.server.issuer)
            )));
        };
        let dpop_key = inner.state().dpop_key.clone();
        let dpop_key = dpop_key.filter(|_| tokens.kind == TokenType::Dpop);
        let endpoint = inner.token_endpoint(&found, &client, dpop_key.as_ref());
        // Revokes the refresh token first, because the server then also revokes the access tokens of this refresh token.
        if let Some(refresh) = &tokens.refresh {
            endpoint.revoke(refresh, "refresh_token").await?;
        }
        endpoint.revoke(&tokens.access, "access_token").await
    }

    /// Removes the tokens from memory and from the store. Does not [revoke](Self::revoke) them at the
    /// authorization server.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn sign_out(&self) -> Result<(), Error> {
        self.inner.load().await?;
        self.inner.remove_needed_scopes().await?;
        self.inner.remove_tokens().await
    }

    /// Removes the stored registration of this client at the authorization server. The next sign-in registers the client again.
    /// The registration is shared with other MCP servers that have the same authorization server. Returns whether a registration
    /// was stored.
    ///
    /// # Errors
    /// Returns an error if the authorization server cannot be discovered, or if the store cannot be
    /// written.
    pub async fn forget_client(&self) -> Result<bool, Error> {
        let inner = &self.inner;
        inner.load().await?;
        let known = inner
            .state()
            .tokens
            .as_ref()
            .map(|tokens| tokens.issuer.clone());
        let issuer = match known {
            Some(issuer) => issuer,
            None => {
                let (_, challenge) = inner.challenge().await;
                inner.discover(challenge.as_ref()).await?.server.issuer
            }
        };
        inner.remove_client(&issuer).await
    }

    /// Returns whether the client has tokens. The server may still reject them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn is_signed_in(&self) -> Result<bool, Error> {
        self.inner.load().await?;
        Ok(self.inner.state().tokens.is_some())
    }

    /// Returns the scopes of the tokens: all requested scopes and all granted scopes; `None` if the client has no tokens.
    pub fn scopes(&self) -> Option<Scopes> {
        let state = self.inner.state();
        state.tokens.as_ref().map(|tokens| tokens.scopes.clone())
    }

    async fn attach(&self, request: &mut request::Parts) -> Result<(), Error> {
        let inner = &self.inner;
        inner.load().await?;
        let tokens = inner.state().tokens.clone();
        let Some(mut tokens) = tokens else {
            return Ok(());
        };
        // Tokens are sent to their own server only.
        if origin(&request.uri) != inner.origin {
            return Ok(());
        }
        let is_expired = tokens.is_expired(inner.now());
        if is_expired && (tokens.refresh.is_some() || inner.settings.grant.is_silent()) {
            inner
                .renew(Some(&tokens.access), &RenewalReason::Expired)
                .await?;
            let Some(new) = inner.state().tokens.clone() else {
                return Ok(());
            };
            tokens = new;
        }
        self.write(request, &tokens)
    }

    fn write(&self, request: &mut request::Parts, tokens: &TokenSet) -> Result<(), Error> {
        let inner = &self.inner;
        let scheme = match tokens.kind {
            TokenType::Bearer => "Bearer",
            TokenType::Dpop => {
                let key = inner.state().dpop_key.clone();
                // A DPoP token is useless without its key; the server will reject the message.
                let Some(key) = key else { return Ok(()) };
                let nonce = inner.nonces.of(&origin(&request.uri));
                let proof = key.proof(
                    request.method.as_str(),
                    &request.uri.to_string(),
                    Some(&tokens.access),
                    nonce.as_deref(),
                    inner.now(),
                )?;
                request.headers.insert(DPOP, sensitive(&proof)?);
                "DPoP"
            }
        };
        let value = Secret::new(format!("{scheme} {}", tokens.access.expose()));
        let value = sensitive(value.expose())?;
        request.headers.insert(AUTHORIZATION, value);
        Ok(())
    }

    async fn recover(
        &self,
        request: &request::Parts,
        response: &response::Parts,
    ) -> Result<AfterRefusal, Error> {
        let inner = &self.inner;
        if origin(&request.uri) != inner.origin {
            return Ok(AfterRefusal::GiveUp);
        }
        let used = used(&request.headers);
        let challenge = Challenge::of(&response.headers);
        let scopes = challenge.as_ref().and_then(Challenge::scopes);
        let error = challenge.as_ref().and_then(|a| a.parameter("error"));
        let error = error.map(str::to_owned);
        if error.as_deref() == Some("use_dpop_nonce") && used.is_some() {
            // `responded` has already stored the nonce.
            return Ok(AfterRefusal::SendAgain);
        }
        inner.report(&SignInProgress::Challenged {
            scopes: scopes.as_ref().map(ToString::to_string),
        });
        if response.status == StatusCode::UNAUTHORIZED && used.is_some() {
            let parameter = |name| challenge.as_ref().and_then(|a| a.parameter(name));
            let reason = parameter("error_description").or_else(|| parameter("error"));
            inner.report(&SignInProgress::Refused {
                reason: reason.map(|reason| quoted(reason).to_string()),
            });
        }
        let mut needed = None;
        let reason = match (response.status, challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => RenewalReason::Unauthorized(challenge),
            (_, Some(challenge)) if error.as_deref() == Some("insufficient_scope") => {
                if self.has_asked_for(scopes.as_ref(), used.as_ref()) {
                    return Ok(AfterRefusal::GiveUp);
                }
                let required = scopes.unwrap_or_default();
                let granted = self.scopes().unwrap_or_default();
                let all = granted
                    .union(&required)
                    .union(&inner.needed_scopes().await?);
                // A challenge can also contain scopes that the token already has.
                let missing = required.iter().filter(|scope| !granted.contains(scope));
                inner.report(&SignInProgress::ScopesRequired {
                    required: missing.collect::<Scopes>().to_string(),
                    all: all.to_string(),
                });
                needed = Some(all);
                RenewalReason::InsufficientScope(challenge)
            }
            // The server denies access to this user or this program.
            _ => return Ok(AfterRefusal::GiveUp),
        };
        let renewed = inner.renew(used.as_ref(), &reason).await;
        if let (Err(_), Some(needed)) = (&renewed, needed) {
            inner.save_needed_scopes(&needed).await?;
        }
        renewed.map(|()| AfterRefusal::SendAgain)
    }

    /// Returns whether the client requested all of these scopes for the rejected token `used`. In this case, a new token request
    /// would only return a token with the same scopes.
    fn has_asked_for(&self, scopes: Option<&Scopes>, used: Option<&Secret>) -> bool {
        let state = self.inner.state();
        let Some(tokens) = &state.tokens else {
            return false;
        };
        let is_used = used.is_some_and(|used| used.expose() == tokens.access.expose());
        is_used && scopes.is_none_or(|scopes| tokens.scopes.contains_all(scopes))
    }
}

impl Authorize for OAuth {
    fn authorize<'a>(
        &'a self,
        request: &'a mut request::Parts,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async { self.attach(request).await.map_err(Into::into) })
    }

    fn responded(&self, response: &response::Parts) {
        let inner = &self.inner;
        inner.nonces.take(&inner.origin, &response.headers);
        if response.status != StatusCode::UNAUTHORIZED {
            let mut state = inner.state();
            state.sign_ins = 0;
            state.is_untried = false;
            if response.status.is_success() {
                state.step_ups = 0;
            }
        }
    }

    fn refused<'a>(
        &'a self,
        request: &'a request::Parts,
        response: &'a response::Parts,
    ) -> BoxFuture<'a, Result<AfterRefusal, TransportError>> {
        Box::pin(async { self.recover(request, response).await.map_err(Into::into) })
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &redacted(&self.inner.server))
            .finish_non_exhaustive()
    }
}

/// Returns the token that was sent with a message.
fn used(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (_, token) = value.split_once(' ')?;
    Some(token.into())
}
