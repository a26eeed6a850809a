//! Decoding of string enums without an intermediate `String`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// Decodes a string enum that has a variant for unknown strings.
pub(crate) fn open<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: for<'a> From<&'a str>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(TextVisitor {
        expected,
        read: |text: &str| Some(T::from(text)),
        marker: PhantomData,
    })
}

/// Decodes a string enum that has no variant for unknown strings.
pub(crate) fn closed<'de, T, D>(
    deserializer: D,
    expected: &'static str,
    read: fn(&str) -> Option<T>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(TextVisitor {
        expected,
        read,
        marker: PhantomData,
    })
}

struct TextVisitor<T, F> {
    expected: &'static str,
    read: F,
    marker: PhantomData<T>,
}

impl<T, F: Fn(&str) -> Option<T>> Visitor<'_> for TextVisitor<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}
