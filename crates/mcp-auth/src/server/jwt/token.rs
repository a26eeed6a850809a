//! The parts of a signed token.
//!
//! Specification: [RFC 7515, section 5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2), [RFC
//! 8725](https://www.rfc-editor.org/rfc/rfc8725) (best practices).

use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use crate::server::strict::{decode_base64url, parse_object};
use crate::server::verify::Rejection;

/// A parsed token. Its content is not trusted until the signature is verified.
pub(crate) struct Token<'a> {
    pub(crate) algorithm: Algorithm,
    /// The id of the signing key.
    pub(crate) key: Option<String>,
    /// The type, in lower case and without `application/`.
    pub(crate) kind: Option<String>,
    pub(crate) claims: Map<String, Value>,
    /// The signed bytes.
    pub(crate) message: &'a [u8],
    pub(crate) signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Parses a token. Keys and key URLs in the header are ignored: a token must not choose how it
    /// is verified. Its algorithm must be in `allowed`.
    pub(crate) fn read(text: &'a str, allowed: &[Algorithm]) -> Result<Self, Rejection> {
        let bad = |why: &'static str| Rejection::invalid(why);
        let parts = text.rsplit_once('.').and_then(|(message, signature)| {
            let (header, claims) = message.split_once('.')?;
            (!claims.contains('.')).then_some((message, header, claims, signature))
        });
        let Some((message, header, claims, signature)) = parts else {
            return Err(bad("the token is not a signed JWT"));
        };
        let header = decode_base64url(header).and_then(|d| parse_object(&d));
        let header = header.ok_or_else(|| bad("the header of the token cannot be read"))?;
        if header.contains_key("crit") {
            return Err(bad(
                "the token has critical extensions (crit) that are not supported",
            ));
        }
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(bad("the header of the token cannot be read")),
        };
        let algorithm = text("alg")?.and_then(Algorithm::named);
        let algorithm = algorithm.filter(|a| allowed.contains(a));
        let algorithm =
            algorithm.ok_or_else(|| bad("the algorithm of the token is not allowed"))?;
        let kind = text("typ")?.map(|kind| {
            let kind = kind.to_ascii_lowercase();
            let short = kind.strip_prefix("application/").map(str::to_owned);
            short.unwrap_or(kind)
        });
        let key = text("kid")?.map(str::to_owned);
        let claims = decode_base64url(claims).and_then(|d| parse_object(&d));
        let signature = decode_base64url(signature).filter(|d| !d.is_empty());
        Ok(Self {
            algorithm,
            key,
            kind,
            claims: claims.ok_or_else(|| bad("the claims of the token cannot be read"))?,
            message: message.as_bytes(),
            signature: signature.ok_or_else(|| bad("the signature of the token cannot be read"))?,
        })
    }
}
