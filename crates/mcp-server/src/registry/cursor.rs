//! Authenticated, stateless list cursors.
//!
//! A cursor holds the sequence number of the item after which the next page starts. Its authentication code covers the list and
//! the principal. A client therefore cannot invent a cursor, use it on another list, or use the cursor of another principal. The
//! server stores nothing. A cursor is valid as long as the server has the [`StateKeys`] with which the cursor was created.

use data_encoding::BASE64URL_NOPAD;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Principal;

use crate::round_trip::StateKeys;

/// Maximum length of an accepted cursor, in bytes.
const MAX_CURSOR: usize = 128;
/// Maximum length of an accepted cursor that contains a data source's position or an item id, in bytes.
const MAX_TEXT_CURSOR: usize = 2_048;

/// The cursors of one list for one principal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursors<'a> {
    list: &'static str,
    principal: Option<&'a Principal>,
    keys: &'a StateKeys,
}

impl<'a> Cursors<'a> {
    pub(crate) fn new(
        list: &'static str,
        principal: Option<&'a Principal>,
        keys: &'a StateKeys,
    ) -> Self {
        Self {
            list,
            principal,
            keys,
        }
    }

    /// Returns the cursor after the item with this sequence number.
    pub(crate) fn encode(self, sequence: u64) -> String {
        self.sign(format!("{sequence:x}"), &sequence.to_be_bytes())
    }

    /// Returns the sequence number in a cursor.
    pub(crate) fn decode(self, cursor: &str) -> Result<u64, ErrorObject> {
        let sequence = split(cursor, MAX_CURSOR).and_then(|(text, code)| {
            let sequence = u64::from_str_radix(text, 16).ok()?;
            let is_canonical = format!("{sequence:x}") == text;
            (is_canonical && self.has_signed(&sequence.to_be_bytes(), code)).then_some(sequence)
        });
        sequence.ok_or_else(invalid)
    }

    /// Returns the cursor that contains `position`: a position from a data source, or the id of an item.
    pub(crate) fn encode_text(self, position: &str) -> String {
        let position = position.as_bytes();
        self.sign(BASE64URL_NOPAD.encode(position), position)
    }

    /// Returns the position in a cursor that [`encode_text`](Self::encode_text) created.
    pub(crate) fn decode_text(self, cursor: &str) -> Result<String, ErrorObject> {
        let position = split(cursor, MAX_TEXT_CURSOR).and_then(|(text, code)| {
            let position = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
            let is_signed = self.has_signed(&position, code);
            String::from_utf8(position).ok().filter(|_| is_signed)
        });
        position.ok_or_else(invalid)
    }

    fn sign(self, text: String, position: &[u8]) -> String {
        let code = self.with_parts(position, |parts| self.keys.mac(parts));
        text + "." + &code
    }

    fn has_signed(self, position: &[u8], code: &str) -> bool {
        self.with_parts(position, |parts| self.keys.has_signed(parts, code))
    }

    /// Calls `sign` with the data that the authentication code covers, and returns the result of `sign`.
    fn with_parts<T>(self, position: &[u8], sign: impl FnOnce(&[&[u8]]) -> T) -> T {
        let has_principal = [u8::from(self.principal.is_some())];
        let principal = self.principal.map(Principal::as_str).unwrap_or_default();
        sign(&[
            self.list.as_bytes(),
            &has_principal,
            principal.as_bytes(),
            position,
        ])
    }
}

/// Splits a cursor into the position and its authentication code.
fn split(cursor: &str, max_bytes: usize) -> Option<(&str, &str)> {
    (cursor.len() <= max_bytes)
        .then(|| cursor.rsplit_once('.'))
        .flatten()
}

/// Returns the error for a cursor that this server did not issue to this principal.
fn invalid() -> ErrorObject {
    ErrorObject::invalid_params("invalid cursor; use the nextCursor of the previous page")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PAGE-002, PAGE-005, PAGE-012, M-PAGE-003, M-PAGE-004
    #[test]
    fn a_cursor_is_valid_only_unchanged_and_for_its_list_and_principal() {
        let keys = StateKeys::random();
        let tools = Cursors::new("tools", None, &keys);
        let cursor = tools.encode(41);
        assert_eq!(tools.decode(&cursor), Ok(41));
        assert_eq!(tools.encode(41), cursor);
        assert!(
            Cursors::new("prompts", None, &keys)
                .decode(&cursor)
                .is_err()
        );
        for at in 0..cursor.len() {
            let mut bytes = cursor.clone().into_bytes();
            bytes[at] ^= 1;
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(tools.decode(&text).unwrap_err().code.0, -32602);
        }
        let spelled = ["+", "0"].map(|prefix| format!("{prefix}{cursor}"));
        let garbage = ["", ".", "zz", "0.", "+29.00", &"9".repeat(4096)];
        for text in garbage
            .into_iter()
            .chain(spelled.iter().map(String::as_str))
        {
            assert!(tools.decode(text).is_err(), "{text}");
        }
        let (ada, alan) = (Principal::new("ada"), Principal::new("alan"));
        let of = |principal| Cursors::new("tools", principal, &keys);
        let cursor = of(Some(&ada)).encode(41);
        assert_eq!(of(Some(&ada)).decode(&cursor), Ok(41));
        assert!(of(Some(&alan)).decode(&cursor).is_err());
        assert!(of(None).decode(&cursor).is_err());
    }

    #[cfg(feature = "state-keys")]
    #[test]
    fn a_cursor_is_valid_after_a_restart_with_the_same_keys() {
        let keys = |key| StateKeys::new([key; 32]);
        let cursor = |keys: &StateKeys| {
            let cursors = Cursors::new("tools", None, keys);
            (cursors.encode(41), cursors.encode_text("a"))
        };
        let (number, text) = cursor(&keys(1));
        for same in [keys(1), keys(2).with_previous([1; 32])] {
            let cursors = Cursors::new("tools", None, &same);
            assert_eq!(cursors.decode(&number), Ok(41));
            assert_eq!(cursors.decode_text(&text).as_deref(), Ok("a"));
        }
        for other in [keys(2), StateKeys::random()] {
            assert!(Cursors::new("tools", None, &other).decode(&number).is_err());
        }
    }
}
