//! Session ids.
//!
//! Specification: [session
//! management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::fmt;

use http::HeaderValue;

/// The id of a session: 256 random bits, written as 64 hex digits. Any client that knows the id can use the session, so the id is
/// never logged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// Creates a random id.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut id = [0; 32];
        getrandom::fill(&mut id)?;
        Ok(Self(id))
    }

    /// Restores an id from the bytes that [`as_bytes`](Self::as_bytes) returned. An endpoint
    /// creates its own ids.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the id, for an [`EventStore`](crate::EventStore) or a [`SessionStore`](crate::SessionStore) outside
    /// this process. The bytes are as secret as the id.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses the value of the header. There is exactly one spelling of each id.
    pub(crate) fn parse(value: &HeaderValue) -> Option<Self> {
        Self::parse_text(value.as_bytes())
    }

    /// Parses an id that is part of another text.
    pub(crate) fn parse_text(text: &[u8]) -> Option<Self> {
        let text: &[u8; 64] = text.try_into().ok()?;
        // Without branches and tables, so that the compiler can vectorize the loop.
        let (mut values, mut wrong) = ([0_u8; 64], 0);
        for (value, digit) in values.iter_mut().zip(text) {
            let number = digit.wrapping_sub(b'0');
            let letter = digit.wrapping_sub(b'a');
            *value = if letter < 6 { letter + 10 } else { number };
            wrong |= u8::from(number > 9) & u8::from(letter > 5);
        }
        let mut id = [0; 32];
        for (byte, [high, low]) in id.iter_mut().zip(values.as_chunks().0) {
            *byte = high << 4 | low;
        }
        (wrong == 0).then_some(Self(id))
    }

    /// Returns the header value.
    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_bytes(&self.digits()).expect("hex digits make a header");
        value.set_sensitive(true);
        value
    }

    fn digits(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        text
    }

    /// Returns the hex digits, for a URL.
    #[cfg(feature = "legacy")]
    pub(crate) fn text(&self) -> String {
        self.digits().map(char::from).iter().collect()
    }

    /// Returns the id under which the session's events are stored. It depends on the number of `earlier` leases.
    pub(crate) fn event_key(&self, earlier: u64) -> Self {
        let mut key = *self;
        for (byte, part) in key.0.iter_mut().zip(earlier.to_be_bytes()) {
            *byte ^= part;
        }
        key
    }

    /// Returns a random byte of the id, which selects a shard of a table.
    pub(crate) fn shard_byte(&self) -> u8 {
        let [first, ..] = self.0;
        first
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

pub(crate) const fn digit(value: u8) -> u8 {
    match value {
        0..10 => b'0' + value,
        _ => b'a' + value - 10,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn session_ids_round_trip(bytes: [u8; 32]) {
            let id = SessionId(bytes);
            prop_assert_eq!(SessionId::parse(&id.header()), Some(id));
            prop_assert_eq!(id.as_bytes(), &bytes);
        }
    }

    // proves: HTTP-053
    #[test]
    fn a_session_id_is_visible_ascii_and_not_in_debug_output() {
        let header = SessionId::random().unwrap().header();
        assert!(header.is_sensitive());
        assert_eq!(header.len(), 64);
        assert!(
            header
                .as_bytes()
                .iter()
                .all(|byte| (0x21..=0x7e).contains(byte))
        );
        let id = SessionId([0xa5; 32]);
        assert_eq!(id.header().as_bytes(), "a5".repeat(32).as_bytes());
        assert_eq!(format!("{id:?}"), "SessionId(..)");
    }

    #[test]
    fn a_session_id_has_one_spelling() {
        let good = "0123456789abcdef".repeat(4);
        let read = |text: &str| SessionId::parse(&HeaderValue::from_str(text).unwrap());
        assert!(read(&good).is_some());
        for bad in [
            String::new(),
            good.to_uppercase(),
            good[1..].to_owned(),
            format!("{good}0"),
            format!("0x{}", &good[2..]),
            format!(" {}", &good[1..]),
            format!("g{}", &good[1..]),
            format!("+{}", &good[1..]),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
    }

    // proves: HTTP-052
    #[test]
    fn session_ids_are_random() {
        const IDS: u32 = 100_000;
        let mut seen = HashSet::new();
        let mut counts = [0_u32; 256];
        for _ in 0..IDS {
            let id = SessionId::random().unwrap();
            id.as_bytes()
                .iter()
                .for_each(|byte| counts[usize::from(*byte)] += 1);
            seen.insert(id);
        }
        assert_eq!(seen.len(), IDS as usize, "no two are the same");
        let expected = f64::from(IDS * 32 / 256);
        let squares = counts.map(|count| (f64::from(count) - expected).powi(2) / expected);
        let chi: f64 = squares.iter().sum();
        // 255 degrees of freedom: a correct generator is outside this range less than once in ten
        // million runs.
        assert!((150.0..400.0).contains(&chi), "{chi}");

        let id = seen.iter().next().unwrap();
        let header = id.header();
        for at in 0..header.len() * 8 {
            let mut text = header.as_bytes().to_vec();
            text[at / 8] ^= 1 << (at % 8);
            let Ok(changed) = HeaderValue::from_bytes(&text) else {
                continue;
            };
            let read = SessionId::parse(&changed);
            assert!(!read.is_some_and(|id| seen.contains(&id)), "bit {at}");
        }
    }
}
