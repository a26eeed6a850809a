//! Members for which `null` and absence have different meanings.

use serde::de::{Deserialize, Deserializer};

/// Reads the value of a present member, which may be null. serde does not call this function for an absent member.
pub(crate) fn kept<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
