//! Serialization of numbers for which the derived implementation is not correct.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Error, Serializer};

/// The largest magnitude up to which an `f64` represents every integer exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes a finite number. A number without a fraction is written as an integer: `3`, not `3.0`.
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if !value.is_finite() {
        return Err(S::Error::custom("a JSON number is finite"));
    }
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53")]
        return serializer.serialize_i64(*value as i64);
    }
    serializer.serialize_f64(*value)
}

/// Like [`serialize`], for an optional member. serde skips absent members.
#[expect(clippy::ref_option, reason = "the signature serde calls")]
pub(crate) fn serialize_optional<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serialize(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Reads a member that may be null but not absent.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// Reads an integer. A negative integer is read as 0.
pub(crate) fn at_least_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(AtLeastZero)
}

struct AtLeastZero;

impl Visitor<'_> for AtLeastZero {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
        Ok(u64::try_from(number).unwrap_or(0))
    }
}

/// Returns the number if it is within the bounds.
pub(crate) fn within(value: f64, least: f64, greatest: f64) -> Result<f64, OutOfRange> {
    if (least..=greatest).contains(&value) {
        Ok(value)
    } else {
        Err(OutOfRange { least, greatest })
    }
}

/// The error for a number that is outside the bounds in the schema.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OutOfRange {
    /// The smallest allowed value.
    pub least: f64,
    /// The largest allowed value.
    pub greatest: f64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number not between {} and {}", self.least, self.greatest)
    }
}

impl std::error::Error for OutOfRange {}
