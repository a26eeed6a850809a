//! Arguments of prompts and variables of URIs that are read from text.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer};

/// Reads the argument `name` from text.
///
/// # Errors
/// The text is not a value of `T`; the error names the argument and quotes at most 64 characters of the text.
pub fn parsed<'de, D: Deserializer<'de>, T>(name: &str, deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| {
        let text: String = text.chars().take(64).collect();
        D::Error::custom(format!("{name}: invalid value {text:?}: {error}"))
    })
}

/// Reads the argument `name` from text, if it is present.
///
/// # Errors
/// Those of [`parsed`].
pub fn parsed_option<'de, D: Deserializer<'de>, T>(
    name: &str,
    deserializer: D,
) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let text = Option::<String>::deserialize(deserializer)?;
    let value = text.map(|text| parsed(name, text.into_deserializer()));
    value.transpose()
}
