//! Private keys, signatures and random text.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use std::sync::Arc;
use zeroize::Zeroizing;

use crate::Secret;
use crate::error::{Error, ErrorKind};

/// Returns 256 random bits in base64url (43 characters).
pub(crate) fn random() -> Result<String, Error> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(&mut *bytes).map_err(|error| {
        Error::caused(
            ErrorKind::Setup,
            "the operating system has no source of random numbers",
            Box::new(error),
        )
    })?;
    Ok(BASE64URL_NOPAD.encode(&*bytes))
}

/// A private key for client assertions and DPoP proofs.
#[derive(Debug, Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    id: Option<String>,
}

/// A key pair. `Debug` prints only the public key.
#[derive(Debug)]
enum Pair {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Reads a private key in PEM (PKCS #8). A P-256 key signs with ES256, an RSA key of at least
    /// 2,048 bits with RS256.
    ///
    /// # Errors
    /// Returns an error for any other input. The error does not quote the key.
    pub fn from_pem(text: &Secret) -> Result<Self, Error> {
        let Some(der) = pem(text.expose(), "PRIVATE KEY").map(Zeroizing::new) else {
            return Err(Error::setup(
                "the key is not a PEM file with a PRIVATE KEY block; convert it with \"openssl \
                 pkcs8 -topk8 -nocrypt\"",
            ));
        };
        Self::from_der(&der)
    }

    pub(crate) fn from_der(der: &[u8]) -> Result<Self, Error> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
            .map(Pair::Es256)
            .or_else(|_| RsaKeyPair::from_pkcs8(der).map(Pair::Rs256))
            .map_err(|_| {
                Error::setup(
                    "the private key is neither a P-256 key nor an RSA key of at least 2,048 bits",
                )
            })?;
        Ok(Self {
            pair: Arc::new(pair),
            id: None,
        })
    }

    /// Generates a P-256 key. Returns the key and its PKCS #8 encoding.
    pub(crate) fn generate() -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.map_err(|_| Error::setup("cannot generate a P-256 key"))?;
        let der = Zeroizing::new(document.as_ref().to_vec());
        Ok((Self::from_der(&der)?, der))
    }

    /// Sets the key id (`kid`) of signed tokens, for authorization servers that know several keys
    /// of this client.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Returns the name of the signature algorithm.
    pub fn algorithm(&self) -> &'static str {
        match &*self.pair {
            Pair::Es256(_) => "ES256",
            Pair::Rs256(_) => "RS256",
        }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the public key as a JWK, or `None` if the key is not a P-256 key.
    pub(crate) fn jwk(&self) -> Option<serde_json::Value> {
        let Pair::Es256(pair) = &*self.pair else {
            return None;
        };
        // An uncompressed point: one byte for the format, then two coordinates.
        let point = pair.public_key().as_ref();
        let (x, y) = point.get(1..)?.split_at_checked(32)?;
        Some(serde_json::json!({
            "kty": "EC", "crv": "P-256", "x": BASE64URL_NOPAD.encode(x), "y": BASE64URL_NOPAD.encode(y),
        }))
    }

    /// Returns a signed JSON Web Token.
    ///
    /// # Errors
    /// Returns an error if the operating system has no source of random numbers.
    pub(crate) fn token(
        &self,
        header: &serde_json::Value,
        claims: &serde_json::Value,
    ) -> Result<String, Error> {
        let part = |value: &serde_json::Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let mut token = format!("{}.{}", part(header), part(claims));
        let signature = self.sign(token.as_bytes());
        let signature = signature.ok_or_else(|| Error::setup("signing with the key failed"))?;
        token.push('.');
        token.push_str(&BASE64URL_NOPAD.encode(&signature));
        Ok(token)
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::Es256(pair) => {
                let signature = pair.sign(&random, message).ok()?;
                Some(signature.as_ref().to_vec())
            }
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .ok()?;
                Some(signature)
            }
        }
    }
}

/// Returns the bytes of the first PEM block with this label, or `None` if there is no valid block.
///
/// Specification: [RFC 7468](https://www.rfc-editor.org/rfc/rfc7468).
fn pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    BASE64.decode(body.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::sha256;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::json;

    #[test]
    fn a_key_has_the_id_that_it_was_given() {
        let (key, _) = SigningKey::generate().unwrap();
        assert_eq!(key.id(), None);
        assert_eq!(key.with_id("k1").id(), Some("k1"));
    }

    #[test]
    fn the_pkce_challenge_equals_the_example_of_the_rfc() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            sha256(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn random_text_is_long_and_unique() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, two);
    }

    #[test]
    fn a_token_verifies_with_its_public_key() {
        let (key, der) = SigningKey::generate().unwrap();
        assert_eq!(key.algorithm(), "ES256");
        let again = SigningKey::from_der(&der).unwrap();
        assert_eq!(key.jwk(), again.jwk());
        let token = again
            .token(&json!({"alg": "ES256"}), &json!({"a": 1}))
            .unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let public = match &*key.pair {
            Pair::Es256(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rs256(_) => unreachable!(),
        };
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public)
            .verify(
                message.as_bytes(),
                &BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap(),
            )
            .unwrap();
    }

    #[test]
    fn an_invalid_key_is_rejected_and_not_quoted() {
        for text in [
            "hunter2",
            "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nhunter2!\n-----END PRIVATE KEY-----",
        ] {
            let error = SigningKey::from_pem(&text.into()).unwrap_err();
            assert!(!format!("{error:?}{error}").contains("hunter2"));
        }
    }

    #[test]
    fn pem_is_found_among_other_text() {
        let text =
            "junk\r\n-----BEGIN PRIVATE KEY-----\r\nZm9v\r\nYmFy\r\n-----END PRIVATE KEY-----\n";
        assert_eq!(pem(text, "PRIVATE KEY").unwrap(), b"foobar");
        assert_eq!(pem(text, "PUBLIC KEY"), None);
    }
}
