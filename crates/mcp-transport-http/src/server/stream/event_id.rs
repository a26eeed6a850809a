//! Ids of the events on the streams of a session.
//!
//! Specification:
//! [resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).

use crate::server::session_id::digit;

/// The id of an event: the number of the stream within the session, and the sequence number of the
/// event on the stream.
///
/// The text ends in a secret number of the session. This number does not control access, unlike the session id. With the number,
/// the server detects a client that uses an event id of another session and would resume at a wrong position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: u32,
    pub(crate) sequence: u64,
}

impl EventId {
    /// Appends the text of the id. `tag` is the secret number of the session.
    pub(crate) fn write(self, tag: u64, out: &mut Vec<u8>) {
        write_hex(self.stream.into(), 1, out);
        out.push(b'-');
        write_hex(self.sequence, 1, out);
        out.push(b'-');
        write_hex(tag, TAG_DIGITS, out);
    }

    /// Parses the id of an event of the session with this secret number. There is exactly one spelling of each id.
    pub(crate) fn parse(text: &[u8], tag: u64) -> Option<Self> {
        let (id, found) = Self::parse_tagged(text)?;
        (found == tag).then_some(id)
    }

    /// Parses an id. Returns the id, and the secret number of its session.
    pub(super) fn parse_tagged(text: &[u8]) -> Option<(Self, u64)> {
        let mut parts = text.split(|byte| *byte == b'-');
        let stream = parse_canonical_hex(parts.next()?)?;
        let sequence = parse_canonical_hex(parts.next()?)?;
        let secret = parts.next().filter(|secret| secret.len() == TAG_DIGITS)?;
        if parts.next().is_some() {
            return None;
        }
        let id = Self {
            stream: stream.try_into().ok()?,
            sequence,
        };
        Some((id, parse_hex(secret)?))
    }
}

/// Number of hex digits with which the secret number is written.
const TAG_DIGITS: usize = 16;

/// Appends a number as hex digits, with leading zeros up to `min_digits` digits.
fn write_hex(value: u64, min_digits: usize, out: &mut Vec<u8>) {
    let nibbles = value.to_be_bytes().map(|byte| [byte >> 4, byte & 15]);
    let nibbles = nibbles.as_flattened();
    let zeros = nibbles.iter().take_while(|nibble| **nibble == 0).count();
    let skip = zeros.min(nibbles.len().saturating_sub(min_digits));
    out.extend(nibbles.iter().skip(skip).map(|nibble| digit(*nibble)));
}

/// Parses up to 16 lower-case hex digits.
fn parse_hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value: u64, byte| {
        let nibble = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(nibble))
    })
}

/// Parses a hex number without leading zeros.
fn parse_canonical_hex(digits: &[u8]) -> Option<u64> {
    match digits {
        [b'0', _, ..] => None,
        digits => parse_hex(digits),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(id: EventId, tag: u64) -> Vec<u8> {
        let mut out = Vec::new();
        id.write(tag, &mut out);
        out
    }

    fn number_of_edges() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(0),
            Just(u64::MAX),
            0_u64..300,
            (0_u32..64).prop_map(|bit| 1 << bit),
            any::<u64>()
        ]
    }

    #[test]
    fn an_event_id_is_short() {
        let id = EventId {
            stream: 3,
            sequence: 17,
        };
        assert_eq!(text(id, 0xab), b"3-11-00000000000000ab");
        let zero = EventId {
            stream: 0,
            sequence: 0,
        };
        assert_eq!(text(zero, 0), b"0-0-0000000000000000");
        let last = EventId {
            stream: u32::MAX,
            sequence: u64::MAX,
        };
        assert_eq!(
            text(last, u64::MAX),
            b"ffffffff-ffffffffffffffff-ffffffffffffffff"
        );
    }

    #[test]
    fn an_event_id_has_one_spelling() {
        let good = b"3-11-00000000000000ab".as_slice();
        assert!(EventId::parse(good, 0xab).is_some());
        for bad in [
            "",
            "-",
            "--",
            "3",
            "3-11",
            "3-11-",
            "3-11-ab",
            "03-11-00000000000000ab",
            "3-011-00000000000000ab",
            "3-11-000000000000000ab",
            "3-11-00000000000000AB",
            "3--00000000000000ab",
            "-11-00000000000000ab",
            "3-11-00000000000000ab-",
            "3-11-00000000000000ab-1",
            " 3-11-00000000000000ab",
            "3-11-00000000000000ab\n",
            "+3-11-00000000000000ab",
            "100000000-11-00000000000000ab",
            "3-10000000000000000-00000000000000ab",
            "3_11_00000000000000ab",
            "3-11-00000000000000ac",
        ] {
            assert_eq!(EventId::parse(bad.as_bytes(), 0xab), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn event_ids_round_trip(stream: u32, sequence in number_of_edges(), tag in number_of_edges()) {
            let id = EventId { stream, sequence };
            let text = text(id, tag);
            prop_assert!(text.len() <= 42);
            prop_assert!(text.iter().all(u8::is_ascii_graphic));
            prop_assert_eq!(EventId::parse(&text, tag), Some(id));
            prop_assert_eq!(EventId::parse(&text, tag ^ 1), None);
        }

        #[test]
        fn an_event_id_parses_only_in_its_written_form(bytes in "[0-9a-g]{0,18}-[0-9a-f]{0,3}-000000000000000[0-9a-f]") {
            if let Some(id) = EventId::parse(bytes.as_bytes(), 7) {
                prop_assert_eq!(text(id, 7), bytes.as_bytes());
            }
        }

        #[test]
        fn a_flipped_bit_never_yields_the_same_event(stream: u32, sequence: u64, tag: u64) {
            let id = EventId { stream, sequence };
            let mut text = text(id, tag);
            let secret = text.len() - TAG_DIGITS;
            for at in 0..text.len() {
                for bit in 0..8 {
                    text[at] ^= 1 << bit;
                    let read = EventId::parse(&text, tag);
                    prop_assert_ne!(read, Some(id));
                    prop_assert!(at < secret || read.is_none());
                    text[at] ^= 1 << bit;
                }
            }
        }
    }
}
