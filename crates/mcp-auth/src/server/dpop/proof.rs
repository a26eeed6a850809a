//! One proof: its syntax, its signature, and its request.
//!
//! Specification: [RFC 9449, sections 4.2 and 4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.2), [RFC
//! 7638](https://www.rfc-editor.org/rfc/rfc7638) (thumbprints).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};
use url::Url;

use super::{PROOF, ProofError};
use crate::Secret;
use crate::digest::sha256;
use crate::server::audience::Audience;
use crate::server::jwt::{Algorithm, Key};
use crate::server::strict::{decode_base64url, parse_object};

/// Maximum size of a proof, in bytes. A proof with an RSA key of 8,192 bits has about 3,000 bytes.
const MAX_PROOF_BYTES: usize = 8 << 10;
/// Maximum size of the identifier of a proof, in bytes.
const MAX_ID_BYTES: usize = 1_024;

/// The members of a JWK that only private or shared keys have.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A proof whose signature is valid.
pub(super) struct Proof {
    /// The thumbprint of the key.
    pub(super) key: String,
    /// A digest of the key and the identifier (`jti`) of the proof.
    pub(super) id: String,
    pub(super) nonce: Option<String>,
    claims: Map<String, Value>,
}

/// Removes the proof from a request and returns it.
pub(super) fn take(headers: &mut HeaderMap) -> Result<HeaderValue, ProofError> {
    if headers.get_all(PROOF).iter().nth(1).is_some() {
        return Err(invalid("the request has more than one proof"));
    }
    let value = headers.remove(PROOF);
    value.ok_or_else(|| invalid("the request has no proof (header DPoP)"))
}

fn invalid(why: &'static str) -> ProofError {
    ProofError::Invalid(why)
}

impl Proof {
    /// Parses a proof and verifies its signature with the key in the proof.
    pub(super) fn read(value: &HeaderValue, allowed: &[Algorithm]) -> Result<Self, ProofError> {
        let text = value.to_str().ok();
        let text = text.filter(|text| text.len() <= MAX_PROOF_BYTES);
        let text = text.ok_or_else(|| invalid("the proof is not text of at most 8 KiB"))?;
        let parts = text.rsplit_once('.').and_then(|(message, signature)| {
            let (header, claims) = message.split_once('.')?;
            (!claims.contains('.')).then_some((message, header, claims, signature))
        });
        let Some((message, header, claims, signature)) = parts else {
            return Err(invalid("the proof is not a signed JWT"));
        };
        let object = |part| decode_base64url(part).and_then(|bytes| parse_object(&bytes));
        let (Some(header), Some(claims)) = (object(header), object(claims)) else {
            return Err(invalid("the header or claims of the proof cannot be read"));
        };
        if header.get("typ").and_then(Value::as_str) != Some("dpop+jwt") {
            return Err(invalid("the type of the proof (typ) is not dpop+jwt"));
        }
        if header.contains_key("crit") {
            return Err(invalid(
                "the proof has unsupported critical extensions (crit)",
            ));
        }
        let name = header.get("alg").and_then(Value::as_str);
        let algorithm = name.and_then(Algorithm::named);
        let Some(algorithm) = algorithm.filter(|algorithm| allowed.contains(algorithm)) else {
            return Err(invalid(
                "the algorithm of the proof is not allowed; use one of the algorithms in the challenge (algs)",
            ));
        };
        let jwk = header.get("jwk").and_then(Value::as_object);
        let jwk = jwk.ok_or_else(|| invalid("the proof has no key (jwk)"))?;
        if PRIVATE.iter().any(|name| jwk.contains_key(*name)) {
            return Err(invalid("the key of the proof is not a public key"));
        }
        let unusable = || invalid("the key of the proof (jwk) cannot be used with its algorithm");
        let key = header.get("jwk").and_then(Key::read);
        let key = key.filter(|key| key.matches(algorithm));
        let key = key.ok_or_else(unusable)?;
        let thumbprint = thumbprint(jwk).ok_or_else(unusable)?;
        let signature = decode_base64url(signature).unwrap_or_default();
        if !key.verifies(algorithm, message.as_bytes(), &signature) {
            return Err(invalid("the signature of the proof is invalid"));
        }
        let id = claims.get("jti").and_then(Value::as_str);
        let Some(id) = id.filter(|id| (1..=MAX_ID_BYTES).contains(&id.len())) else {
            return Err(invalid("the proof has no identifier (jti)"));
        };
        let nonce = match claims.get("nonce") {
            None => None,
            Some(Value::String(nonce)) => Some(nonce.clone()),
            Some(_) => return Err(invalid("the nonce of the proof is not text")),
        };
        Ok(Self {
            id: sha256(&format!("{thumbprint} {id}")),
            key: thumbprint,
            nonce,
            claims,
        })
    }

    /// Checks that the proof is for this request, this token and this time.
    pub(super) fn check(
        &self,
        parts: &Parts,
        token: &Secret,
        audience: &Audience,
        now: SystemTime,
        window: Duration,
    ) -> Result<(), ProofError> {
        if self.text("htm") != Some(parts.method.as_str()) {
            return Err(invalid("the proof is for another method (htm)"));
        }
        let own = format!("{}{}", audience.origin(), parts.uri.path());
        let uri = self.text("htu").and_then(target);
        if uri.is_none() || (uri != target(&own) && uri != target(audience.resource())) {
            return Err(invalid("the proof is for another URL (htu)"));
        }
        if self.text("ath") != Some(&sha256(token.expose())) {
            return Err(invalid("the proof is for another token (ath)"));
        }
        match self.issued() {
            None => Err(invalid("the proof has no time (iat)")),
            Some(issued) if (seconds(now) - issued).abs() > window.as_secs_f64() => Err(invalid(
                "the time of the proof (iat) differs too much from the clock of the server",
            )),
            Some(_) => Ok(()),
        }
    }

    /// Returns the remaining time for which the proof is accepted.
    pub(super) fn lifetime(&self, now: SystemTime, window: Duration) -> Duration {
        let end = self.issued().unwrap_or_default() + window.as_secs_f64();
        let left = Duration::try_from_secs_f64(end - seconds(now)).unwrap_or_default();
        // The additional second covers the rounding of the difference.
        left.min(window * 2) + Duration::from_secs(1)
    }

    fn issued(&self) -> Option<f64> {
        self.claims.get("iat").and_then(Value::as_f64)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Returns a URL in normal form: in lower case, without the default port, and without a slash at the end. A URL with a query or a
/// fragment is not valid in a proof.
fn target(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let text = String::from(url);
    is_plain.then(|| text.strip_suffix('/').map(str::to_owned).unwrap_or(text))
}

/// Returns the SHA-256 thumbprint of a public key.
fn thumbprint(jwk: &Map<String, Value>) -> Option<String> {
    let members: &[&str] = match jwk.get("kty")?.as_str()? {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let member = |name: &&str| Some(format!("{:?}:{}", name, jwk.get(*name)?));
    let members = members.iter().map(member).collect::<Option<Vec<_>>>()?;
    Some(sha256(&format!("{{{}}}", members.join(","))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbprint_equals_the_example_of_the_rfc() {
        // RFC 7638, section 3.1, and RFC 8037, appendix A.3.
        let rsa = r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#;
        let ed =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        for (jwk, expected) in [
            (rsa, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
            (ed, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        ] {
            let jwk = parse_object(jwk.as_bytes()).unwrap();
            assert_eq!(thumbprint(&jwk).as_deref(), Some(expected));
        }
    }

    #[test]
    fn urls_are_compared_in_normal_form() {
        for same in [
            "https://mcp.example/mcp",
            "HTTPS://MCP.example:443/mcp",
            "https://mcp.example/mcp/",
            "https://mcp.example/a/../mcp",
        ] {
            assert_eq!(target(same).unwrap(), "https://mcp.example/mcp", "{same}");
        }
        for other in [
            "https://mcp.example/mcp?x",
            "https://mcp.example/mcp#x",
            "https://u@mcp.example/mcp",
            "/mcp",
            "",
        ] {
            assert_eq!(target(other), None, "{other}");
        }
    }
}
