//! A signed token, taken apart.
//!
//! Specification: [RFC 7515, section 5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2),
//! [RFC 8725](https://www.rfc-editor.org/rfc/rfc8725) (what to look out for).

use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use crate::server::strict::{decode_base64url, parse_object};
use crate::server::verify::Rejection;

/// A token as it was sent. Nothing in it is true until its signature is verified.
pub(crate) struct Token<'a> {
    pub(crate) algorithm: Algorithm,
    /// The name of the key it is signed with.
    pub(crate) key: Option<String>,
    /// The type it says to be of, in lower case and without `application/`.
    pub(crate) kind: Option<String>,
    pub(crate) claims: Map<String, Value>,
    /// What is signed.
    pub(crate) message: &'a [u8],
    pub(crate) signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Takes a token apart. Keys and addresses of keys in its header are not looked at: a token
    /// does not say how it is to be verified, and its algorithm has to be one of `allowed`.
    pub(crate) fn read(text: &'a str, allowed: &[Algorithm]) -> Result<Self, Rejection> {
        let bad = |why: &'static str| Rejection::invalid(why);
        let parts = text.rsplit_once('.').and_then(|(message, signature)| {
            let (header, claims) = message.split_once('.')?;
            (!claims.contains('.')).then_some((message, header, claims, signature))
        });
        let Some((message, header, claims, signature)) = parts else {
            return Err(bad("the token is no signed JWT"));
        };
        let header = decode_base64url(header).and_then(|d| parse_object(&d));
        let header = header.ok_or_else(|| bad("the header of the token cannot be read"))?;
        if header.contains_key("crit") {
            return Err(bad("the token has extensions that are not understood"));
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
