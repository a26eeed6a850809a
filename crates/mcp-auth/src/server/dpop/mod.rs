//! Tokens that are bound to a key of the client. A stolen token is useless without the key.
//!
//! Specification: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449), section 4.3 (checking proofs), section 7
//! (protected resources), section 9 (nonces of resource servers) and section 11.1 (replay).

mod nonce;
mod proof;
mod replay;
mod ticket;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{Extensions, HeaderName, HeaderValue};
use mcp_transport_http::RemovedAuthorization;

use self::nonce::{NonceAge, Nonces};
use self::proof::Proof;
pub use self::replay::{MemoryReplayCache, ReplayCache};
use self::ticket::AcceptedProof;
use crate::Secret;
use crate::error::Error;
use crate::server::audience::Audience;
use crate::server::jwt::Algorithm;

pub(super) const PROOF: HeaderName = HeaderName::from_static("dpop");
pub(super) const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Default of [`Dpop::window`].
const WINDOW: Duration = Duration::from_secs(60);

/// The settings with which a server accepts tokens that are bound to a key (DPoP), for
/// [`RequireBearerBuilder::dpop`](super::RequireBearerBuilder::dpop).
///
/// A client sends such a token with the scheme `DPoP` and a proof: a signature over the method, the URL, the token and the time
/// of the request. The server accepts the request if the token is bound to the key of the proof (`cnf.jkt`), and if the proof was
/// not used before. The server rejects a bound token without a proof.
///
/// The URL in a proof must be the URL of the protected server. It can also be the URL of the request, but with the scheme and
/// authority of the protected server. A proxy in front of the server may therefore change the path only if clients use the URL of
/// the protected server.
///
/// ```
/// use mcp_auth::server::{Dpop, Jwt, require_bearer};
///
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// let verifier = Jwt::new("https://issuer.example")?;
/// let layer = require_bearer("https://mcp.example.com/mcp", verifier)
///     .dpop(Dpop::new().required())
///     .build()?;
/// # drop(layer);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Dpop {
    required: bool,
    algorithms: Vec<Algorithm>,
    window: Duration,
    replays: Arc<dyn ReplayCache>,
    nonce_key: Option<NonceKey>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

#[derive(Clone)]
enum NonceKey {
    Random,
    Shared(Secret),
}

impl Dpop {
    /// Creates the default settings: the server accepts bound and unbound tokens, and does not require nonces.
    pub fn new() -> Self {
        Self {
            required: false,
            algorithms: vec![Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA],
            window: WINDOW,
            replays: Arc::new(MemoryReplayCache::new()),
            nonce_key: None,
            clock: Arc::new(SystemTime::now),
        }
    }

    /// Rejects tokens that are not bound to a key.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the algorithms of proofs. Default: ES256, ES384 and EdDSA.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets the maximum difference between the time of a proof and the clock of this server, in both directions. Default: 60 s,
    /// maximum: 5 minutes. The server stores each proof for up to twice this time.
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets where used proofs are stored. Default: a [`MemoryReplayCache`] for this process. Processes behind one URL need a
    /// common cache.
    #[must_use]
    pub fn replay_cache(mut self, cache: impl ReplayCache) -> Self {
        self.replays = Arc::new(cache);
        self
    }

    /// Requires that each proof contains a nonce from this server that is at most 5 minutes old. Proofs can then not be prepared
    /// in advance. Clients obtain the first nonce with a challenge, which costs one more request.
    #[must_use]
    pub fn require_nonce(mut self) -> Self {
        self.nonce_key.get_or_insert(NonceKey::Random);
        self
    }

    /// Requires nonces, as [`require_nonce`](Self::require_nonce) does, and sets the key that authenticates them. The key must
    /// have at least 32 random bytes. Processes behind one URL need a common key. Default: a random key for this process.
    #[must_use]
    pub fn nonce_key(mut self, key: impl Into<Secret>) -> Self {
        self.nonce_key = Some(NonceKey::Shared(key.into()));
        self
    }

    /// Sets the clock with which the times of proofs and nonces are compared. Default: [`SystemTime::now`].
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(super) fn build(self) -> Result<ProofChecker, Error> {
        const MAX_WINDOW: Duration = Duration::from_secs(300);
        if self.algorithms.is_empty() {
            return Err(Error::setup(
                "no algorithm for proofs is allowed; set at least one with Dpop::algorithms",
            ));
        }
        if self.window.is_zero() || self.window > MAX_WINDOW {
            return Err(Error::setup(format!(
                "the window for proofs is {:?}; set a window from 1 s to 5 minutes with Dpop::window",
                self.window
            )));
        }
        let nonces = match self.nonce_key {
            None => None,
            Some(NonceKey::Random) => Some(Nonces::random()?),
            Some(NonceKey::Shared(key)) => Some(Nonces::new(&key)?),
        };
        let names: Vec<&str> = self.algorithms.iter().map(|name| name.as_str()).collect();
        Ok(ProofChecker {
            required: self.required,
            names: names.join(" "),
            algorithms: self.algorithms,
            window: self.window,
            replays: self.replays,
            nonces,
            clock: self.clock,
        })
    }
}

impl Default for Dpop {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop")
            .field("required", &self.required)
            .field("algorithms", &self.algorithms)
            .field("window", &self.window)
            .field("nonces", &self.nonce_key.is_some())
            .finish_non_exhaustive()
    }
}

/// The reason why a proof is not accepted.
#[derive(Debug)]
pub(super) enum ProofError {
    Invalid(&'static str),
    /// The proof has no nonce from this server, or an old nonce.
    Nonce,
    /// The replay cache failed.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

/// The checked settings of [`Dpop`].
pub(super) struct ProofChecker {
    pub(super) required: bool,
    pub(super) algorithms: Vec<Algorithm>,
    /// The names of the algorithms, separated by spaces.
    pub(super) names: String,
    window: Duration,
    replays: Arc<dyn ReplayCache>,
    nonces: Option<Nonces>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

/// A proof that is valid for its request, but may have been used before.
pub(super) struct CheckedProof {
    proof: Proof,
    header: HeaderValue,
    /// The ticket from the process that forwarded the request.
    ticket: Option<HeaderValue>,
    /// Whether the client should receive a newer nonce soon.
    is_nonce_old: bool,
}

impl ProofChecker {
    /// Removes the proof and the ticket from a request, and checks the proof. Does not check whether the token is bound to the
    /// key, or whether the proof was used before.
    pub(super) fn check(
        &self,
        parts: &mut Parts,
        token: &Secret,
        audience: &Audience,
    ) -> Result<CheckedProof, ProofError> {
        let now = (self.clock)();
        let ticket = parts.headers.remove(ticket::TICKET);
        let header = proof::take(&mut parts.headers)?;
        let proof = Proof::read(&header, &self.algorithms)?;
        proof.check(parts, token, audience, now, self.window)?;
        let mut is_nonce_old = false;
        if let Some(nonces) = &self.nonces {
            match nonces.age(proof.nonce.as_deref(), now) {
                NonceAge::New => {}
                NonceAge::Old => is_nonce_old = true,
                NonceAge::Invalid => return Err(ProofError::Nonce),
            }
        }
        Ok(CheckedProof {
            proof,
            header,
            ticket,
            is_nonce_old,
        })
    }

    /// Accepts a proof for a token that is bound to the key `jkt`. Prepares the `extensions` of the request for forwarding.
    /// Returns whether the client should receive a newer nonce soon.
    ///
    /// Call this method only for a valid token, because it stores the proof. Otherwise, clients without a valid token could fill
    /// the cache.
    pub(super) async fn accept(
        &self,
        checked: CheckedProof,
        jkt: &str,
        extensions: &mut Extensions,
    ) -> Result<bool, ProofError> {
        let CheckedProof { proof, header, .. } = checked;
        if proof.key != jkt {
            return Err(ProofError::Invalid(
                "the token is not bound to the key of the proof",
            ));
        }
        let lifetime = proof.lifetime((self.clock)(), self.window);
        let accepted = AcceptedProof {
            header,
            key: proof.key,
            id: proof.id,
            replays: Arc::clone(&self.replays),
        };
        let is_accepted = match &checked.ticket {
            // The process that has forwarded the request has stored the proof.
            Some(ticket) if accepted.use_ticket(ticket).await? => true,
            _ => accepted.store(lifetime).await?,
        };
        if !is_accepted {
            return Err(ProofError::Invalid("the proof was used before"));
        }
        if let Some(removed) = extensions.get_mut::<RemovedAuthorization>() {
            removed.set_forwarded_headers(Arc::new(accepted));
        }
        Ok(checked.is_nonce_old)
    }

    /// Returns a new nonce; `None` if nonces are not required.
    pub(super) fn nonce(&self) -> Option<HeaderValue> {
        let nonce = self.nonces.as_ref()?.nonce((self.clock)());
        nonce.try_into().ok()
    }
}
