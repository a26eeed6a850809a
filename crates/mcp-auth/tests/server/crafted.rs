//! Crafted tokens that must be rejected.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
};
use serde_json::{Value, json};

use crate::support::{KEYS, Key, NOW, RESOURCE, RSA, claims, encode, header, token, with};

/// A token of the issuer with another header.
pub(crate) fn headed(changes: &[(&str, Value)]) -> String {
    KEYS.ec.token(&with(header(), changes), &claims())
}

/// A token of the issuer without a claim.
pub(crate) fn without(claim: &str) -> String {
    let mut claims = claims();
    claims.as_object_mut().unwrap().shift_remove(claim);
    KEYS.ec.token(&header(), &claims)
}

/// A token whose signature is created by `sign`, whatever its header says.
pub(crate) fn signed(header: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!(
        "{}.{}",
        encode(header.to_string().as_bytes()),
        encode(claims().to_string().as_bytes())
    );
    let signature = sign(message.as_bytes());
    format!("{message}.{}", encode(&signature))
}

/// A signature that uses the public key as a shared secret.
fn hmac(header: &Value, secret: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    signed(header, |message| {
        ring::hmac::sign(&key, message).as_ref().to_vec()
    })
}

const FORM: &str = "the token is not a signed JWT";
const HEADER: &str = "the header of the token cannot be read";
const CLAIMS: &str = "the claims of the token cannot be read";
pub(crate) const ALG: &str = "the algorithm of the token is not allowed";
const KEY: &str = "the signing key of the token is unknown";
const SIGNATURE: &str = "the signature of the token is invalid";
const ENCODED: &str = "the signature of the token cannot be read";
const EXTENDED: &str = "the token has critical extensions (crit) that are not supported";
pub(crate) const TYPE: &str = "the type of the token (typ) is not accepted";
const FROM: &str = "the token is from another issuer";
const FOR: &str = "the token is for another audience";
pub(crate) const EXPIRED: &str = "the token has expired";
const FOREVER: &str = "the token has no expiry (exp)";
const EARLY: &str = "the token is not valid yet";
const FUTURE: &str = "the token was issued in the future";
const TIME: &str = "a time claim of the token cannot be read";
const SUBJECT: &str = "the token has no subject (sub)";
const BOUND: &str = "the token is bound to a key and cannot be used as a bearer token";
const SCOPES: &str = "the scopes of the token cannot be read";

/// Arrays in texts in arrays: together more levels than a stack has room for. serde_json reads each text as a value, with its own limit.
fn nested() -> String {
    let (open, close) = ("[".repeat(100), "]".repeat(100));
    (0..8).fold("1".to_owned(), |inner, _| {
        let text = json!(format!("{open}{inner}{close}"));
        format!(r#"{{"$serde_json::private::RawValue":{text}}}"#)
    })
}

/// The name of the case, the token, and the reason of its rejection.
pub(crate) type Case = (&'static str, String, &'static str);

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    [malformed(), confused(), forged(), misdirected()].concat()
}

fn malformed() -> Vec<Case> {
    let good = token(&[]);
    let parts: Vec<&str> = good.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    let raw = |header: &str, claims: &str| KEYS.ec.raw(header, claims);
    let (h, c) = (header().to_string(), claims().to_string());
    let twice = |text: &str, more: &str| format!("{}{more}}}", &text[..text.len() - 1]);
    vec![
        ("a word", "opaque".into(), FORM),
        ("two parts", format!("{head}.{body}"), FORM),
        ("four parts", format!("{good}.{signature}"), FORM),
        ("encrypted", format!("{head}.a.b.c.{signature}"), FORM),
        ("no header", format!(".{body}.{signature}"), HEADER),
        ("no claims", format!("{head}..{signature}"), CLAIMS),
        ("no signature", format!("{head}.{body}."), ENCODED),
        ("padding", format!("{good}=="), ENCODED),
        (
            "another alphabet",
            format!("+/+/.{body}.{signature}"),
            HEADER,
        ),
        ("bits left over", format!("{head}.{body}.AAF"), ENCODED),
        ("a header that is no JSON", raw("alg=ES256", &c), HEADER),
        ("a header that is a list", raw("[1]", &c), HEADER),
        (
            "an algorithm twice",
            raw(&twice(&h, r#","alg":"none""#), &c),
            HEADER,
        ),
        (
            "a header with texts that a decoder reads as values",
            raw(&twice(&h, &format!(r#","x":{}"#, nested())), &c),
            HEADER,
        ),
        (
            "claims with texts that a decoder reads as values",
            raw(&h, &twice(&c, &format!(r#","x":{}"#, nested()))),
            CLAIMS,
        ),
        ("claims that are no JSON", raw(&h, "{"), CLAIMS),
        ("claims that are text", raw(&h, "\"x\""), CLAIMS),
        (
            "an audience twice",
            raw(&h, &twice(&c, r#","aud":"x""#)),
            CLAIMS,
        ),
        (
            "hidden twice",
            raw(&h, &twice(&c, r#","\u0073ub":"root""#)),
            CLAIMS,
        ),
        (
            "deep down twice",
            raw(&h, &twice(&c, r#","x":[{"a":1,"a":2}]"#)),
            CLAIMS,
        ),
        ("something behind", raw(&h, &format!("{c}{c}")), CLAIMS),
        (
            "bottomless",
            raw(&h, &twice(&c, &format!(",\"x\":{}", "[".repeat(500)))),
            CLAIMS,
        ),
        (
            "too long",
            token(&[("x", json!("x".repeat(9_000)))]),
            "the token is too long",
        ),
    ]
}

fn confused() -> Vec<Case> {
    let named = |name: Value| headed(&[("alg", name)]);
    let stranger = Key::p256();
    let jwk = stranger.jwk("ec-1");
    let own = |changes: &[(&str, Value)]| stranger.token(&with(header(), changes), &claims());
    let rsa = json!({ "alg": "RS256", "kid": "rsa-1" });
    let n = KEYS.rsa.jwk("")["n"].as_str().unwrap().to_owned();
    let secret = |alg: &str, secret: &[u8]| hmac(&json!({ "alg": alg, "kid": "rsa-1" }), secret);
    let unsigned = |name: &str| signed(&json!({ "alg": name }), |_| vec![0]);
    vec![
        ("none", unsigned("none"), ALG),
        ("None", unsigned("None"), ALG),
        ("nOnE", unsigned("nOnE"), ALG),
        (
            "no algorithm",
            KEYS.ec.token(&json!({ "kid": "ec-1" }), &claims()),
            ALG,
        ),
        ("no algorithm's name", named(json!("")), ALG),
        ("an algorithm that is null", named(Value::Null), HEADER),
        ("algorithms", named(json!(["ES256"])), HEADER),
        ("in lower case", named(json!("es256")), ALG),
        ("with a space", named(json!("ES256 ")), ALG),
        ("of another curve", named(json!("ES256K")), ALG),
        (
            "the public key as a secret",
            secret("HS256", n.as_bytes()),
            ALG,
        ),
        ("the file of the key as a secret", secret("HS256", RSA), ALG),
        ("nothing as a secret", secret("HS512", b""), ALG),
        (
            "the secret by another name",
            secret("RS256", n.as_bytes()),
            SIGNATURE,
        ),
        ("RSA by a curve", headed(&[("alg", json!("RS256"))]), KEY),
        (
            "a curve by RSA",
            signed(&header(), |m| KEYS.rsa.sign(m, &RSA_PKCS1_SHA256)),
            SIGNATURE,
        ),
        (
            "another hash than the key is for",
            KEYS.rsa
                .token(&with(rsa.clone(), &[("alg", json!("RS512"))]), &claims()),
            KEY,
        ),
        (
            "another padding",
            signed(&rsa, |m| KEYS.rsa.sign(m, &RSA_PSS_SHA256)),
            SIGNATURE,
        ),
        ("the longer curve", headed(&[("alg", json!("ES384"))]), KEY),
        (
            "the key of the longer curve",
            headed(&[("kid", json!("ec-384"))]),
            KEY,
        ),
        (
            "a key along with it",
            own(&[("jwk", jwk.clone())]),
            SIGNATURE,
        ),
        (
            "only a key along with it",
            own(&[("jwk", jwk), ("kid", json!("mine"))]),
            KEY,
        ),
        (
            "the address of keys",
            own(&[("jku", json!("https://evil.example/keys"))]),
            SIGNATURE,
        ),
        (
            "the address of a certificate",
            own(&[("x5u", json!("https://evil.example/c"))]),
            SIGNATURE,
        ),
        ("a certificate", own(&[("x5c", json!(["MIIB"]))]), SIGNATURE),
        (
            "a path for a key",
            headed(&[("kid", json!("../../dev/null"))]),
            KEY,
        ),
        (
            "a query for a key",
            headed(&[("kid", json!("' OR 1=1"))]),
            KEY,
        ),
        ("an empty key", headed(&[("kid", json!(""))]), KEY),
        ("a number for a key", headed(&[("kid", json!(1))]), HEADER),
        (
            "an extension",
            headed(&[("crit", json!(["exp"])), ("exp", json!(NOW))]),
            EXTENDED,
        ),
        ("no extension", headed(&[("crit", json!([]))]), EXTENDED),
        ("a proof", headed(&[("typ", json!("dpop+jwt"))]), TYPE),
        ("a sign-out", headed(&[("typ", json!("logout+jwt"))]), TYPE),
        (
            "a type that is a number",
            headed(&[("typ", json!(7))]),
            HEADER,
        ),
    ]
}

fn forged() -> Vec<Case> {
    let good = token(&[]);
    let (message, _) = good.rsplit_once('.').unwrap();
    let (_, other) = token(&[("sub", json!("bob"))])
        .rsplit_once('.')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let mut flipped = KEYS.ec.sign(message.as_bytes(), &RSA_PKCS1_SHA256);
    flipped[40] ^= 1;
    let short = KEYS.ec.sign(message.as_bytes(), &RSA_PKCS1_SHA256)[..63].to_vec();
    vec![
        (
            "one bit",
            format!("{message}.{}", encode(&flipped)),
            SIGNATURE,
        ),
        (
            "one byte less",
            format!("{message}.{}", encode(&short)),
            SIGNATURE,
        ),
        (
            "zeros",
            format!("{message}.{}", encode(&[0; 64])),
            SIGNATURE,
        ),
        ("of another token", format!("{message}.{other}"), SIGNATURE),
        (
            "of a stranger",
            Key::p256().token(&header(), &claims()),
            SIGNATURE,
        ),
        ("in another form", signed(&header(), der), SIGNATURE),
    ]
}

/// A DER signature of another key; its form is rejected in any case.
fn der(message: &[u8]) -> Vec<u8> {
    let random = ring::rand::SystemRandom::new();
    let how = &ECDSA_P256_SHA256_ASN1_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(how, key.as_ref(), &random).unwrap();
    key.sign(&random, message).unwrap().as_ref().to_vec()
}

fn misdirected() -> Vec<Case> {
    let is = |claim: &str, value: Value| token(&[(claim, value)]);
    vec![
        ("no issuer", without("iss"), FROM),
        (
            "another issuer",
            is("iss", json!("https://evil.example")),
            FROM,
        ),
        (
            "an issuer with a slash",
            is("iss", json!("https://issuer.example/")),
            FROM,
        ),
        (
            "an issuer in capitals",
            is("iss", json!("https://ISSUER.example")),
            FROM,
        ),
        (
            "two issuers",
            is("iss", json!(["https://issuer.example"])),
            CLAIMS,
        ),
        ("no audience", without("aud"), FOR),
        (
            "another audience",
            is("aud", json!("https://other.example/mcp")),
            FOR,
        ),
        (
            "the host alone",
            is("aud", json!("https://mcp.example")),
            FOR,
        ),
        (
            "another path",
            is("aud", json!("https://mcp.example/mcp2")),
            FOR,
        ),
        (
            "a path below",
            is("aud", json!("https://mcp.example/mcp/x")),
            FOR,
        ),
        (
            "without TLS",
            is("aud", json!("http://mcp.example/mcp")),
            FOR,
        ),
        ("no audience", is("aud", json!([])), FOR),
        (
            "others",
            is("aud", json!(["https://a.example", "https://b.example"])),
            FOR,
        ),
        (
            "a list with something else in it",
            is("aud", json!([RESOURCE, 1])),
            FOR,
        ),
        ("an object", is("aud", json!({ "aud": RESOURCE })), FOR),
        (
            "the client, as in an ID token",
            is("aud", json!("client-1")),
            FOR,
        ),
        ("no end", without("exp"), FOREVER),
        ("ended", is("exp", json!(NOW - 60)), EXPIRED),
        ("ended long ago", is("exp", json!(0)), EXPIRED),
        ("ended before 1970", is("exp", json!(-1)), TIME),
        (
            "ends as text",
            is("exp", json!((NOW + 300).to_string())),
            TIME,
        ),
        ("ends at null", is("exp", Value::Null), TIME),
        ("ends after all clocks", is("exp", json!(1e300)), TIME),
        ("begins later", is("nbf", json!(NOW + 61)), EARLY),
        ("begins as text", is("nbf", json!("now")), TIME),
        ("issued later", is("iat", json!(NOW + 61)), FUTURE),
        ("no subject", without("sub"), SUBJECT),
        ("an empty subject", is("sub", json!("")), SUBJECT),
        ("a number for a subject", is("sub", json!(1)), CLAIMS),
        ("bound to a key", is("cnf", json!({ "jkt": "x" })), BOUND),
        (
            "bound to a certificate",
            is("cnf", json!({ "x5t#S256": "x" })),
            BOUND,
        ),
        ("a number for scopes", is("scope", json!(1)), SCOPES),
        (
            "a list with numbers for scopes",
            is("scope", json!(["mcp", 1])),
            SCOPES,
        ),
        ("a number for a client", is("client_id", json!(1)), CLAIMS),
    ]
}
