//! A client, and its observable requests.

use std::error::Error as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mcp_auth::OAuth;
use mcp_auth::client::{Error, MemoryTokenStore, OAuthBuilder, SignInProgress, TokenStore as _};
use mcp_client::Client;
use mcp_protocol::Revision;
use mcp_transport_http::HttpTransport;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::report::{Fault, ensure};

/// A client of one server, with a separate clock and token store.
pub(crate) struct Program {
    pub(crate) auth: OAuth,
    url: String,
    store: MemoryTokenStore,
    steps: Arc<Mutex<Vec<SignInProgress>>>,
    ahead: Arc<AtomicU64>,
}

impl Program {
    /// Creates the client of this server; `described` configures its grant.
    pub(crate) fn new(
        url: &str,
        described: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
    ) -> Result<Self, Fault> {
        Self::with_store(url, MemoryTokenStore::new(), described)
    }

    /// The same program, started again.
    pub(crate) fn again(
        &self,
        described: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
    ) -> Result<Self, Fault> {
        Self::with_store(&self.url, self.store.clone(), described)
    }

    fn with_store(
        url: &str,
        store: MemoryTokenStore,
        described: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
    ) -> Result<Self, Fault> {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let ahead = Arc::new(AtomicU64::new(0));
        let (noted, clock) = (Arc::clone(&steps), Arc::clone(&ahead));
        let builder = OAuth::client(url)
            .client_name("interop-auth", None)
            .store(store.clone())
            .clock(move || SystemTime::now() + Duration::from_secs(clock.load(Ordering::Relaxed)))
            .on_progress(move |step| {
                let mut steps = noted.lock().unwrap_or_else(PoisonError::into_inner);
                steps.push(step.clone());
            });
        Ok(Self {
            auth: described(builder).build()?,
            url: url.to_owned(),
            store,
            steps,
            ahead,
        })
    }

    /// Connects, and signs in if it has to.
    pub(crate) async fn connect(&self) -> Result<Client, mcp_client::Error> {
        self.connect_as(Revision::LATEST_WITH_SESSIONS).await
    }

    /// Connects with this revision.
    pub(crate) async fn connect_as(&self, revision: Revision) -> Result<Client, mcp_client::Error> {
        let http = HttpTransport::new(&self.url)?.authorize(self.auth.clone());
        let builder = Client::builder("interop-auth", "1.0.0").revision(revision);
        builder.connect(http).await
    }

    /// Advances the clock of this program only, so that its tokens appear older.
    pub(crate) fn wait(&self, seconds: u64) {
        self.ahead.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Returns the recorded events.
    pub(crate) fn steps(&self) -> Vec<SignInProgress> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.clone()
    }

    /// Returns how often an event was recorded.
    pub(crate) fn count(&self, step: &SignInProgress) -> usize {
        self.steps().iter().filter(|it| *it == step).count()
    }

    /// Returns how often tokens could not be renewed.
    pub(crate) fn expirations(&self) -> usize {
        let is_end = |step: &&SignInProgress| matches!(step, SignInProgress::Expired { .. });
        self.steps().iter().filter(is_end).count()
    }

    /// Returns the client ids that were used, in order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let steps = self.steps().into_iter();
        let ids = steps.filter_map(|step| match step {
            SignInProgress::Identified { client_id } => Some(client_id),
            _ => None,
        });
        ids.collect()
    }

    /// Returns a member of the stored tokens: `access_token`, `refresh_token`, `token_type`.
    pub(crate) async fn kept(&self, member: &str) -> Result<String, Fault> {
        let text = self.store.load(&format!("tokens {}", self.url)).await?;
        let text = text.ok_or("there are no tokens")?;
        let kept: Value = serde_json::from_str(text.expose())?;
        let value = kept[member].as_str();
        Ok(value
            .ok_or_else(|| format!("there is no {member}"))?
            .to_owned())
    }
}

/// A client of a server, and its user, who has signed in.
pub(crate) async fn signed_in(server: &str) -> Result<(Browser, Program, Client), Fault> {
    let alice = Browser::of("alice");
    let program = Program::new(server, |it| it.user_agent(alice.in_place()))?;
    let client = program.connect().await?;
    Ok((alice, program, client))
}

/// Calls a tool that has to succeed.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, Fault> {
    let arguments = match tool {
        "cancel_order" => json!({ "order": 7 }),
        _ => json!({}),
    };
    let result = client.call_tool(tool, arguments).await?;
    let text = result.joined_text();
    ensure(!result.is_error(), || format!("{tool} failed: {text}"))?;
    Ok(text)
}

/// Returns the claims of the token of a call.
pub(crate) async fn claims(client: &Client) -> Result<Value, Fault> {
    Ok(serde_json::from_str(&call(client, "whoami").await?)?)
}

/// Why the sign-in failed.
pub(crate) fn why<T>(outcome: Result<T, mcp_client::Error>) -> Result<Error, Fault> {
    let Err(error) = outcome else {
        return Err("it worked".into());
    };
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref::<Error>() {
            return Ok(found.clone());
        }
        cause = inner.source();
    }
    Err(format!("not for want of a token: {error}").into())
}
