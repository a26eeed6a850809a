//! What one client of one server knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use url::Url;

use crate::client::discovery::{Found, Known};
use crate::client::progress::Step;
use crate::client::registration::{Credentials, Document, Profile, Registration};
use crate::client::sign_in::Grant;
use crate::client::store::TokenStore;
use crate::client::token::{Nonces, ProofKey, TokenSet};
use crate::error::Error;
use crate::scopes::Scopes;
use crate::sync::lock;
use crate::web::Web;

pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
pub(crate) type Watch = Arc<dyn Fn(&Step) + Send + Sync>;

/// Everything behind an [`OAuth`](crate::OAuth).
pub(crate) struct Inner {
    pub(crate) server: Url,
    pub(crate) web: Web,
    pub(crate) setup: Setup,
    pub(crate) store: Arc<dyn TokenStore>,
    pub(crate) nonces: Nonces,
    /// Held by whoever gets new tokens.
    pub(crate) flight: Arc<tokio::sync::Mutex<()>>,
    pub(crate) state: Mutex<State>,
}

/// What the program said.
pub(crate) struct Setup {
    pub(crate) grant: Grant,
    pub(crate) known: Known,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) document: Option<Document>,
    pub(crate) profile: Profile,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) offline: bool,
    /// Whether only tokens that are bound to a key will do.
    pub(crate) proven: bool,
    pub(crate) patience: Duration,
    pub(crate) clock: Clock,
    pub(crate) watch: Option<Watch>,
}

/// What was found out.
#[derive(Default)]
pub(crate) struct State {
    /// Whether the store was asked.
    pub(crate) is_loaded: bool,
    pub(crate) tokens: Option<TokenSet>,
    pub(crate) proofs: Option<ProofKey>,
    pub(crate) found: Option<Found>,
    pub(crate) clients: HashMap<String, Registration>,
    /// The issuer to which the program's own credentials belong.
    pub(crate) bound: Option<String>,
    /// Sign-ins since a token was last accepted, and step-ups since a message last succeeded.
    pub(crate) sign_ins: u32,
    pub(crate) step_ups: u32,
    /// Whether the tokens were renewed and no message was accepted with them since.
    pub(crate) is_untried: bool,
    /// How many times tokens were asked for, and how it ended the last time.
    pub(crate) flights: u64,
    pub(crate) failure: Option<Error>,
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        let now = (self.setup.clock)().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs()
    }

    pub(crate) fn step(&self, step: &Step) {
        tracing::debug!(server = %crate::web::shown(&self.server), %step, "authorization");
        if let Some(watch) = &self.setup.watch {
            watch(step);
        }
    }
}
