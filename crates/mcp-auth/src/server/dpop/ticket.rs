//! Tickets for the proofs of forwarded requests.
//!
//! A process that forwards a request has already stored its proof as used. The process that receives the request verifies the
//! proof again. A ticket, which is a random value, permits the receiver to accept this proof once more. The common replay cache
//! stores a digest of the ticket and the proof. The receiver removes the entry when it uses the ticket.

use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_protocol::BoxFuture;
use mcp_transport_http::http_service::{BoxError, ForwardedHeaders};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::{PROOF, ProofError, ReplayCache};
use crate::digest::sha256;

/// The header that contains the ticket of a forwarded request.
pub(super) const TICKET: HeaderName = HeaderName::from_static("mcp-forward-ticket");
/// Time for which a ticket is stored. The receiver uses the ticket before it reads the body of the request.
const LIFETIME: Duration = Duration::from_secs(10);
/// Number of random bytes in a ticket.
const TICKET_BYTES: usize = 16;

/// The proof of an accepted request, and the cache in which the proof is stored.
pub(super) struct AcceptedProof {
    pub(super) header: HeaderValue,
    /// The thumbprint of the client's key.
    pub(super) key: String,
    pub(super) id: String,
    pub(super) replays: Arc<dyn ReplayCache>,
}

impl AcceptedProof {
    /// Stores the proof for `lifetime`. Returns `false` if the proof was used before.
    pub(super) async fn store(&self, lifetime: Duration) -> Result<bool, ProofError> {
        let stored = self.replays.insert(&self.key, &self.id, lifetime).await;
        stored.map_err(ProofError::Unavailable)
    }

    /// Removes a ticket for this proof from the cache. Returns `false` if the cache does not contain the ticket.
    pub(super) async fn use_ticket(&self, ticket: &HeaderValue) -> Result<bool, ProofError> {
        let Ok(ticket) = ticket.to_str() else {
            return Ok(false);
        };
        let id = self.ticket_id(ticket);
        let removed = self.replays.remove(&self.key, &id).await;
        removed.map_err(ProofError::Unavailable)
    }

    /// Stores a new ticket in the cache.
    async fn issue_ticket(&self) -> Result<HeaderValue, BoxError> {
        let mut bytes = [0; TICKET_BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| "the operating system has no source of random numbers")?;
        let ticket = BASE64URL_NOPAD.encode(&bytes);
        let id = self.ticket_id(&ticket);
        self.replays.insert(&self.key, &id, LIFETIME).await?;
        let mut ticket = HeaderValue::try_from(ticket)?;
        ticket.set_sensitive(true);
        Ok(ticket)
    }

    /// Returns the identifier of a ticket in the cache. It is a digest of a text that begins with `ticket`. The identifier of a
    /// proof is a digest of a text that begins with a thumbprint, so the two never collide.
    fn ticket_id(&self, ticket: &str) -> String {
        sha256(&format!("ticket {} {ticket}", self.id))
    }
}

impl ForwardedHeaders for AcceptedProof {
    fn add<'a>(&'a self, headers: &'a mut HeaderMap) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            headers.insert(TICKET, self.issue_ticket().await?);
            headers.insert(PROOF, self.header.clone());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::MemoryReplayCache;

    fn proof(replays: &Arc<dyn ReplayCache>, id: &str) -> AcceptedProof {
        AcceptedProof {
            header: HeaderValue::from_static("a.b.c"),
            key: "key".to_owned(),
            id: id.to_owned(),
            replays: Arc::clone(replays),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_used_once_within_its_lifetime_and_for_its_proof() {
        let replays: Arc<dyn ReplayCache> = Arc::new(MemoryReplayCache::new());
        let accepted = proof(&replays, "id");
        assert!(accepted.store(LIFETIME * 6).await.unwrap());
        let mut headers = HeaderMap::new();
        accepted.add(&mut headers).await.unwrap();
        assert_eq!(headers[PROOF], "a.b.c");
        let ticket = &headers[TICKET];
        assert!(ticket.is_sensitive());

        let other = proof(&replays, "other");
        assert!(!other.use_ticket(ticket).await.unwrap());
        for invalid in ["", "id", "AAAAAAAAAAAAAAAAAAAAAA", "\u{e9}"] {
            let invalid = HeaderValue::from_bytes(invalid.as_bytes()).unwrap();
            assert!(!accepted.use_ticket(&invalid).await.unwrap());
        }
        assert!(accepted.use_ticket(ticket).await.unwrap());
        assert!(!accepted.use_ticket(ticket).await.unwrap());
        assert!(!accepted.store(LIFETIME).await.unwrap());

        let late = accepted.issue_ticket().await.unwrap();
        assert_ne!(&late, ticket);
        tokio::time::advance(LIFETIME + Duration::from_millis(1)).await;
        assert!(!accepted.use_ticket(&late).await.unwrap());
    }
}
