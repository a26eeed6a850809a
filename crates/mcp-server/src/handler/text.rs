//! Arguments of prompts and variables of URIs that are read from text.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

/// Reads a value from text.
///
/// # Errors
/// The text is not a value of `T`; the error quotes at most 64 characters of it.
pub fn parsed<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| {
        let text: String = text.chars().take(64).collect();
        D::Error::custom(format!("invalid value {text:?}: {error}"))
    })
}

/// Reads a value from text, if it is present.
///
/// # Errors
/// Those of [`parsed`].
pub fn parsed_option<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
{
    struct Parsed<T>(T);
    impl<'de, T> Deserialize<'de> for Parsed<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            parsed(deserializer).map(Self)
        }
    }
    let value = Option::<Parsed<T>>::deserialize(deserializer)?;
    Ok(value.map(|Parsed(value)| value))
}
