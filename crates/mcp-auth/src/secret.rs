//! Secret text.

use std::fmt;

use zeroize::Zeroizing;

#[cfg(feature = "client")]
use crate::error::{Error, ErrorKind};

/// A token, a password or a key. `Debug` does not print it, and its memory is wiped on drop. Copies
/// made by the operating system or by other libraries are not wiped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// Serializes the text of a secret. `Secret` itself does not implement `Serialize`. A secret is therefore serialized only if a
/// field names this function.
#[cfg(feature = "client")]
pub(crate) fn serialize<S: serde::Serializer>(secret: &Secret, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(secret.expose())
}

/// Serializes the text of an optional secret; see [`serialize`].
#[cfg(feature = "client")]
pub(crate) fn serialize_option<S: serde::Serializer>(
    secret: &Option<Secret>,
    out: S,
) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&secret.as_ref().map(Secret::expose), out)
}

/// Returns a value as JSON text for a token store.
#[cfg(feature = "client")]
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<Secret, Error> {
    let text = serde_json::to_string(value);
    text.map(Secret::new).map_err(|_| {
        Error::new(
            ErrorKind::Store,
            "the value to store cannot be written as JSON",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_print_the_secret() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(…) Secret(…)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
