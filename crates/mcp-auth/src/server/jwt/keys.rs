//! The public keys of an issuer.
//!
//! Specification: [RFC 7517](https://www.rfc-editor.org/rfc/rfc7517) (key sets), [RFC 7518, section
//! 6](https://www.rfc-editor.org/rfc/rfc7518#section-6) and [RFC
//! 8037](https://www.rfc-editor.org/rfc/rfc8037) (key parameters).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Map, Value};

use super::algorithm::{Algorithm, Family, Verification};
use crate::error::Error;
use crate::server::strict::{decode_base64url, parse_object};

/// Maximum number of keys that are read from a key set.
const MAX_KEYS: usize = 32;

/// A JSON Web Key Set, such as `{"keys": [..]}`. Keys that cannot verify a supported signature are
/// ignored. Clones share the keys.
#[derive(Clone)]
pub struct Jwks(Arc<[Key]>);

pub(in crate::server) struct Key {
    id: Option<String>,
    /// The only algorithm for which the key may be used; `None` if the key names no algorithm.
    only: Option<Algorithm>,
    material: Material,
}

enum Material {
    Point(Family, Vec<u8>),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureCheck {
    Valid,
    Invalid,
    /// The key set has no matching key.
    UnknownKey,
}

impl Jwks {
    /// Parses a key set.
    ///
    /// # Errors
    /// Returns an error if the text is not a key set or has no usable key.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::read(text.as_bytes())
    }

    pub(crate) fn read(text: &[u8]) -> Result<Self, Error> {
        let unusable = |why| Err(Error::invalid_response(why));
        let set = parse_object(text);
        let Some(Value::Array(keys)) = set.as_ref().and_then(|set| set.get("keys")) else {
            return unusable("the key set is not a JSON object with an array of keys");
        };
        if keys.len() > MAX_KEYS {
            tracing::warn!(
                keys = keys.len(),
                most = MAX_KEYS,
                "the key set has too many keys, \
             some are ignored"
            );
        }
        let keys: Arc<[Key]> = keys.iter().take(MAX_KEYS).filter_map(Key::read).collect();
        if keys.is_empty() {
            return unusable("the key set has no public key that verifies signatures");
        }
        Ok(Self(keys))
    }

    /// Checks the signature of a token. If the token has no key id, the signature is checked only if exactly one key matches.
    pub(crate) fn check(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> SignatureCheck {
        let fitting = self.0.iter().filter(|key| key.matches(algorithm));
        let mut named = fitting.filter(|key| id.is_none() || key.id.as_deref() == id);
        let Some(first) = named.next() else {
            return SignatureCheck::UnknownKey;
        };
        let mut rest = named.peekable();
        if id.is_none() && rest.peek().is_some() {
            return SignatureCheck::UnknownKey;
        }
        let mut all = std::iter::once(first).chain(rest);
        if all.any(|key| key.verifies(algorithm, message, signature)) {
            SignatureCheck::Valid
        } else {
            SignatureCheck::Invalid
        }
    }
}

impl FromStr for Jwks {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::from_json(text)
    }
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.0.iter().map(|key| key.id.as_deref().unwrap_or("-"));
        f.debug_list().entries(ids).finish()
    }
}

impl Key {
    pub(in crate::server) fn read(value: &Value) -> Option<Self> {
        let key = value.as_object()?;
        let text = |name| key.get(name).map(Value::as_str);
        // An invalid member invalidates the key.
        let id = match text("kid") {
            None => None,
            Some(id) => Some(id?.to_owned()),
        };
        let only = match text("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name?)?),
        };
        if !matches!(text("use"), None | Some(Some("sig"))) || !may_verify(key) {
            return None;
        }
        let material = Material::read(key)?;
        if only.is_some_and(|only| only.family() != material.family()) {
            return None;
        }
        Some(Self { id, only, material })
    }

    pub(in crate::server) fn matches(&self, algorithm: Algorithm) -> bool {
        let is_meant = self.only.is_none_or(|only| only == algorithm);
        is_meant && self.material.family() == algorithm.family()
    }

    pub(in crate::server) fn verifies(
        &self,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let verified = match (&self.material, algorithm.verification()) {
            (Material::Point(_, point), Verification::Point(how)) => {
                UnparsedPublicKey::new(how, point).verify(message, signature)
            }
            (Material::Rsa(key), Verification::Rsa(how)) => key.verify(how, message, signature),
            _ => return false,
        };
        verified.is_ok()
    }
}

fn may_verify(key: &Map<String, Value>) -> bool {
    match key.get("key_ops") {
        None => true,
        Some(Value::Array(all)) => all.iter().any(|i| i == "verify"),
        Some(_) => false,
    }
}

impl Material {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name| key.get(name)?.as_str();
        let member = |name| decode_base64url(text(name)?);
        let curve = || text("crv");
        match text("kty")? {
            "EC" => {
                let (family, length) = match curve()? {
                    "P-256" => (Family::P256, 32),
                    "P-384" => (Family::P384, 48),
                    _ => return None,
                };
                let (x, y) = (member("x")?, member("y")?);
                if x.len() != length || y.len() != length {
                    return None;
                }
                // An uncompressed point: one byte for the format, then two coordinates.
                Some(Self::Point(family, [vec![4], x, y].concat()))
            }
            "OKP" if curve()? == "Ed25519" => {
                let x = member("x")?;
                (x.len() == 32).then_some(Self::Point(Family::Ed25519, x))
            }
            "RSA" => {
                let (n, e) = (member("n")?, member("e")?);
                Some(Self::Rsa(RsaPublicKeyComponents { n, e }))
            }
            _ => None,
        }
    }

    fn family(&self) -> Family {
        match self {
            Self::Point(family, _) => *family,
            Self::Rsa(_) => Family::Rsa,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::BASE64URL_NOPAD;
    use serde_json::json;

    fn point() -> Value {
        let coordinate = BASE64URL_NOPAD.encode(&[7; 32]);
        json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate, "kid": "a" })
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    fn read(keys: &[Value]) -> Result<Jwks, Error> {
        Jwks::from_json(&json!({ "keys": keys }).to_string())
    }

    #[test]
    fn keys_that_cannot_verify_are_ignored() {
        let bad = [
            json!("no key"),
            json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "secret" }),
            with(point(), "use", json!("enc")),
            with(point(), "use", json!(1)),
            with(point(), "key_ops", json!(["sign"])),
            with(point(), "key_ops", json!("verify")),
            with(point(), "alg", json!("RS256")),
            with(point(), "alg", json!("ES384")),
            with(point(), "alg", json!("HS256")),
            with(point(), "alg", json!(1)),
            with(point(), "kid", json!(1)),
            with(point(), "crv", json!("secp256k1")),
            with(point(), "crv", json!("P-384")),
            with(point(), "x", json!("AAAA")),
            with(point(), "x", json!(BASE64URL_NOPAD.encode(&[0; 33]))),
            with(
                point(),
                "y",
                json!(format!("{}=", BASE64URL_NOPAD.encode(&[7; 32]))),
            ),
            json!({ "kty": "OKP", "crv": "X25519", "x": BASE64URL_NOPAD.encode(&[7; 32]) }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": BASE64URL_NOPAD.encode(&[7; 31]) }),
            json!({ "kty": "RSA", "n": "!", "e": "AQAB" }),
        ];
        for key in &bad {
            let error = read(std::slice::from_ref(key)).unwrap_err();
            assert!(error.to_string().contains("no public key"), "{key}");
        }
        let good = with(point(), "use", json!("sig"));
        let good = with(good, "key_ops", json!(["verify"]));
        let good = with(good, "alg", json!("ES256"));
        let all: Vec<Value> = bad.into_iter().chain([good]).collect();
        assert_eq!(read(&all).unwrap().0.len(), 1);
    }

    #[test]
    fn a_key_set_has_a_maximum_size() {
        let many = vec![point(); 1_000];
        assert_eq!(read(&many).unwrap().0.len(), MAX_KEYS);
    }

    #[test]
    fn an_invalid_key_set_is_rejected() {
        for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
            assert!(Jwks::from_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_id_or_as_the_only_match() {
        let one = read(&[point()]).unwrap();
        let two = read(&[point(), with(point(), "kid", json!("b"))]).unwrap();
        for (keys, id, algorithm, expected) in [
            (&one, Some("a"), Algorithm::ES256, SignatureCheck::Invalid),
            (&one, None, Algorithm::ES256, SignatureCheck::Invalid),
            (
                &one,
                Some("b"),
                Algorithm::ES256,
                SignatureCheck::UnknownKey,
            ),
            (
                &one,
                Some("a"),
                Algorithm::RS256,
                SignatureCheck::UnknownKey,
            ),
            (&two, None, Algorithm::ES256, SignatureCheck::UnknownKey),
            (&two, Some("b"), Algorithm::ES256, SignatureCheck::Invalid),
        ] {
            let found = keys.check(id, algorithm, b"", b"");
            assert_eq!(found, expected, "{keys:?} {id:?} {algorithm}");
        }
    }
}
