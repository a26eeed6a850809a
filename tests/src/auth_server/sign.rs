//! Keys and signatures.

use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// This RSA key is stored, because `ring` cannot create RSA keys.
const RSA: &[u8] = include_bytes!("../../../crates/mcp-auth/tests/server/rsa.der");

/// The key of an authorization server.
pub(super) enum Signer {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl Signer {
    pub(super) fn es256() -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let der = EcdsaKeyPair::generate_pkcs8(how, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(how, der.as_ref(), &random);
        Self::Es256(pair.expect("the same key"))
    }

    pub(super) fn rs256() -> Self {
        Self::Rs256(RsaKeyPair::from_pkcs8(RSA).expect("a key"))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Rs256(_) => "RS256",
        }
    }

    /// The public half.
    pub(super) fn jwk(&self) -> Value {
        let mut key = match self {
            Self::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
            }
            Self::Rs256(pair) => {
                let key = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": encode(&key.n), "e": encode(&key.e) })
            }
        };
        key["kid"] = "key-1".into();
        key["alg"] = self.algorithm().into();
        key
    }

    pub(super) fn token(&self, claims: &Value) -> String {
        let header = json!({ "typ": "at+jwt", "alg": self.algorithm(), "kid": "key-1" });
        let part = |value: &Value| encode(value.to_string().as_bytes());
        let message = format!("{}.{}", part(&header), part(claims));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Es256(pair) => {
                let signature = pair.sign(&random, message.as_bytes());
                signature.expect("a signature").as_ref().to_vec()
            }
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                )
                .expect("a signature");
                signature
            }
        };
        format!("{message}.{}", encode(&signature))
    }
}

/// base64url without padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    data_encoding::BASE64URL_NOPAD.encode(bytes)
}

/// Returns the PKCE challenge of a verifier.
pub(super) fn challenge(verifier: &str) -> String {
    encode(digest(&SHA256, verifier.as_bytes()).as_ref())
}

/// Returns the thumbprint of the P-256 key in a DPoP proof, without a check of the proof.
pub(super) fn thumbprint(proof: &str) -> String {
    let header = proof.split('.').next().unwrap_or_default();
    let header = data_encoding::BASE64URL_NOPAD.decode(header.as_bytes());
    let header: Value = serde_json::from_slice(&header.expect("base64url")).expect("JSON");
    let jwk = &header["jwk"];
    challenge(&format!(
        r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#,
        jwk["x"], jwk["y"]
    ))
}
