//! Cache hints.

use crate::v2026_07_28::CacheScope;

impl Default for CacheScope {
    /// The scope of a result that does not say: nobody else's.
    fn default() -> Self {
        Self::Private
    }
}
