//! Members for which null differs from absence.

use serde::de::{Deserialize, Deserializer};

/// Reads a member that is present, with any value; it is not called for an absent member.
pub(crate) fn kept<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
