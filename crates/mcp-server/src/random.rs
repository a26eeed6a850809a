//! Random identifiers, and authentication codes under a secret of this process.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns an identifier that is unique in this process and cannot be guessed.
pub(crate) fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    mac(&[b"id", &number.to_be_bytes()])
}

/// Returns an authentication code of 128 bits for `parts`, as hexadecimal digits. The code is the
/// same for the same parts as long as the process runs.
pub(crate) fn mac(parts: &[&[u8]]) -> String {
    format!("{:032x}", sign(&message(parts)))
}

/// Like [`mac`], but the secret is derived from `key`, which is one of the `StateKeys`.
#[cfg(feature = "state-keys")]
pub(crate) fn mac_under(key: &[u8; 32], parts: &[&[u8]]) -> String {
    use ring::hmac;
    // The HMAC key is derived from `key`, so that each key has only one purpose.
    let secret = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), b"mcp cursor");
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
    format!("{:032x}", sign_under(&key, &message(parts)))
}

/// Joins `parts` into bytes. Two different lists of parts never give the same bytes.
fn message(parts: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::new();
    for part in parts {
        // Each part is preceded by its length, so that different lists of parts never give the same
        // bytes.
        message.extend_from_slice(&(part.len() as u64).to_be_bytes());
        message.extend_from_slice(part);
    }
    message
}

/// Compares two texts. The time does not depend on the position of the first difference, so a client cannot guess an
/// authentication code digit by digit.
pub(crate) fn is_equal(a: &str, b: &str) -> bool {
    let differences = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}

/// Returns the HMAC-SHA-256 of the message, cut to 128 bits (RFC 2104, section 5).
#[cfg(feature = "state-keys")]
fn sign(message: &[u8]) -> u128 {
    use ring::{hmac, rand};
    static KEY: OnceLock<hmac::Key> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let secret: Option<[u8; 32]> = rand::generate(&rand::SystemRandom::new())
            .ok()
            .map(rand::Random::expose);
        // If the operating system returns no random bytes, use the random SipHash keys of the standard library.
        let secret = secret.unwrap_or_else(|| {
            let halves = [siphash(b"first"), siphash(b"second")].map(u128::to_be_bytes);
            let mut secret = [0; 32];
            for (to, from) in secret.iter_mut().zip(halves.iter().flatten()) {
                *to = *from;
            }
            secret
        });
        hmac::Key::new(hmac::HMAC_SHA256, &secret)
    });
    sign_under(key, message)
}

#[cfg(feature = "state-keys")]
fn sign_under(key: &ring::hmac::Key, message: &[u8]) -> u128 {
    let tag = ring::hmac::sign(key, message);
    let cut = tag.as_ref().first_chunk::<16>();
    cut.map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

/// Returns two SipHash values of the message, under keys of the standard library. The standard library does not document its
/// SipHash as an authentication code. Build with feature `state-keys` for HMAC.
#[cfg(not(feature = "state-keys"))]
fn sign(message: &[u8]) -> u128 {
    siphash(message)
}

fn siphash(message: &[u8]) -> u128 {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(high.hash_one(message)) << 64 | u128::from(low.hash_one(message))
}

/// Returns the id of a new task: 256 random bits.
#[cfg(feature = "tasks")]
pub(crate) fn task_id() -> Result<String, mcp_jsonrpc::ErrorObject> {
    use std::fmt::Write as _;
    let random = ring::rand::SystemRandom::new();
    let bytes: [u8; 32] = ring::rand::generate(&random)
        .map_err(|_| {
            mcp_jsonrpc::ErrorObject::internal(
                "cannot create a task id: the operating system returned no random bytes",
            )
        })?
        .expose();
    Ok(bytes.iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authentication_codes_depend_on_where_each_part_ends() {
        assert_eq!(mac(&[b"ab", b"c"]), mac(&[b"ab", b"c"]));
        assert_ne!(mac(&[b"ab", b"c"]), mac(&[b"a", b"bc"]));
        assert_eq!(mac(&[]).len(), 32);
        assert_ne!(id(), id());
        assert!(is_equal("ab", "ab") && !is_equal("ab", "ac") && !is_equal("ab", "abc"));
    }
}
