//! Digests of texts.

use data_encoding::BASE64URL_NOPAD;
use ring::digest::{SHA256, digest};

/// Returns the SHA-256 hash of a text in base64url. PKCE challenges and the claim `ath` of a DPoP proof have this encoding.
pub(crate) fn sha256(text: &str) -> String {
    BASE64URL_NOPAD.encode(digest(&SHA256, text.as_bytes()).as_ref())
}
