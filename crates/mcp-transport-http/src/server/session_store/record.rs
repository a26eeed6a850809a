//! The form in which a session is stored.

use std::fmt::Display;
use std::sync::Arc;

use mcp_jsonrpc::decode_document;
use mcp_protocol::task::Timestamp;
use mcp_protocol::{Principal, SessionState};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::{SessionStoreError, SessionStoreErrorKind};

/// A session as data: its revision, client, capabilities, log level, subscriptions and principal.
///
/// The content is opaque to stores. [`encode`](Self::encode) writes it as JSON with a format
/// number. Every later version of this crate can read it; an earlier version fails with
/// [`Unreadable`](SessionStoreErrorKind::Unreadable).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    format: Format,
    created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<Box<str>>,
    /// The secret number in the event ids under the first lease of the session.
    event_tag: u64,
    /// The address of the endpoint that wrote the record. Other endpoints forward requests to this address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Box<str>>,
    state: SessionState,
    /// The authentication code of the session id and the text. Without the code, a program that can write to the store could give
    /// a session to another principal, or redirect the requests of a session.
    #[serde(default, skip_serializing)]
    code: Option<Box<str>>,
    /// The record as JSON text without `code`. The code authenticates this text. It is stored because encoding the decoded values
    /// again can give a different text, for example for some numbers.
    #[serde(skip)]
    text: Arc<[u8]>,
}

/// The version number of the format.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Format;

impl Format {
    const NUMBER: u32 = 1;
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(Self::NUMBER)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            Self::NUMBER => Ok(Self),
            other => Err(D::Error::custom(format!(
                "the session has format {other}; this version reads format {}",
                Self::NUMBER
            ))),
        }
    }
}

impl SessionRecord {
    /// The maximum size of an encoded record, in bytes: 512 KiB. An endpoint limits the client identity to 16 KiB and the URIs of
    /// a session's subscriptions to 64 KiB. Written as JSON, they can be several times as long.
    pub const MAX_BYTES: usize = 512 << 10;

    pub(crate) fn new(
        created: Timestamp,
        principal: Option<&Principal>,
        event_tag: u64,
        address: Option<String>,
        state: SessionState,
    ) -> Self {
        let mut record = Self {
            format: Format,
            created,
            principal: principal.map(|principal| principal.as_str().into()),
            event_tag,
            address: address.map(String::into_boxed_str),
            state,
            code: None,
            text: Arc::default(),
        };
        // Serialization does not fail. If it failed, the text would be empty, and `encode` would return an error.
        record.text = serde_json::to_vec(&record).unwrap_or_default().into();
        record
    }

    /// Adds the authentication code that `sign` returns for the [text](Self::text).
    pub(crate) fn with_code(mut self, sign: impl FnOnce(&[u8]) -> Option<String>) -> Self {
        self.code = sign(&self.text).map(String::into_boxed_str);
        self
    }

    /// Returns the text that the authentication code covers: the record as JSON, without the code.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the time at which the session was opened.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns the key of the principal that opened the session. `None` means that the client was not authenticated. This is
    /// different from a principal with an empty key.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    pub(crate) fn event_tag(&self) -> u64 {
        self.event_tag
    }

    /// Returns the address of the endpoint that serves the session, if other endpoints can reach it
    /// (`ServerOptions::with_forwarding`).
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Returns the authentication code.
    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    pub(crate) fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns whether this principal opened the session.
    pub(crate) fn belongs_to(&self, principal: Option<&Principal>) -> bool {
        self.principal() == principal.map(Principal::as_str)
    }

    /// Writes the record as JSON.
    ///
    /// # Errors
    /// [`Full`](SessionStoreErrorKind::Full) if the record exceeds [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn encode(&self) -> Result<Vec<u8>, SessionStoreError> {
        let mut json = self.text.to_vec();
        if let Some(code) = &self.code {
            json.pop();
            json.extend(code_member(code));
        }
        if json.is_empty() {
            return Err(SessionStoreError::new(
                SessionStoreErrorKind::Unavailable,
                "the session cannot be written as JSON",
            ));
        }
        if json.len() > Self::MAX_BYTES {
            return Err(SessionStoreError::new(
                SessionStoreErrorKind::Full,
                format!(
                    "the session has {} bytes; the limit is {}",
                    json.len(),
                    Self::MAX_BYTES
                ),
            ));
        }
        Ok(json)
    }

    /// Reads a record that [`encode`](Self::encode) has written.
    ///
    /// # Errors
    /// [`Unreadable`](SessionStoreErrorKind::Unreadable) if the bytes are not such a record, or if they exceed
    /// [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn decode(json: &[u8]) -> Result<Self, SessionStoreError> {
        let unreadable = |reason: &dyn Display| {
            let message = format!("the stored session cannot be read: {reason}");
            SessionStoreError::new(SessionStoreErrorKind::Unreadable, message)
        };
        if json.len() > Self::MAX_BYTES {
            let (bytes, limit) = (json.len(), Self::MAX_BYTES);
            return Err(unreadable(&format_args!(
                "{bytes} bytes exceed the limit of {limit}"
            )));
        }
        let mut record: Self = decode_document(json).map_err(|error| unreadable(&error))?;
        let member = record.code.as_deref().map(code_member);
        record.text = match member.and_then(|member| json.strip_suffix(&*member)) {
            Some(text) => [text, b"}"].concat().into(),
            None => {
                // `encode` has not written this code, because the member `code` has another place or spelling.
                record.code = None;
                json.into()
            }
        };
        Ok(record)
    }
}

/// Returns the end of an encoded record with an authentication code: the member `code`, and the closing brace.
fn code_member(code: &str) -> Vec<u8> {
    format!(r#","code":"{code}"}}"#).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"format":1,"created":5,"principal":"","event_tag":7,"state":{"revision":"2025-11-25",
        "client":{"capabilities":{"roots":{}}},"log_level":"error","subscriptions":["x:1"],"is_open":true}}"#;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = SessionRecord::decode(RECORD.as_bytes()).unwrap();
        let again = SessionRecord::decode(&record.encode().unwrap()).unwrap();
        assert_eq!(again, record);
        assert_eq!(record.created(), Timestamp::from_millis(5));
        assert!(record.belongs_to(Some(&Principal::new(""))));
        assert!(!record.belongs_to(None));
    }

    /// serde_json reads some numbers only approximately, unless a crate in the program enables `float_roundtrip`.
    #[test]
    fn the_authentication_code_covers_the_stored_text_and_not_the_decoded_values() {
        let text = RECORD.replace(
            r#""roots":{}"#,
            r#""experimental":{"x":{"v":[9.088847599027046e-08,1.0,1E2,-0.0,"\u0061",18446744073709551616]}}"#,
        );
        let signed = SessionRecord::decode(text.as_bytes()).unwrap();
        assert_eq!(signed.text(), text.as_bytes());
        let signed = signed.with_code(|text| Some(format!("{:032x}", text.len())));
        let stored = signed.encode().unwrap();
        let read = SessionRecord::decode(&stored).unwrap();
        assert_eq!(read.text(), text.as_bytes());
        assert_eq!(read.code(), signed.code());
        assert_eq!(read.encode().unwrap(), stored);
        // Another spelling of the code is part of the text.
        let stored = String::from_utf8(stored)
            .unwrap()
            .replace("\"code\"", "\"c\\u006fde\"");
        let read = SessionRecord::decode(stored.as_bytes()).unwrap();
        assert_eq!(read.text(), stored.as_bytes());
    }

    #[test]
    fn damaged_and_later_records_are_unreadable() {
        let later = RECORD.replace(r#""format":1"#, r#""format":2"#);
        for text in ["", "{}", &later, &RECORD[1..]] {
            let error = SessionRecord::decode(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), SessionStoreErrorKind::Unreadable, "{text}");
        }
    }

    #[test]
    fn a_session_record_above_the_maximum_size_is_rejected() {
        let long = "x".repeat(SessionRecord::MAX_BYTES);
        let mut record = SessionRecord::decode(RECORD.as_bytes()).unwrap();
        record.text = format!("{long}x").into_bytes().into();
        let kind = record.encode().map_err(|error| error.kind());
        assert_eq!(kind.err(), Some(SessionStoreErrorKind::Full));
        let record = RECORD.replace("x:1", &long);
        let error = SessionRecord::decode(record.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), SessionStoreErrorKind::Unreadable);
    }

    /// serde_json would decode the string values of these members as JSON, without any limit. The JSON is nested so deeply that
    /// the stack would overflow.
    #[test]
    fn a_record_with_member_names_that_serde_json_treats_specially_is_unreadable() {
        let mut text = "1".to_owned();
        for _ in 0..12 {
            let inner = format!("{}{text}{}", "[".repeat(110), "]".repeat(110));
            let inner = serde_json::to_string(&inner).unwrap();
            text = format!(r#"{{"$serde_json::private::RawValue":{inner}}}"#);
        }
        let record = RECORD.replace(
            r#""roots":{}"#,
            &format!(r#""experimental":{{"x":{text}}}"#),
        );
        let error = SessionRecord::decode(record.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("reserved"), "{error}");
    }
}
