//! DPoP proofs: a stolen token is useless without the client's key.
//!
//! Specification: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderName};
use mcp_protocol::lock;
use serde_json::json;
use zeroize::Zeroizing;

use crate::Secret;
use crate::client::signing_key::{SigningKey, random};
use crate::digest::sha256;
use crate::error::{Error, ErrorKind};

pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// Maximum number of stored nonces. A sign-in involves two servers. The other nonces are from earlier sign-ins.
const MAX_NONCES: usize = 8;
/// Maximum size of a nonce, in bytes. Larger nonces are ignored.
const MAX_NONCE_BYTES: usize = 1_024;

/// A key, and the DPoP proofs that it signs.
#[derive(Clone)]
pub(crate) struct DpopKey {
    key: SigningKey,
    der: Arc<Zeroizing<Vec<u8>>>,
}

impl DpopKey {
    pub(crate) fn generate() -> Result<Self, Error> {
        let (key, der) = SigningKey::generate()?;
        let der = Arc::new(der);
        Ok(Self { key, der })
    }

    pub(crate) fn to_text(&self) -> Secret {
        BASE64URL_NOPAD.encode(&self.der).into()
    }

    pub(crate) fn from_text(text: &Secret) -> Result<Self, Error> {
        let der = BASE64URL_NOPAD.decode(text.expose().as_bytes());
        let der = der.ok().map(Zeroizing::new);
        let der =
            der.ok_or_else(|| Error::new(ErrorKind::Store, "the stored DPoP key cannot be read"))?;
        Ok(Self {
            key: SigningKey::from_der(&der)?,
            der: Arc::new(der),
        })
    }

    /// Returns a proof for one request. If the request has a token, the proof is bound to the token.
    pub(crate) fn proof(
        &self,
        method: &str,
        target: &str,
        token: Option<&Secret>,
        nonce: Option<&str>,
        now: u64,
    ) -> Result<String, Error> {
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.jwk() });
        let target = target.split(['?', '#']).next().unwrap_or_default();
        let mut claims = json!({ "jti": random()?, "htm": method, "htu": target, "iat": now });
        if let Some(token) = token {
            claims["ath"] = json!(sha256(token.expose()));
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        self.key.token(&header, &claims)
    }
}

/// The newest nonce of each server.
#[derive(Debug, Default)]
pub(crate) struct Nonces(Mutex<VecDeque<(String, String)>>);

impl Nonces {
    pub(crate) fn of(&self, origin: &str) -> Option<String> {
        let all = lock(&self.0);
        let found = all.iter().find(|(known, _)| known == origin);
        found.map(|(_, nonce)| nonce.clone())
    }

    /// Stores the nonce of a response. Returns whether the nonce is new.
    pub(crate) fn take(&self, origin: &str, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|g| g.to_str().ok());
        let Some(nonce) = nonce.filter(|n| !n.is_empty() && n.len() <= MAX_NONCE_BYTES) else {
            return false;
        };
        let mut all = lock(&self.0);
        if let Some((_, known)) = all.iter_mut().find(|(known, _)| known == origin) {
            let is_new = known != nonce;
            nonce.clone_into(known);
            return is_new;
        }
        if all.len() == MAX_NONCES {
            all.pop_front();
        }
        all.push_back((origin.to_owned(), nonce.to_owned()));
        true
    }
}

/// Returns the origin of a URL. Nonces are stored by origin.
pub(crate) fn origin(uri: &http::Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let default = if scheme == "https" { 443 } else { 80 };
    let port = uri.port_u16().unwrap_or(default);
    format!("{scheme}://{host}:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(proof: &str, at: usize) -> serde_json::Value {
        let part = proof.split('.').nth(at).unwrap();
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_is_bound_to_one_request_and_one_token() {
        let key = DpopKey::generate().unwrap();
        let again = DpopKey::from_text(&key.to_text()).unwrap();
        let token = Secret::new("token");
        let make = || again.proof("POST", "https://h/mcp?key=1", Some(&token), Some("n"), 7);
        let proof = make().unwrap();
        let header = part(&proof, 0);
        assert_eq!(header["typ"], "dpop+jwt");
        assert_eq!(header["jwk"]["crv"], "P-256");
        assert!(header["jwk"].get("d").is_none());
        let claims = part(&proof, 1);
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], "https://h/mcp");
        assert_eq!(claims["iat"], 7);
        assert_eq!(claims["nonce"], "n");
        assert_eq!(claims["ath"], sha256("token"));
        assert_ne!(part(&make().unwrap(), 1)["jti"], claims["jti"]);
    }

    #[test]
    fn nonces_are_kept_per_server_and_limited() {
        let nonces = Nonces::default();
        let headers = |nonce: &str| HeaderMap::from_iter([(NONCE, nonce.parse().unwrap())]);
        assert!(nonces.take("a", &headers("1")));
        assert!(!nonces.take("a", &headers("1")));
        assert!(nonces.take("a", &headers("2")));
        assert!(!nonces.take("a", &headers(&"x".repeat(2_000))));
        assert_eq!(nonces.of("a").as_deref(), Some("2"));
        assert_eq!(nonces.of("b"), None);
        for at in 0..100 {
            nonces.take(&at.to_string(), &headers("n"));
        }
        assert_eq!(nonces.0.lock().unwrap().len(), MAX_NONCES);
    }
}
