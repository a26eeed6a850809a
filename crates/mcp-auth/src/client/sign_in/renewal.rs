//! New tokens instead of old ones: once for everybody who waits for them, in this process and in
//! others.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::flow::SignInRequest;
use crate::Secret;
use crate::client::challenge::Challenge;
use crate::client::discovery::{Discovery, DiscoveryLog};
use crate::client::inner::Inner;
use crate::client::progress::SignInProgress;
use crate::client::registration::Registration;
use crate::client::token::{TokenRequest, TokenSet, TokenType};
use crate::error::{Error, ErrorKind};

/// Sign-ins in a row whose tokens the server does not accept, and step-ups in a row after which no
/// message succeeds.
const MAX_ATTEMPTS: u32 = 3;

/// The right to get new tokens, unless a task has it.
type RenewalLock = Option<OwnedMutexGuard<()>>;

/// Why new tokens are needed.
#[derive(Debug, Clone)]
pub(crate) enum RenewalReason {
    /// The program wants to be signed in.
    Requested,
    /// The token is over, as far as this client knows.
    Expired,
    /// The server refused a message.
    Unauthorized(Option<Challenge>),
    /// The server wants more scopes.
    InsufficientScope(Challenge),
}

impl Inner {
    /// Gets new tokens, unless somebody else did since `used` was sent.
    ///
    /// # Cancel safety
    /// A renewal that has begun goes on without its caller, because a refresh token may be good
    /// for one use only. A sign-in that waits for a user ends.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        used: Option<&Secret>,
        reason: &RenewalReason,
    ) -> Result<(), Error> {
        let renewals = self.state().renewals;
        let mut lock = Some(self.renewal_lock.clone().lock_owned().await);
        if self.is_replaced(used) {
            return Ok(());
        }
        {
            let state = self.state();
            // Whoever was waited for has tried for all.
            if let Some(error) = state
                .failure
                .as_ref()
                .filter(|_| state.renewals != renewals)
            {
                return Err(error.clone());
            }
        }
        let done = self.renew_locked(&mut lock, used, reason).await;
        // Before the next one looks, who waits for `lock`.
        let mut state = self.state();
        state.renewals += 1;
        state.failure = done.as_ref().err().cloned();
        done
    }

    /// Whether there are other tokens now than the ones that were used.
    fn is_replaced(&self, used: Option<&Secret>) -> bool {
        let state = self.state();
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
        let old = self.state().tokens.clone();
        let challenge = match reason {
            RenewalReason::InsufficientScope(challenge) => Some(challenge.clone()),
            RenewalReason::Unauthorized(challenge) => challenge.clone(),
            RenewalReason::Requested | RenewalReason::Expired => None,
        };
        let is_step_up = matches!(reason, RenewalReason::InsufficientScope(_));
        let tokens = old.as_ref().filter(|_| !is_step_up);
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
            // Nobody is asked before the server says that it has to be.
            return Ok(());
        }
        self.count_attempt(is_step_up)?;
        let request = SignInRequest {
            before: old.map(|tokens| (tokens.issuer, tokens.scopes)),
            challenge,
        };
        let tokens = self.sign_in(&request).await?;
        self.save_tokens(tokens).await
    }

    /// A token that was just renewed and is refused all the same is not renewed again.
    fn may_refresh(&self, tokens: &TokenSet, reason: &RenewalReason) -> bool {
        let is_untried = self.state().is_untried;
        tokens.refresh.is_some()
            && !(is_untried && matches!(reason, RenewalReason::Unauthorized(_)))
    }

    /// Counts a sign-in, so that a server that accepts nothing does not get one after the other.
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
                    "{server} accepted none of the last {MAX_ATTEMPTS} tokens, and is not tried \
                     with another; OAuth::sign_in starts over"
                ),
            ));
        }
        *count += 1;
        Ok(())
    }
}

/// A renewal that goes on when nobody waits for it any more.
struct Refresh {
    inner: Arc<Inner>,
    used: Option<Secret>,
    challenge: Option<Challenge>,
    /// Whether the server is asked first who gives out its tokens now.
    check_issuer: bool,
}

/// Runs it in a task of its own, which holds what its caller held; true if there are good tokens now.
async fn run_in_task(lock: &mut RenewalLock, work: Refresh) -> Result<bool, Error> {
    let guard = lock.take();
    let task = tokio::spawn(async move { (guard, work.run().await) });
    match task.await {
        Ok((guard, done)) => {
            *lock = guard;
            done
        }
        Err(error) => {
            let message = "renewing the token was interrupted";
            Err(Error::caused(ErrorKind::Unavailable, message, error))
        }
    }
}

impl Refresh {
    async fn run(self) -> Result<bool, Error> {
        let inner = &self.inner;
        // Other programs with the same store wait here, and find what this one got.
        let _lock = inner.store.lock(&inner.tokens_name()).await?;
        let stored = inner.load_tokens().await?;
        if let Some(stored) = stored.filter(|stored| self.is_newer(stored)) {
            tracing::debug!("another program has renewed the token");
            let mut state = inner.state();
            state.is_untried = true;
            state.tokens = Some(stored);
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
                inner.report(&SignInProgress::Expired);
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

    /// Whether the store has something newer than what this process knows.
    fn is_newer(&self, stored: &TokenSet) -> bool {
        let state = self.inner.state();
        let known = state.tokens.as_ref().map(|tokens| &tokens.access);
        let is_other = |known: &Secret| known.expose() != stored.access.expose();
        known.is_none_or(is_other)
            && self.used.as_ref().is_none_or(is_other)
            && !stored.is_expired(self.inner.now())
    }

    /// Renewed tokens; `None` if they belong to a server that is not asked any more.
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
        // Tokens and clients are for the one who gave them out, and are not shown to another.
        if found.server.issuer != old.issuer || found.resource != old.resource {
            return Ok(None);
        }
        let Some(client) = inner.client_for(old).await? else {
            return Ok(None);
        };
        let dpop_key = inner.state().dpop_key.clone();
        let dpop_key = dpop_key.filter(|_| old.kind == TokenType::Dpop);
        let form = TokenRequest::new("refresh_token")
            .with("refresh_token", refresh)
            .with("resource", found.resource.as_str());
        let answer = inner
            .redeem(&found, &client, dpop_key.as_ref(), form)
            .await?;
        if answer.kind != old.kind {
            return Ok(None);
        }
        let now = inner.now();
        Ok(Some(TokenSet {
            access: answer.access,
            // One that is not replaced stays good.
            refresh: answer.refresh.or_else(|| old.refresh.clone()),
            expires_at: answer.expires_in.map(|seconds| TokenSet::end(now, seconds)),
            ..old.clone()
        }))
    }

    /// Whether the server still names this issuer. If it does not say now, it is taken at its word.
    async fn is_current(&self, issuer: &str) -> bool {
        let inner = &self.inner;
        let discovery = Discovery {
            http_client: &inner.http_client,
            server: &inner.server,
            presets: &inner.settings.presets,
        };
        let challenge = self.challenge.as_ref();
        match discovery
            .resource(challenge, &mut DiscoveryLog::default())
            .await
        {
            Ok(Some(document)) => document.authorization_servers.iter().any(|i| i == issuer),
            Ok(None) => true,
            Err(error) => error.is_temporary(),
        }
    }
}

impl Inner {
    /// The client that tokens were given to.
    async fn client_for(&self, tokens: &TokenSet) -> Result<Option<Registration>, Error> {
        if let Some(credentials) = &self.settings.credentials {
            return Ok(Some(Registration::of(credentials, &tokens.issuer)));
        }
        let document = self.settings.document.as_ref();
        if let Some(document) = document.filter(|d| d.url.as_str() == tokens.client_id) {
            return Ok(Some(Registration::document(document, &tokens.issuer)));
        }
        let stored = self.load_client(&tokens.issuer).await?;
        Ok(stored.filter(|client| client.client_id == tokens.client_id))
    }
}
