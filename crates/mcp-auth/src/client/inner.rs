//! Settings and state of an OAuth client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use mcp_protocol::lock;
use url::Url;

use crate::client::challenge::Challenge;
use crate::client::discovery::{Discovery, DiscoveryResult, Presets};
use crate::client::progress::SignInProgress;
use crate::client::registration::{ClientDocument, ClientProfile, Credentials, Registration};
use crate::client::sign_in::Grant;
use crate::client::store::TokenStore;
use crate::client::token::{DpopKey, Nonces, TokenSet};
use crate::error::Error;
use crate::scopes::Scopes;
use crate::web::HttpClient;

pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
pub(crate) type ProgressCallback = Arc<dyn Fn(&SignInProgress) + Send + Sync>;

/// The message of a request without a token. This message needs no session. A server that requires authorization reads only the
/// headers of the request.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The shared part of all clones of an [`OAuth`](crate::OAuth).
pub(crate) struct Inner {
    pub(crate) server: Url,
    /// The origin of the server, as [`origin`](crate::client::token::origin) writes it.
    pub(crate) origin: String,
    pub(crate) http_client: HttpClient,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) store: Arc<dyn TokenStore>,
    pub(crate) nonces: Nonces,
    /// A lock that is held while tokens are obtained.
    pub(crate) renewal_lock: Arc<tokio::sync::Mutex<()>>,
    pub(crate) state: Mutex<State>,
}

/// The settings of a client.
pub(crate) struct Settings {
    pub(crate) grant: Grant,
    pub(crate) presets: Presets,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) document: Option<ClientDocument>,
    pub(crate) profile: ClientProfile,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) offline: bool,
    /// Whether only tokens that are bound to a key (DPoP) are accepted.
    pub(crate) require_dpop: bool,
    pub(crate) consent_timeout: Duration,
    pub(crate) on_progress: Option<ProgressCallback>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grant: Grant::Unset,
            presets: Presets::default(),
            credentials: None,
            document: None,
            profile: ClientProfile {
                name: "MCP client".to_owned(),
                uri: None,
            },
            scopes: None,
            offline: true,
            require_dpop: false,
            consent_timeout: Duration::from_secs(300),
            on_progress: None,
        }
    }
}

/// State that changes while the client runs.
#[derive(Default)]
pub(crate) struct State {
    /// Whether the token store has been read.
    pub(crate) is_loaded: bool,
    pub(crate) tokens: Option<TokenSet>,
    pub(crate) dpop_key: Option<DpopKey>,
    pub(crate) found: Option<DiscoveryResult>,
    pub(crate) clients: HashMap<String, Registration>,
    /// The issuer that the configured credentials are bound to.
    pub(crate) credentials_issuer: Option<String>,
    /// Number of sign-ins since the server last accepted a token.
    pub(crate) sign_ins: u32,
    /// Number of step-ups since a message last succeeded.
    pub(crate) step_ups: u32,
    /// Whether the server has accepted no message since the client last renewed the tokens.
    pub(crate) is_untried: bool,
    /// Number of attempts to obtain tokens.
    pub(crate) renewals: u64,
    /// The error of the last attempt to obtain tokens; `None` if it succeeded.
    pub(crate) failure: Option<Error>,
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn discovery(&self) -> Discovery<'_> {
        Discovery {
            http_client: &self.http_client,
            server: &self.server,
            presets: &self.settings.presets,
        }
    }

    /// Sends a request without a token to the server. Returns the status or the error, and the challenge.
    pub(crate) async fn challenge(&self) -> (Result<StatusCode, Error>, Option<Challenge>) {
        match self.http_client.probe(&self.server, PING).await {
            Ok((status, headers)) => (Ok(status), Challenge::of(&headers)),
            Err(error) => {
                tracing::debug!(%error, "the server did not answer a request without a token");
                (Err(error), None)
            }
        }
    }

    /// Returns the time in seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        let now = (self.clock)().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs()
    }

    pub(crate) fn report(&self, progress: &SignInProgress) {
        tracing::debug!(server = %crate::web::redacted(&self.server), %progress, "authorization");
        if let Some(on_progress) = &self.settings.on_progress {
            on_progress(progress);
        }
    }
}
