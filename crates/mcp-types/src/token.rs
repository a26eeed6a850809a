//! The token that connects progress notifications to a request.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// A token that identifies a request in its progress notifications. The sender of the request chooses the token. The JSON type of
/// the token is kept.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the schema allows a string or an integer, nothing else"
)]
pub enum ProgressToken {
    /// An integer token.
    Number(i64),
    /// A string token.
    String(Box<str>),
}

impl fmt::Display for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(text) => f.write_str(text),
        }
    }
}

impl From<i64> for ProgressToken {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for ProgressToken {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for ProgressToken {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl Visitor<'_> for TokenVisitor {
    type Value = ProgressToken;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a progress token, a string or an integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ProgressToken, E> {
        Ok(ProgressToken::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ProgressToken, E> {
        let signed = i64::try_from(number)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        Ok(ProgressToken::Number(signed))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ProgressToken, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<ProgressToken, E> {
        Ok(text.into())
    }
}
