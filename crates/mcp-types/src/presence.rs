//! Members of which null is a value, and not the same as leaving them out.

use serde::de::{Deserialize, Deserializer};

/// Reads a member that is there, whatever its value; an absent one never gets here.
pub(crate) fn kept<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
