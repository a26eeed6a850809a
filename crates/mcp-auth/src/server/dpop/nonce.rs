//! Nonces for proofs. They are not stored: a nonce is a time with a signature.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use ring::rand::SystemRandom;

use crate::Secret;
use crate::error::Error;
use crate::server::strict::decode_base64url;

/// Time after which the server uses a new nonce.
const PERIOD: Duration = Duration::from_secs(60);
/// Number of periods, after the period of a nonce, in which the nonce is still accepted: 5 minutes in total.
const MAX_AGE: u64 = 4;
/// Minimum length of a key, in bytes.
const MIN_KEY_BYTES: usize = 32;

pub(super) struct Nonces(Key);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NonceAge {
    /// The nonce is from the current period.
    New,
    /// The nonce is accepted, and the client should receive a newer nonce.
    Old,
    /// The nonce is missing, forged or too old.
    Invalid,
}

impl Nonces {
    pub(super) fn random() -> Result<Self, Error> {
        let key = Key::generate(HMAC_SHA256, &SystemRandom::new());
        let key =
            key.map_err(|_| Error::setup("the operating system has no source of random numbers"))?;
        Ok(Self(key))
    }

    pub(super) fn new(key: &Secret) -> Result<Self, Error> {
        let key = key.expose().as_bytes();
        if key.len() < MIN_KEY_BYTES {
            return Err(Error::setup(format!(
                "the key of Dpop::nonce_key has {} bytes; use at least {MIN_KEY_BYTES} random bytes",
                key.len()
            )));
        }
        Ok(Self(Key::new(HMAC_SHA256, key)))
    }

    pub(super) fn nonce(&self, now: SystemTime) -> String {
        let period = period(now).to_be_bytes();
        let tag = sign(&self.0, &period);
        BASE64URL_NOPAD.encode(&[&period, tag.as_ref()].concat())
    }

    pub(super) fn age(&self, nonce: Option<&str>, now: SystemTime) -> NonceAge {
        let decoded = nonce.and_then(decode_base64url);
        let parts = decoded
            .as_deref()
            .and_then(|bytes| bytes.split_at_checked(8));
        let Some((time, tag)) = parts else {
            return NonceAge::Invalid;
        };
        let Ok(own) = time.try_into().map(u64::from_be_bytes) else {
            return NonceAge::Invalid;
        };
        let now = period(now);
        // The clock of another server behind this URL may be ahead.
        let is_current = (now.saturating_sub(MAX_AGE)..=now.saturating_add(1)).contains(&own);
        match is_current && verify(&self.0, time, tag).is_ok() {
            false => NonceAge::Invalid,
            true if own < now => NonceAge::Old,
            true => NonceAge::New,
        }
    }
}

fn period(now: SystemTime) -> u64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / PERIOD.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_accepted_for_five_minutes() {
        let nonces = Nonces::random().unwrap();
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds);
        let nonce = nonces.nonce(at(0));
        for (seconds, age) in [
            (0, NonceAge::New),
            (59, NonceAge::New),
            (60, NonceAge::Old),
            (299, NonceAge::Old),
            (300, NonceAge::Invalid),
        ] {
            assert_eq!(nonces.age(Some(&nonce), at(seconds)), age, "{seconds}");
        }
        let ahead = nonces.nonce(at(60));
        assert_eq!(nonces.age(Some(&ahead), at(0)), NonceAge::New);
        let ahead = nonces.nonce(at(120));
        assert_eq!(nonces.age(Some(&ahead), at(0)), NonceAge::Invalid);
    }

    #[test]
    fn a_nonce_of_another_key_is_invalid() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let key = Secret::new("0123456789abcdef0123456789abcdef");
        let (one, same) = (Nonces::new(&key).unwrap(), Nonces::new(&key).unwrap());
        let nonce = one.nonce(now);
        assert_eq!(same.age(Some(&nonce), now), NonceAge::New);
        let other = Nonces::random().unwrap();
        for nonce in [None, Some(""), Some("AAAA"), Some("!"), Some(&*nonce)] {
            assert_eq!(other.age(nonce, now), NonceAge::Invalid, "{nonce:?}");
        }
        let changed: String = nonce.chars().rev().collect();
        assert_eq!(one.age(Some(&changed), now), NonceAge::Invalid);
        let error = Nonces::new(&Secret::new("hunter2")).err().unwrap();
        assert!(!error.to_string().contains("hunter2") && error.to_string().contains("32"));
    }
}
