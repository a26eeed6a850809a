//! The steps of a sign-in.
//!
//! ```text
//! challenge ─► discovery ───────► registration ─► (consent) ─────────► token
//!              DiscoveryResult    Registration    AuthorizationCode    TokenSet
//! ```
//!
//! Each step uses the result of the previous step. A setting of the builder can replace a step.

use tokio::time::timeout;

use super::authorization_request::AuthorizationRequest;
use super::grant::Grant;
use crate::client::challenge::Challenge;
use crate::client::discovery::{DiscoveryLog, DiscoveryResult};
use crate::client::inner::Inner;
use crate::client::progress::SignInProgress;
use crate::client::registration::{Credentials, Registration, register};
use crate::client::token::{
    DpopKey, TokenEndpoint, TokenRequest, TokenResponse, TokenSet, TokenType,
};
use crate::client::uri_checks::check_redirect;
use crate::client::user_agent::{AuthorizationSession, UserAgent};
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::web::redacted;
use crate::well_known::is_same_issuer;

/// The reason for a sign-in, and the previous tokens of the client.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignInRequest {
    pub(crate) challenge: Option<Challenge>,
    /// The issuer and the scopes of the previous tokens.
    pub(crate) before: Option<(String, Scopes)>,
}

impl Inner {
    /// Runs a sign-in and returns the new tokens.
    pub(crate) async fn sign_in(&self, request: &SignInRequest) -> Result<TokenSet, Error> {
        let found = self.discover(request.challenge.as_ref()).await?;
        let scopes = self.scopes(request, &found);
        let dpop_key = self
            .dpop_key_for(&found, request.challenge.as_ref())
            .await?;
        let grant = self.settings.grant.clone();
        let (client, form) = match &grant {
            Grant::Unset => return Err(self.no_grant(&found)),
            Grant::User(agent) => {
                let session = self.start_session(&**agent, &found).await?;
                check_redirect(session.redirect_uri())?;
                let client = self.client_of_user(&found, session.redirect_uri(), &scopes);
                let client = client.await?;
                let form = self.ask(&found, &client, session, &scopes).await?;
                (client, form)
            }
            Grant::Client => {
                let form = TokenRequest::new("client_credentials")
                    .with("resource", found.resource.as_str())
                    .and("scope", scopes.to_parameter());
                (self.configured_client(&found)?, form)
            }
            Grant::Assertion(source) => {
                let client = self.configured_client(&found)?;
                let assertion = source.assertion(&found.server.issuer).await?;
                (client, bearer_form(assertion, &found, &scopes))
            }
            Grant::Enterprise(enterprise) => {
                let client = self.configured_client(&found)?;
                let assertion = self.assertion(enterprise, &found, &scopes).await?;
                let form = bearer_form(assertion, &found, &Scopes::default());
                (client, form)
            }
        };
        let answer = self.redeem(&found, &client, dpop_key.as_ref(), form).await;
        let is_unknown = |error: &Error| error.kind() == ErrorKind::UnknownClient;
        if matches!(grant, Grant::User(_)) && answer.as_ref().is_err_and(is_unknown) {
            // The next sign-in registers the client again.
            self.remove_client(&client.issuer).await?;
        }
        let answer = answer?;
        let granted = answer.scopes.clone();
        let tokens = self.tokens(answer, &found, &client, &scopes, dpop_key.is_some())?;
        self.report(&SignInProgress::SignedIn {
            scopes: granted.as_ref().unwrap_or(&tokens.scopes).to_string(),
        });
        Ok(tokens)
    }

    /// Step 1: discovers the authorization server.
    pub(crate) async fn discover(
        &self,
        challenge: Option<&Challenge>,
    ) -> Result<DiscoveryResult, Error> {
        let discovery = self.discovery();
        let found = discovery
            .run(challenge, &mut DiscoveryLog::default())
            .await?;
        self.report(&SignInProgress::Discovered {
            resource: found.resource.clone(),
            issuer: found.server.issuer.clone(),
        });
        self.state().found = Some(found.clone());
        Ok(found)
    }

    /// Step 2, for clients with configured credentials: returns the registration with these credentials.
    fn configured_client(&self, found: &DiscoveryResult) -> Result<Registration, Error> {
        let issuer = &found.server.issuer;
        let Some(credentials) = &self.settings.credentials else {
            return Err(Error::setup(format!(
                "the grant needs a client that is registered with {}; set its credentials \
                     with OAuthBuilder::credentials",
                quoted(issuer)
            )));
        };
        let client = self.bind_credentials(credentials, issuer)?;
        Ok(self.identified(client))
    }

    /// Binds the configured credentials to an issuer. The credentials are never sent to another issuer.
    fn bind_credentials(
        &self,
        credentials: &Credentials,
        issuer: &str,
    ) -> Result<Registration, Error> {
        let mut state = self.state();
        let owner = credentials
            .issuer
            .as_ref()
            .or(state.credentials_issuer.as_ref());
        if let Some(owner) = owner.filter(|owner| !is_same_issuer(owner, issuer)) {
            return Err(Error::mismatch(format!(
                "the client {} belongs to {}, but the server now names the issuer {}, which \
                     must not receive the credentials of the client. Register a client with the new issuer, or \
                     find out why the server changed",
                quoted(&credentials.client_id),
                quoted(owner),
                quoted(issuer)
            )));
        }
        state.credentials_issuer = Some(issuer.to_owned());
        Ok(Registration::of(credentials, issuer))
    }

    /// Starts an authorization session. If the client is already registered, the session has the redirect URI of the
    /// registration.
    async fn start_session(
        &self,
        agent: &dyn UserAgent,
        found: &DiscoveryResult,
    ) -> Result<Box<dyn AuthorizationSession>, Error> {
        let stored = self.load_client(&found.server.issuer).await?;
        match stored.and_then(|client| client.redirect_uri) {
            Some(uri) => agent.start_session_at(&uri).await,
            None => agent.start_session().await,
        }
    }

    /// Step 2, for clients that act for a user: returns a registration from configured credentials, a
    /// metadata document, the store, or dynamic registration.
    async fn client_of_user(
        &self,
        found: &DiscoveryResult,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Registration, Error> {
        let server = &found.server;
        let issuer = &server.issuer;
        if let Some(credentials) = &self.settings.credentials {
            let client = self.bind_credentials(credentials, issuer)?;
            return Ok(self.identified(client));
        }
        let document = self.settings.document.as_ref();
        if let Some(document) = document.filter(|_| server.client_id_metadata_document_supported) {
            return Ok(self.identified(Registration::document(document, issuer)));
        }
        let stored = self.load_client(issuer).await?;
        if let Some(client) = stored.filter(|s| s.is_usable(redirect_uri, scopes, self.now())) {
            // The registration is unanswered until the callback arrives. If the authorization server does not
            // know the client, it only shows an error page to the user. The next sign-in then registers again.
            let client = Registration {
                is_unanswered: true,
                ..client
            };
            self.save_client(&client).await?;
            return Ok(self.identified(client));
        }
        let profile = &self.settings.profile;
        let register = |scopes| register(&self.http_client, server, profile, redirect_uri, scopes);
        let all = found.scopes_from(scopes);
        let client = match register(&all).await {
            Err(error) if error.kind() == ErrorKind::InvalidResponse && all != *scopes => {
                register(scopes).await?
            }
            done => done?,
        };
        self.save_client(&client).await?;
        Ok(self.identified(client))
    }

    fn identified(&self, client: Registration) -> Registration {
        self.report(&SignInProgress::Identified {
            client_id: client.client_id.clone(),
        });
        client
    }

    /// Step 3: obtains the user's consent. Returns the token request, which contains the authorization code.
    async fn ask(
        &self,
        found: &DiscoveryResult,
        client: &Registration,
        session: Box<dyn AuthorizationSession>,
        scopes: &Scopes,
    ) -> Result<TokenRequest, Error> {
        let redirect_uri = session.redirect_uri().to_owned();
        let request = AuthorizationRequest::new(
            &self.http_client.policy,
            found,
            client,
            &redirect_uri,
            scopes,
        )?;
        self.report(&SignInProgress::ConsentRequested {
            scopes: scopes.to_string(),
        });
        let url = request.url.clone();
        let asked = timeout(self.settings.consent_timeout, session.open(url.as_str())).await;
        let callback = asked.map_err(|_| {
            let minutes = self.settings.consent_timeout.as_secs() / 60;
            Error::user_agent(format!(
                "the user did not respond to the request for consent within {minutes} minutes; if the \
                 page reported an unknown client, sign in again: the client then registers again"
            ))
        })??;
        if client.is_unanswered {
            let known = Registration {
                is_unanswered: false,
                ..client.clone()
            };
            self.save_client(&known).await?;
        }
        let code = request.accept(&callback)?;
        Ok(TokenRequest::new("authorization_code")
            .with("code", code.code)
            .with("redirect_uri", redirect_uri)
            .with("code_verifier", code.verifier)
            .with("resource", found.resource.as_str()))
    }

    /// Last step: sends the token request.
    pub(crate) async fn redeem(
        &self,
        found: &DiscoveryResult,
        client: &Registration,
        dpop_key: Option<&DpopKey>,
        form: TokenRequest,
    ) -> Result<TokenResponse, Error> {
        let endpoint = self.token_endpoint(found, client, dpop_key);
        endpoint.ask(form).await
    }

    pub(crate) fn token_endpoint<'a>(
        &'a self,
        found: &'a DiscoveryResult,
        client: &'a Registration,
        dpop_key: Option<&'a DpopKey>,
    ) -> TokenEndpoint<'a> {
        TokenEndpoint {
            http_client: &self.http_client,
            server: &found.server,
            client,
            dpop_key,
            nonces: &self.nonces,
            now: self.now(),
        }
    }

    /// Returns the scopes to request: the scopes of the settings, of the challenge and of the previous tokens. The previous
    /// tokens count only if their issuer is the same. If none of these sources has scopes, returns the scopes of the server's
    /// metadata.
    ///
    /// Specification: authorization, scope selection strategy.
    fn scopes(&self, request: &SignInRequest, found: &DiscoveryResult) -> Scopes {
        let challenged = request.challenge.as_ref().and_then(Challenge::scopes);
        // The previous scopes count only for the same issuer.
        let before = request.before.as_ref();
        let before = before.filter(|(issuer, _)| *issuer == found.server.issuer);
        let before = before.map(|(_, scopes)| scopes).filter(|x| !x.is_empty());
        let documented = || found.document.as_ref().and_then(|a| a.scopes());
        let chosen = match (&self.settings.scopes, before) {
            (Some(own), _) => own.union(&challenged.unwrap_or_default()),
            (None, Some(_)) => challenged.unwrap_or_default(),
            (None, None) => challenged.or_else(documented).unwrap_or_default(),
        };
        let all = before.cloned().unwrap_or_default().union(&chosen);
        let for_user = matches!(self.settings.grant, Grant::User(_));
        let offline = self.settings.offline && for_user && found.server.knows_scope(OFFLINE_ACCESS);
        // A request for `offline_access` alone would replace the default scopes of the authorization server.
        if offline && !all.is_empty() {
            return all.with(OFFLINE_ACCESS);
        }
        all
    }

    /// Returns a key if the tokens must be bound to a key, otherwise `None`.
    async fn dpop_key_for(
        &self,
        found: &DiscoveryResult,
        challenge: Option<&Challenge>,
    ) -> Result<Option<DpopKey>, Error> {
        let wanted = challenge.is_some_and(|c| c.has_scheme("DPoP"));
        if self.needs_dpop(found) || wanted {
            return self.dpop_key().await.map(Some);
        }
        Ok(None)
    }

    fn needs_dpop(&self, found: &DiscoveryResult) -> bool {
        let document = found.document.as_ref();
        self.settings.require_dpop || document.is_some_and(|d| d.dpop_bound_access_tokens_required)
    }

    fn tokens(
        &self,
        answer: TokenResponse,
        found: &DiscoveryResult,
        client: &Registration,
        scopes: &Scopes,
        has_key: bool,
    ) -> Result<TokenSet, Error> {
        let issuer = quoted(&found.server.issuer);
        match answer.kind {
            TokenType::Bearer if self.needs_dpop(found) => {
                let message = format!(
                    "{issuer} issued a bearer token, but a token that is bound to a key (DPoP) \
                     was requested"
                );
                return Err(Error::invalid_response(message));
            }
            TokenType::Dpop if !has_key => {
                let message = format!("{issuer} issued a DPoP token, but the request had no key");
                return Err(Error::invalid_response(message));
            }
            _ => {}
        }
        let now = self.now();
        Ok(TokenSet {
            access: answer.access,
            kind: answer.kind,
            refresh: answer.refresh,
            expires_at: answer.expires_in.map(|seconds| TokenSet::end(now, seconds)),
            // Requested scopes count even if fewer were granted, so that the client does not
            // request them again.
            scopes: scopes.union(&answer.scopes.unwrap_or_default()),
            issuer: found.server.issuer.clone(),
            resource: found.resource.clone(),
            client_id: client.client_id.clone(),
            requested: Some(scopes.clone()),
            has_public_client: self.settings.credentials.is_some()
                && client.secret.is_none()
                && client.key.is_none(),
        })
    }

    fn no_grant(&self, found: &DiscoveryResult) -> Error {
        Error::setup(format!(
            "{} requires a token of {}, but no grant is configured; set \
                 OAuthBuilder::user_agent, or OAuthBuilder::client_credentials to act for the \
                 program itself",
            redacted(&self.server),
            quoted(&found.server.issuer)
        ))
    }
}

/// Creates a token request with an assertion.
///
/// Specification: [RFC 7523, section 2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1).
fn bearer_form(assertion: crate::Secret, found: &DiscoveryResult, scopes: &Scopes) -> TokenRequest {
    TokenRequest::new("urn:ietf:params:oauth:grant-type:jwt-bearer")
        .with("assertion", assertion)
        .with("resource", found.resource.as_str())
        .and("scope", scopes.to_parameter())
}
