//! The value of a form field.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// The value of one field of an elicitation form.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElicitValue {
    /// Free text, or the value chosen in a single-choice enum.
    String(String),
    /// A number, with or without a fraction. Its notation is kept.
    Number(Number),
    /// A boolean.
    Bool(bool),
    /// The values chosen in a multiple-choice enum.
    Strings(Vec<String>),
}

impl ElicitValue {
    /// Returns the text, if the value is a text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the number as a float, if the value is a number.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self {
            number.as_f64()
        } else {
            None
        }
    }

    /// Returns the number as an integer, if it has no fraction and is in range.
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Number(number) = self {
            number.as_i64()
        } else {
            None
        }
    }

    /// Returns the boolean, if the value is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// Returns the chosen values, if the value is a list.
    pub fn as_strings(&self) -> Option<&[String]> {
        if let Self::Strings(values) = self {
            Some(values)
        } else {
            None
        }
    }
}

impl From<&str> for ElicitValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for ElicitValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for ElicitValue {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<Number> for ElicitValue {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for ElicitValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Vec<String>> for ElicitValue {
    fn from(values: Vec<String>) -> Self {
        Self::Strings(values)
    }
}

impl Serialize for ElicitValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(number) => number.serialize(serializer),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Strings(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = ElicitValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a form value: string, number, boolean or array of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ElicitValue, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<ElicitValue, E> {
        Ok(text.into())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<ElicitValue, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ElicitValue, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ElicitValue, E> {
        Ok(ElicitValue::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<ElicitValue, E> {
        let number = Number::from_f64(number)
            .ok_or_else(|| E::custom("a number in a form must be finite"))?;
        Ok(ElicitValue::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ElicitValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(ElicitValue::Strings(values))
    }
}
