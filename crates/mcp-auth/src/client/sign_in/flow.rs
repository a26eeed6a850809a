//! A sign-in from its first step to its last.
//!
//! ```text
//! challenge ─► discover ─► identify ─► (ask the user) ─► token
//!              Found       Registration  Code             TokenSet
//! ```
//!
//! Each step takes what the one before it gives, and can be skipped by what the program says
//! beforehand.

use tokio::time::timeout;

use super::authorization_request::Request;
use super::grant::Grant;
use crate::client::challenge::Challenge;
use crate::client::discovery::{Discovery, Found, Trail};
use crate::client::inner::Inner;
use crate::client::progress::Step;
use crate::client::registration::{Credentials, Registration, register};
use crate::client::token::{Answer, Endpoint, Form, ProofKey, TokenKind, TokenSet};
use crate::client::uris::redirect;
use crate::client::user_agent::{UserAgent, Visit};
use crate::error::{Error, Kind, quoted};
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::web::shown;

/// What a sign-in is for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
    pub(crate) challenge: Option<Challenge>,
    /// The scopes of the tokens there were, and who gave those out.
    pub(crate) before: Option<(String, Scopes)>,
}

impl Inner {
    /// New tokens, whatever it takes.
    pub(crate) async fn sign_in(&self, wish: &Wish) -> Result<TokenSet, Error> {
        let found = self.discover(wish.challenge.as_ref()).await?;
        let scopes = self.scopes(wish, &found);
        let proofs = self.proofs_for(&found, wish.challenge.as_ref()).await?;
        let grant = self.setup.grant.clone();
        let (client, answer) = match &grant {
            Grant::Nobody => return Err(self.nobody(&found)),
            Grant::User(agent) => {
                let visit = self.visit(&**agent, &found).await?;
                redirect(visit.redirect_uri())?;
                let client = self
                    .client_of_user(&found, visit.redirect_uri(), &scopes)
                    .await?;
                let answer = self.ask(&found, &client, proofs.as_ref(), visit, &scopes);
                let answer = answer.await;
                if answer.as_ref().is_err_and(|it| it.kind() == Kind::Stranger) {
                    // The next sign-in registers anew.
                    self.forget_client(&client.issuer).await?;
                }
                (client, answer?)
            }
            Grant::Client => {
                let client = self.client_by_hand(&found)?;
                let form = Form::new("client_credentials")
                    .with("resource", found.resource.as_str())
                    .and("scope", scopes.to_parameter());
                let answer = self.redeem(&found, &client, proofs.as_ref(), form).await?;
                (client, answer)
            }
            Grant::Assertion(source) => {
                let client = self.client_by_hand(&found)?;
                let assertion = source.assertion(&found.server.issuer).await?;
                let form = bearer_form(assertion, &found, &scopes);
                let answer = self.redeem(&found, &client, proofs.as_ref(), form).await?;
                (client, answer)
            }
            Grant::Enterprise(enterprise) => {
                let client = self.client_by_hand(&found)?;
                let assertion = self.assertion(enterprise, &found, &scopes).await?;
                let form = bearer_form(assertion, &found, &Scopes::default());
                let answer = self.redeem(&found, &client, proofs.as_ref(), form).await?;
                (client, answer)
            }
        };
        let tokens = self.tokens(answer, &found, &client, &scopes, proofs.is_some())?;
        self.step(&Step::SignedIn {
            scopes: tokens.scopes.to_string(),
        });
        Ok(tokens)
    }

    /// First step: who gives out tokens.
    pub(crate) async fn discover(&self, challenge: Option<&Challenge>) -> Result<Found, Error> {
        let discovery = Discovery {
            web: &self.web,
            server: &self.server,
            known: &self.setup.known,
        };
        let found = discovery.run(challenge, &mut Trail::default()).await?;
        self.step(&Step::Discovered {
            resource: found.resource.clone(),
            issuer: found.server.issuer.clone(),
        });
        self.state().found = Some(found.clone());
        Ok(found)
    }

    /// Second step, for clients that were registered by hand.
    fn client_by_hand(&self, found: &Found) -> Result<Registration, Error> {
        let issuer = &found.server.issuer;
        let Some(credentials) = &self.setup.credentials else {
            return Err(Error::new(
                Kind::Setup,
                format!(
                    "a client that acts for itself has to be known to {}; \
                     give its credentials with OAuth::credentials",
                    quoted(issuer)
                ),
            ));
        };
        let client = self.bound(credentials, issuer)?;
        self.identified(&client);
        Ok(client)
    }

    /// Credentials belong to one issuer, for good.
    fn bound(&self, credentials: &Credentials, issuer: &str) -> Result<Registration, Error> {
        let mut state = self.state();
        let owner = credentials.issuer.as_ref().or(state.bound.as_ref());
        if let Some(owner) = owner.filter(|owner| *owner != issuer) {
            return Err(Error::new(
                Kind::Mismatch,
                format!(
                    "the client {} belongs to {}, and the server now names {}; it is not shown \
                     there. Register a client there, or find out why the server changed",
                    quoted(&credentials.client_id),
                    quoted(owner),
                    quoted(issuer)
                ),
            ));
        }
        state.bound = Some(issuer.to_owned());
        Ok(Registration::of(credentials, issuer))
    }

    /// A visit that ends where the client is registered, if it is.
    async fn visit(&self, agent: &dyn UserAgent, found: &Found) -> Result<Box<dyn Visit>, Error> {
        let kept = self.kept_client(&found.server.issuer).await?;
        match kept.and_then(|client| client.redirect_uri) {
            Some(uri) => agent.open_again(&uri).await,
            None => agent.open().await,
        }
    }

    /// Second step, for clients that act for a user: by hand, by document, by registration.
    async fn client_of_user(
        &self,
        found: &Found,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Registration, Error> {
        let server = &found.server;
        let issuer = &server.issuer;
        if let Some(credentials) = &self.setup.credentials {
            let client = self.bound(credentials, issuer)?;
            self.identified(&client);
            return Ok(client);
        }
        let document = self.setup.document.as_ref();
        if let Some(document) = document.filter(|_| server.client_id_metadata_document_supported) {
            let client = Registration::document(document, issuer);
            self.identified(&client);
            return Ok(client);
        }
        let kept = self.kept_client(issuer).await?;
        if let Some(client) = kept.filter(|it| it.is_good(redirect_uri, scopes, self.now())) {
            self.identified(&client);
            return Ok(client);
        }
        let profile = &self.setup.profile;
        let register = |scopes| register(&self.web, server, profile, redirect_uri, scopes);
        let all = found.scopes_from(scopes);
        let client = match register(&all).await {
            Err(error) if error.kind() == Kind::Unusable && all != *scopes => {
                register(scopes).await?
            }
            done => done?,
        };
        self.keep_client(&client).await?;
        self.identified(&client);
        Ok(client)
    }

    fn identified(&self, client: &Registration) {
        self.step(&Step::Identified {
            client_id: client.client_id.clone(),
        });
    }

    /// Third step: the user says yes, and the code that says so becomes a token.
    async fn ask(
        &self,
        found: &Found,
        client: &Registration,
        proofs: Option<&ProofKey>,
        visit: Box<dyn Visit>,
        scopes: &Scopes,
    ) -> Result<Answer, Error> {
        let redirect_uri = visit.redirect_uri().to_owned();
        let request = Request::new(&self.web.guard, found, client, &redirect_uri, scopes)?;
        self.step(&Step::Asking {
            scopes: scopes.to_string(),
        });
        let url = request.url.clone();
        let asked = timeout(self.setup.patience, visit.visit(url.as_str())).await;
        let callback = asked.map_err(|_| {
            let minutes = self.setup.patience.as_secs() / 60;
            Error::user_agent(format!(
                "nobody answered the request for consent within {minutes} minutes"
            ))
        })??;
        let code = request.accept(&callback)?;
        let form = Form::new("authorization_code")
            .with("code", code.code)
            .with("redirect_uri", redirect_uri)
            .with("code_verifier", code.verifier)
            .with("resource", found.resource.as_str());
        self.redeem(found, client, proofs, form).await
    }

    /// Last step.
    pub(crate) async fn redeem(
        &self,
        found: &Found,
        client: &Registration,
        proofs: Option<&ProofKey>,
        form: Form,
    ) -> Result<Answer, Error> {
        let endpoint = Endpoint {
            web: &self.web,
            server: &found.server,
            client,
            proofs,
            nonces: &self.nonces,
            now: self.now(),
        };
        endpoint.ask(form).await
    }

    /// Which scopes to ask for: what the program says, what the challenge says, what the server's
    /// document says, and none otherwise; and what there was before.
    ///
    /// Specification: authorization, scope selection strategy.
    fn scopes(&self, wish: &Wish, found: &Found) -> Scopes {
        let challenged = wish.challenge.as_ref().and_then(Challenge::scopes);
        // What there was is had again, unless it was of somebody else.
        let before = wish.before.as_ref();
        let before = before.filter(|(issuer, _)| *issuer == found.server.issuer);
        let before = before.map(|(_, scopes)| scopes).filter(|it| !it.is_empty());
        let documented = || found.document.as_ref().and_then(|it| it.scopes());
        let chosen = match (&self.setup.scopes, before) {
            (Some(own), _) => own.union(&challenged.unwrap_or_default()),
            (None, Some(_)) => challenged.unwrap_or_default(),
            (None, None) => challenged.or_else(documented).unwrap_or_default(),
        };
        let all = before.cloned().unwrap_or_default().union(&chosen);
        let for_user = matches!(self.setup.grant, Grant::User(_));
        let offline = self.setup.offline && for_user && found.server.knows_scope(OFFLINE_ACCESS);
        // Alone it would take the place of what the server gives by default.
        if offline && !all.is_empty() {
            return all.with(OFFLINE_ACCESS);
        }
        all
    }

    /// A key, if tokens are to be bound to one.
    async fn proofs_for(
        &self,
        found: &Found,
        challenge: Option<&Challenge>,
    ) -> Result<Option<ProofKey>, Error> {
        let wanted = challenge.is_some_and(|it| it.is("DPoP"));
        if self.needs_proof(found) || wanted {
            return self.proofs().await.map(Some);
        }
        Ok(None)
    }

    fn needs_proof(&self, found: &Found) -> bool {
        let document = found.document.as_ref();
        self.setup.proven || document.is_some_and(|it| it.dpop_bound_access_tokens_required)
    }

    /// What is kept of an answer.
    fn tokens(
        &self,
        answer: Answer,
        found: &Found,
        client: &Registration,
        scopes: &Scopes,
        has_key: bool,
    ) -> Result<TokenSet, Error> {
        let issuer = quoted(&found.server.issuer);
        match answer.kind {
            TokenKind::Bearer if self.needs_proof(found) => {
                let message = format!(
                    "{issuer} gives out a token that anybody can use, where one that is bound to a key was asked for"
                );
                return Err(Error::new(Kind::Unusable, message));
            }
            TokenKind::Proven if !has_key => {
                let message = format!("{issuer} binds the token to a key, and was shown none");
                return Err(Error::new(Kind::Unusable, message));
            }
            _ => {}
        }
        let now = self.now();
        Ok(TokenSet {
            access: answer.access,
            kind: answer.kind,
            refresh: answer.refresh,
            expires_at: answer.expires_in.map(|seconds| TokenSet::end(now, seconds)),
            // What was asked for counts even if less was given, so that it is not asked for again.
            scopes: scopes.union(&answer.scopes.unwrap_or_default()),
            issuer: found.server.issuer.clone(),
            resource: found.resource.clone(),
            client_id: client.client_id.clone(),
        })
    }

    fn nobody(&self, found: &Found) -> Error {
        Error::new(
            Kind::Setup,
            format!(
                "{} wants a token of {}, and nobody can be asked for one; say who with \
                 OAuth::user_agent, or act for the program itself with OAuth::client_credentials",
                shown(&self.server),
                quoted(&found.server.issuer)
            ),
        )
    }
}

/// Specification: [RFC 7523, section 2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1).
fn bearer_form(assertion: crate::Secret, found: &Found, scopes: &Scopes) -> Form {
    Form::new("urn:ietf:params:oauth:grant-type:jwt-bearer")
        .with("assertion", assertion)
        .with("resource", found.resource.as_str())
        .and("scope", scopes.to_parameter())
}
