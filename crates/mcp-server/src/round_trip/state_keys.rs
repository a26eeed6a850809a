//! Encryption of `requestState`, which the client returns in the next round trip.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64;
use mcp_jsonrpc::ErrorObject;
use ring::{aead, digest, hkdf, rand};

use crate::random;

/// Default lifetime of a state; users may respond slowly.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// Maximum size of a state before encryption, in bytes.
const MAX_STATE: usize = 64 << 10;
/// Number of bytes that encryption adds to a state, for the version, the salt, the expiry time and the tag.
const OVERHEAD: usize = 1 + 16 + 8 + 16;

/// The keys that encrypt the state of a call between its round trips (`requestState`, stateless revision). The same keys
/// authenticate the cursors of lists and the records of stored sessions.
///
/// By default each process creates a random key. Several processes need the same key if they serve the same clients. A process
/// needs the key of the earlier process if a client may continue a call after a restart of the server. In both cases, pass 32
/// random bytes from a secret store to [`StateKeys::new`]. A change of the key must neither fail running calls nor lose stored
/// sessions. Therefore, first give the new key to all processes with [`with_previous`]. Then make the new key the current key,
/// and keep the old key with [`with_previous`] as long as sessions can live.
///
/// State is encrypted and authenticated (ChaCha20-Poly1305 under a key derived for each state), and bound to the principal, the
/// method, the name, the arguments, and an expiry time. A client may use a state more than once until it expires. If a state must
/// be used only once, keep a record in the server.
///
/// [`with_previous`]: Self::with_previous
pub struct StateKeys {
    current: OnceLock<[u8; 32]>,
    is_shared: bool,
    previous: Vec<[u8; 32]>,
    lifetime: Duration,
    now: fn() -> SystemTime,
}

impl StateKeys {
    /// Creates state keys with a random key that only this process has.
    pub fn random() -> Self {
        Self {
            current: OnceLock::new(),
            is_shared: false,
            previous: Vec::new(),
            lifetime: LIFETIME,
            now: SystemTime::now,
        }
    }

    /// Creates state keys from `key`, for several processes with the same key.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            current: OnceLock::from(key),
            is_shared: true,
            ..Self::random()
        }
    }

    /// Adds a key that decrypts and verifies, but is not used to encrypt or sign. Use it for the old key or the next key when the
    /// key changes.
    #[must_use]
    pub fn with_previous(mut self, key: [u8; 32]) -> Self {
        self.previous.push(key);
        self
    }

    /// Sets the lifetime of a state. Default: one hour.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    #[cfg(test)]
    fn with_clock(mut self, now: fn() -> SystemTime) -> Self {
        self.now = now;
        self
    }

    fn seconds(&self) -> u64 {
        let now = (self.now)().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs()
    }
}

impl StateKeys {
    /// Returns the current key. Creates a random key when a key is first needed.
    fn current(&self) -> Result<&[u8; 32], ring::error::Unspecified> {
        if let Some(key) = self.current.get() {
            return Ok(key);
        }
        let fresh: [u8; 32] = rand::generate(&rand::SystemRandom::new())?.expose();
        Ok(self.current.get_or_init(|| fresh))
    }

    /// Returns an authentication code of 128 bits for `parts`, as hexadecimal digits.
    #[doc(hidden)]
    pub fn mac(&self, parts: &[&[u8]]) -> String {
        match self.current() {
            Ok(key) => random::mac_under(key, parts),
            // The operating system returned no random bytes for a key.
            Err(_) => random::mac(parts),
        }
    }

    /// Returns whether the key was passed to [`new`](Self::new). Other processes can then have the same key.
    #[doc(hidden)]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns whether `code` is the authentication code of `parts`, under the current or a previous key.
    #[doc(hidden)]
    pub fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        let previous = self.previous.iter();
        let mut previous = previous.map(|key| random::mac_under(key, parts));
        random::is_equal(&self.mac(parts), code)
            || previous.any(|expected| random::is_equal(&expected, code))
    }

    pub(crate) fn encrypt(&self, state: &[u8], bound: &[u8]) -> Result<String, ErrorObject> {
        self.encrypt_for(self.lifetime, state, bound)
    }

    /// Encrypts and authenticates a state of at most 64 KiB, for a [`Service`](mcp_protocol::Service) that makes round trips
    /// without a [`Server`](crate::Server). [`decrypt`](Self::decrypt) returns the state only with the same `bound`, and only
    /// until `lifetime`, rounded down to seconds, has passed. `bound` should identify the kind of state, the call and the
    /// principal. The encrypted text does not contain `bound`.
    ///
    /// # Errors
    /// The state is too long, or the operating system returns no random bytes.
    pub fn encrypt_for(
        &self,
        lifetime: Duration,
        state: &[u8],
        bound: &[u8],
    ) -> Result<String, ErrorObject> {
        if state.len() > MAX_STATE {
            return Err(ErrorObject::internal(format!(
                "the state of the call (input responses and memoized steps) is larger than \
                 {MAX_STATE} bytes"
            )));
        }
        let failed = |_| ErrorObject::internal("the state of the call cannot be encrypted");
        let random = rand::SystemRandom::new();
        let key = self.current().map_err(failed)?;
        let salt: [u8; 16] = rand::generate(&random).map_err(failed)?.expose();
        let until = self.seconds().saturating_add(lifetime.as_secs());
        let mut sealed = state.to_vec();
        derive_key(key, &salt)
            .map_err(failed)?
            .seal_in_place_append_tag(nonce(), aead::Aad::from(context(until, bound)), &mut sealed)
            .map_err(failed)?;
        let mut out = vec![VERSION];
        out.extend_from_slice(&salt);
        out.extend_from_slice(&until.to_be_bytes());
        out.append(&mut sealed);
        Ok(BASE64.encode(&out))
    }

    /// Returns the state that [`encrypt_for`](Self::encrypt_for) encrypted with one of these keys. Returns `None` if the text was
    /// changed, has expired, or is bound to another value.
    pub fn decrypt(&self, state: &str, bound: &[u8]) -> Option<Vec<u8>> {
        if state.len() > BASE64.encode_len(MAX_STATE + OVERHEAD) {
            return None;
        }
        let bytes = BASE64.decode(state.as_bytes()).ok()?;
        let (&[VERSION], rest) = bytes.split_first_chunk::<1>()? else {
            return None;
        };
        let (salt, rest) = rest.split_first_chunk::<16>()?;
        let (until, sealed) = rest.split_first_chunk::<8>()?;
        let until = u64::from_be_bytes(*until);
        if until < self.seconds() {
            return None;
        }
        self.current
            .get()
            .into_iter()
            .chain(&self.previous)
            .find_map(|key| {
                let mut sealed = sealed.to_vec();
                let context = aead::Aad::from(context(until, bound));
                let opened = derive_key(key, salt)
                    .ok()?
                    .open_in_place(nonce(), context, &mut sealed)
                    .ok()?;
                Some(opened.to_vec())
            })
    }
}

const VERSION: u8 = 1;

/// Returns a constant nonce. This is safe, because each derived key encrypts only one text.
fn nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0; 12])
}

fn derive_key(
    key: &[u8; 32],
    salt: &[u8; 16],
) -> Result<aead::LessSafeKey, ring::error::Unspecified> {
    let algorithm = &aead::CHACHA20_POLY1305;
    let master = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(key);
    let key = master.expand(&[b"mcp request state"], algorithm)?;
    Ok(aead::LessSafeKey::new(key.into()))
}

/// Returns the associated data, which the encryption authenticates: the expiry time `until` and the hash of `bound`.
fn context(until: u64, bound: &[u8]) -> Vec<u8> {
    let mut context = until.to_be_bytes().to_vec();
    context.extend_from_slice(digest::digest(&digest::SHA256, bound).as_ref());
    context
}

impl Default for StateKeys {
    fn default() -> Self {
        Self::random()
    }
}

impl fmt::Debug for StateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateKeys")
            .field("previous", &self.previous.len())
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3_602)
    }

    // proves: M-MRTR-011, M-MRTR-012, M-MRTR-013, M-MRTR-014, M-MRTR-016, M-MRTR-017, M-MRTR-018, M-ELIC-025
    #[test]
    fn a_state_is_decrypted_only_with_its_keys_for_its_call_within_its_lifetime() {
        let keys = StateKeys::new(KEY);
        let sealed = keys.encrypt(b"state", b"call").unwrap();
        assert_eq!(keys.decrypt(&sealed, b"call").unwrap(), b"state");
        assert_ne!(
            keys.encrypt(b"state", b"call").unwrap(),
            sealed,
            "each is its own"
        );
        assert!(!sealed.contains("state"));

        assert_eq!(keys.decrypt(&sealed, b"other call"), None);
        assert_eq!(StateKeys::random().decrypt(&sealed, b"call"), None);
        assert_eq!(StateKeys::new([8; 32]).decrypt(&sealed, b"call"), None);
        let rotated = StateKeys::new([8; 32]).with_previous(KEY);
        assert_eq!(rotated.decrypt(&sealed, b"call").unwrap(), b"state");
        assert_eq!(
            StateKeys::new(KEY)
                .with_clock(later)
                .decrypt(&sealed, b"call"),
            None
        );

        for tampered in ["", "AA==", &format!("{sealed}-TAMPERED"), &sealed[4..], "é"] {
            assert_eq!(keys.decrypt(tampered, b"call"), None, "{tampered}");
        }
        let bytes = BASE64.decode(sealed.as_bytes()).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = BASE64.encode(&changed);
            assert_eq!(keys.decrypt(&changed, b"call"), None, "byte {at}");
        }
    }

    #[test]
    fn a_state_that_is_too_long_is_refused() {
        let keys = StateKeys::random();
        let longest = vec![0; MAX_STATE];
        let sealed = keys.encrypt(&longest, b"").unwrap();
        assert_eq!(keys.decrypt(&sealed, b""), Some(longest));
        let refused = keys.encrypt(&vec![0; MAX_STATE + 1], b"").unwrap_err();
        assert!(refused.message.contains("65536"), "{}", refused.message);
    }

    #[test]
    fn a_state_can_be_decrypted_until_its_last_second() {
        fn at(seconds: u64) -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(seconds)
        }
        let keys = StateKeys::new(KEY).with_lifetime(Duration::from_secs(60));
        let sealed = keys.with_clock(|| at(100)).encrypt(b"state", b"").unwrap();
        let keys = StateKeys::new(KEY);
        assert!(keys.with_clock(|| at(160)).decrypt(&sealed, b"").is_some());
        let keys = StateKeys::new(KEY);
        assert_eq!(keys.with_clock(|| at(161)).decrypt(&sealed, b""), None);
    }
}
