//! Renews tokens. All concurrent callers in all processes share one renewal.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::flow::SignInRequest;
use crate::Secret;
use crate::client::challenge::Challenge;
use crate::client::discovery::DiscoveryLog;
use crate::client::inner::{Inner, State};
use crate::client::progress::SignInProgress;
use crate::client::registration::{Credentials, Registration};
use crate::client::token::{TokenRequest, TokenSet, TokenType};
use crate::error::{Error, ErrorKind};
use crate::scopes::Scopes;
use crate::well_known::is_same_issuer;

/// Maximum number of consecutive sign-ins without an accepted token, and of consecutive step-ups without a successful message.
const MAX_ATTEMPTS: u32 = 3;

/// The lock for obtaining tokens; `None` while a task holds it.
type RenewalLock = Option<OwnedMutexGuard<()>>;

/// The reason why new tokens are needed.
#[derive(Debug, Clone)]
pub(crate) enum RenewalReason {
    /// The program called `sign_in`.
    Requested {
        /// The challenge for a request without a token.
        challenge: Option<Challenge>,
        /// The scopes that a call needed but its tokens did not have, and the issuer of these tokens.
        needed: Option<(String, Scopes)>,
    },
    /// The token has expired, according to the client's clock.
    Expired,
    /// The server rejected a message with 401.
    Unauthorized(Option<Challenge>),
    /// The server requires more scopes.
    InsufficientScope(Challenge),
}

impl Inner {
    /// Obtains new tokens, unless another caller has obtained tokens since the token `used` was sent.
    ///
    /// # Cancel safety
    /// A renewal that has started continues without its caller, because a refresh token may be
    /// valid for one use only. A sign-in that waits for a user is aborted.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        used: Option<&Secret>,
        reason: &RenewalReason,
    ) -> Result<(), Error> {
        let renewals = self.state().renewals;
        let mut lock = Some(self.renewal_lock.clone().lock_owned().await);
        {
            let state = self.state();
            let is_renewed = state.renewals != renewals;
            let is_done = match (reason, &state.failure) {
                // Another caller has signed in meanwhile.
                (RenewalReason::Requested { .. }, failure) => is_renewed && failure.is_none(),
                _ => self.is_replaced(&state, used),
            };
            if is_done {
                return Ok(());
            }
            // The attempt of the caller that held the lock has failed. All waiting callers receive its error.
            if let Some(error) = state.failure.as_ref().filter(|_| is_renewed) {
                return Err(error.clone());
            }
        }
        let done = self.renew_locked(&mut lock, used, reason).await;
        // `lock` is released after this, so that the next caller sees the result.
        let mut state = self.state();
        state.renewals += 1;
        state.failure = done.as_ref().err().cloned();
        done
    }

    /// Returns whether the current tokens are valid and differ from the tokens that were used.
    fn is_replaced(&self, state: &State, used: Option<&Secret>) -> bool {
        let tokens = state.tokens.as_ref();
        tokens.is_some_and(|tokens| {
            let is_same = used.is_some_and(|used| used.expose() == tokens.access.expose());
            !is_same && !tokens.is_expired(self.now())
        })
    }

    async fn renew_locked(
        self: &Arc<Self>,
        lock: &mut RenewalLock,
        used: Option<&Secret>,
        reason: &RenewalReason,
    ) -> Result<(), Error> {
        // If the user requested a sign-in, the existing tokens are not refreshed, and newer tokens of the store are not used. The
        // existing tokens are only kept until the sign-in has succeeded.
        let is_requested = matches!(reason, RenewalReason::Requested { .. });
        if !is_requested && self.adopt_stored_tokens(used).await? {
            return Ok(());
        }
        let old = self.state().tokens.clone();
        let challenge = match reason {
            RenewalReason::InsufficientScope(challenge) => Some(challenge.clone()),
            RenewalReason::Unauthorized(challenge) | RenewalReason::Requested { challenge, .. } => {
                challenge.clone()
            }
            RenewalReason::Expired => None,
        };
        let is_step_up = matches!(reason, RenewalReason::InsufficientScope(_));
        let tokens = old.as_ref().filter(|_| !is_step_up && !is_requested);
        if tokens.is_some_and(|tokens| self.may_refresh(tokens, reason)) {
            let work = Refresh {
                inner: self.clone(),
                used: used.cloned(),
                challenge: challenge.clone(),
                check_issuer: matches!(reason, RenewalReason::Unauthorized(_)),
            };
            if run_in_task(lock, work).await? {
                return Ok(());
            }
        }
        if matches!(reason, RenewalReason::Expired) && !self.settings.grant.is_silent() {
            // The user is not asked before the server rejects a message.
            return Ok(());
        }
        self.count_attempt(is_step_up)?;
        let before = match reason {
            RenewalReason::Requested { needed, .. } => needed.clone(),
            _ => old.map(|tokens| (tokens.issuer, tokens.scopes)),
        };
        let request = SignInRequest { before, challenge };
        let tokens = self.sign_in(&request).await?;
        self.save_tokens(tokens).await
    }

    /// Uses the tokens of the store if they have not expired, and if they differ from the tokens in memory and from the rejected
    /// token. Returns whether it uses the stored tokens.
    async fn adopt_stored_tokens(&self, used: Option<&Secret>) -> Result<bool, Error> {
        let stored = self.load_tokens().await?;
        let dpop_key = self.stored_dpop_key().await?;
        let mut state = self.state();
        let known = state.tokens.as_ref().map(|tokens| &tokens.access);
        let is_usable = |stored: &TokenSet| {
            let is_other = |known: &Secret| known.expose() != stored.access.expose();
            known.is_none_or(is_other)
                && used.is_none_or(is_other)
                && !stored.is_expired(self.now())
        };
        let Some(stored) = stored.filter(is_usable) else {
            return Ok(false);
        };
        tracing::debug!("another program has obtained new tokens");
        state.is_untried = true;
        if dpop_key.is_some() {
            state.dpop_key = dpop_key;
        }
        state.tokens = Some(stored);
        Ok(true)
    }

    /// Returns whether the refresh token may be used. If the server has rejected a token that was just renewed, the client must
    /// not renew it again.
    fn may_refresh(&self, tokens: &TokenSet, reason: &RenewalReason) -> bool {
        let is_untried = self.state().is_untried;
        tokens.refresh.is_some()
            && !(is_untried && matches!(reason, RenewalReason::Unauthorized(_)))
    }

    /// Counts a sign-in, and returns an error at the limit. A server that accepts no token therefore does not cause endless
    /// sign-ins.
    fn count_attempt(&self, is_step_up: bool) -> Result<(), Error> {
        let mut state = self.state();
        let count = if is_step_up {
            &mut state.step_ups
        } else {
            &mut state.sign_ins
        };
        if *count >= MAX_ATTEMPTS {
            let server = crate::web::redacted(&self.server);
            return Err(Error::new(
                ErrorKind::Denied,
                format!(
                    "{server} rejected the last {MAX_ATTEMPTS} tokens, so there is no further \
                     attempt; call OAuth::sign_in to start over"
                ),
            ));
        }
        *count += 1;
        Ok(())
    }
}

/// A renewal that continues even if its caller is dropped.
struct Refresh {
    inner: Arc<Inner>,
    used: Option<Secret>,
    challenge: Option<Challenge>,
    /// Whether to check, before the renewal, that the server still names the same issuer.
    check_issuer: bool,
}

/// Runs the renewal in a task that takes over the lock. Returns whether the client now has valid tokens.
async fn run_in_task(lock: &mut RenewalLock, work: Refresh) -> Result<bool, Error> {
    let guard = lock.take();
    let task = tokio::spawn(async move { (guard, work.run().await) });
    match task.await {
        Ok((guard, done)) => {
            *lock = guard;
            done
        }
        Err(error) => {
            let message = "the task that renews the token was aborted";
            Err(Error::caused(ErrorKind::Unavailable, message, error))
        }
    }
}

impl Refresh {
    async fn run(self) -> Result<bool, Error> {
        let inner = &self.inner;
        // Other programs with the same store wait here and then use the tokens of this program.
        let _lock = inner.store.lock(&inner.tokens_name()).await?;
        if inner.adopt_stored_tokens(self.used.as_ref()).await? {
            return Ok(true);
        }
        let Some(tokens) = inner.state().tokens.clone() else {
            return Ok(false);
        };
        match self.refreshed(&tokens).await {
            Ok(Some(tokens)) => {
                inner.state().is_untried = true;
                inner.save_tokens(tokens).await?;
                inner.report(&SignInProgress::Refreshed);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.kind() == ErrorKind::Expired => {
                inner.report(&SignInProgress::Expired {
                    reason: error.to_string(),
                });
                inner.remove_tokens().await?;
                Ok(false)
            }
            Err(error)
                if error.kind() == ErrorKind::UnknownClient
                    && inner.remove_client(&tokens.issuer).await? =>
            {
                inner.remove_tokens().await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns renewed tokens, or `None` if the server no longer names the issuer of the old tokens.
    async fn refreshed(&self, old: &TokenSet) -> Result<Option<TokenSet>, Error> {
        let inner = &self.inner;
        let Some(refresh) = old.refresh.clone() else {
            return Ok(None);
        };
        let known = inner.state().found.clone();
        let known = known.filter(|found| found.server.issuer == old.issuer);
        let found = match known {
            Some(found) if !self.check_issuer || self.is_current(&old.issuer).await => found,
            _ => inner.discover(self.challenge.as_ref()).await?,
        };
        // Tokens and registrations are sent to their own issuer only.
        if found.server.issuer != old.issuer || found.resource != old.resource {
            return Ok(None);
        }
        let Some(client) = inner.client_for(old).await? else {
            return Ok(None);
        };
        let dpop_key = inner.state().dpop_key.clone();
        let dpop_key = dpop_key.filter(|_| old.kind == TokenType::Dpop);
        // Some services require the parameter `scope`, others reject it. RFC 6749, section 6, allows both.
        let scope = old.requested.as_ref().and_then(Scopes::to_parameter);
        // Some services reject the parameter `resource`. The refresh token is bound to the resource in any case: RFC 8707,
        // section 2.2.
        let resource = Some(found.resource.as_str());
        let mut attempts = vec![(scope.clone(), resource), (None, resource), (None, None)];
        attempts.dedup();
        let mut attempts = attempts.into_iter();
        let answer = loop {
            let Some((scope, resource)) = attempts.next() else {
                return Ok(None);
            };
            let form = TokenRequest::new("refresh_token")
                .with("refresh_token", refresh.clone())
                .and("resource", resource)
                .and("scope", scope);
            let answer = inner.redeem(&found, &client, dpop_key.as_ref(), form);
            match answer.await {
                Err(error) if error.is_denied() && resource.is_some() => {}
                done => break done?,
            }
        };
        if answer.kind != old.kind {
            return Ok(None);
        }
        let now = inner.now();
        Ok(Some(TokenSet {
            access: answer.access,
            // A refresh token that is not replaced remains valid.
            refresh: answer.refresh.or_else(|| old.refresh.clone()),
            expires_at: answer.expires_in.map(|seconds| TokenSet::end(now, seconds)),
            ..old.clone()
        }))
    }

    /// Returns whether the server still names this issuer. Also returns `true` if the server cannot be reached or publishes no
    /// metadata.
    async fn is_current(&self, issuer: &str) -> bool {
        let inner = &self.inner;
        let discovery = inner.discovery();
        let challenge = self.challenge.as_ref();
        match discovery
            .resource(challenge, &mut DiscoveryLog::default())
            .await
        {
            Ok(Some(document)) => {
                let mut issuers = document.authorization_servers.iter();
                issuers.any(|named| is_same_issuer(named, issuer))
            }
            Ok(None) => true,
            Err(error) => error.is_temporary(),
        }
    }
}

impl Inner {
    /// Returns the client to which the tokens were issued.
    pub(crate) async fn client_for(
        &self,
        tokens: &TokenSet,
    ) -> Result<Option<Registration>, Error> {
        if let Some(credentials) = &self.settings.credentials {
            return Ok(Some(Registration::of(credentials, &tokens.issuer)));
        }
        let document = self.settings.document.as_ref();
        if let Some(document) = document.filter(|d| d.url.as_str() == tokens.client_id) {
            return Ok(Some(Registration::document(document, &tokens.issuer)));
        }
        if tokens.has_public_client {
            let client = Credentials::new(&tokens.client_id);
            return Ok(Some(Registration::of(&client, &tokens.issuer)));
        }
        let stored = self.load_client(&tokens.issuer).await?;
        Ok(stored.filter(|client| client.client_id == tokens.client_id))
    }
}
