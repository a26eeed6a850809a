//! Signing keys, valid tokens, and a service that records its requests.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body as _;
use mcp_auth::server::{Body, Jwks, Jwt, JwtBuilder, Protected};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use tower_service::Service;

pub(crate) const ISSUER: &str = "https://issuer.example";
pub(crate) const RESOURCE: &str = "https://mcp.example/mcp";
pub(crate) const METADATA: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW)
}

/// An RSA key of 2,048 bits in PKCS #8, for tests only: the library cannot generate RSA keys.
pub(crate) const RSA: &[u8] = include_bytes!("rsa.der");

/// Encodes base64url without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let group = u32::from_be_bytes(group);
        for at in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

/// A key of an issuer.
pub(crate) enum Key {
    Ec(EcdsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    pub(crate) fn p256() -> Self {
        Self::ec(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub(crate) fn p384() -> Self {
        Self::ec(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    fn ec(how: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::Ec(
            EcdsaKeyPair::from_pkcs8(how, der.as_ref(), &random).unwrap(),
            curve,
        )
    }

    pub(crate) fn ed25519() -> Self {
        let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap())
    }

    pub(crate) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(RSA).unwrap())
    }

    pub(crate) fn jwk(&self, id: &str) -> Value {
        let mut key = match self {
            Self::Ec(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({ "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) })
            }
            Self::Ed(pair) => {
                let x = encode(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x })
            }
            Self::Rsa(pair) => {
                let RsaPublicKeyComponents { n, e } =
                    RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": encode(&n), "e": encode(&e) })
            }
        };
        key["kid"] = id.into();
        key["use"] = "sig".into();
        key
    }

    /// Signs a message; `rsa` is the padding of an RSA key.
    pub(crate) fn sign(&self, message: &[u8], rsa: &'static dyn RsaEncoding) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ec(pair, _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(rsa, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }

    /// Creates a token with any header and claims.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        self.raw(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn raw(&self, header: &str, claims: &str) -> String {
        let message = format!(
            "{}.{}",
            encode(header.as_bytes()),
            encode(claims.as_bytes())
        );
        let signature = self.sign(message.as_bytes(), &ring::signature::RSA_PKCS1_SHA256);
        format!("{message}.{}", encode(&signature))
    }
}

/// One key of each kind, and the key set that the issuer publishes.
pub(crate) struct Keys {
    pub(crate) ec: Key,
    pub(crate) ec384: Key,
    pub(crate) ed: Key,
    pub(crate) rsa: Key,
}

pub(crate) static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    ec: Key::p256(),
    ec384: Key::p384(),
    ed: Key::ed25519(),
    rsa: Key::rsa(),
});

impl Keys {
    pub(crate) fn set(&self) -> Value {
        let mut rsa = self.rsa.jwk("rsa-1");
        rsa["alg"] = "RS256".into();
        json!({ "keys": [
            self.ec.jwk("ec-1"), self.ec384.jwk("ec-384"), self.ed.jwk("ed-1"), rsa,
            self.rsa.jwk("rsa-any"),
        ]})
    }
}

/// The claims of a valid token.
pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": RESOURCE, "sub": "alice", "client_id": "client-1",
        "scope": "mcp notes:read", "exp": NOW + 300, "iat": NOW, "jti": "1",
    })
}

/// The header of a valid token.
pub(crate) fn header() -> Value {
    json!({ "alg": "ES256", "kid": "ec-1", "typ": "at+jwt" })
}

/// A valid token with changed or additional claims.
pub(crate) fn token(changes: &[(&str, Value)]) -> String {
    KEYS.ec.token(&header(), &with(claims(), changes))
}

pub(crate) fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (name, value) in changes {
        object[*name] = value.clone();
    }
    object
}

/// A verifier with the keys and a fixed clock.
pub(crate) fn verifier() -> JwtBuilder {
    let keys = Jwks::from_json(&KEYS.set().to_string()).unwrap();
    Jwt::builder(ISSUER).keys(keys).clock(now)
}

/// A service that records its requests and returns a configured response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Echo {
    pub(crate) seen: Arc<Mutex<Vec<Parts>>>,
    /// The scope that each call requires, as a handler would.
    pub(crate) demands: Option<&'static str>,
    pub(crate) kind: Option<&'static str>,
}

impl Echo {
    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Option<Parts> {
        self.seen.lock().unwrap().pop()
    }
}

impl Service<Request<String>> for Echo {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let (parts, body) = request.into_parts();
        if let Some(scope) = self.demands {
            let grant = parts.extensions.get::<mcp_protocol::Grant>();
            grant.unwrap().demand(scope);
        }
        self.seen.lock().unwrap().push(parts);
        let kind = self.kind.unwrap_or("application/json");
        let response = Response::builder().header("content-type", kind);
        ready(Ok(response.body(format!("inner:{body}")).unwrap()))
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn challenge(&self) -> &str {
        let value = self.headers.get(WWW_AUTHENTICATE);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Returns a parameter of the challenge.
    pub(crate) fn said(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.challenge().split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub(crate) async fn send(service: &Protected<Echo>, request: Request<String>) -> Reply {
    let mut service = service.clone();
    poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
    let (parts, mut body): (_, Body<String>) = service.call(request).await.unwrap().into_parts();
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        text.extend_from_slice(&frame.unwrap().into_data().unwrap());
    }
    Reply {
        status: parts.status,
        headers: parts.headers,
        body: String::from_utf8(text).unwrap(),
    }
}

/// Sends a POST with a token.
pub(crate) async fn post(service: &Protected<Echo>, token: &str) -> Reply {
    let request = Request::post("/mcp").header(AUTHORIZATION, format!("Bearer {token}"));
    send(service, request.body("{}".to_owned()).unwrap()).await
}
