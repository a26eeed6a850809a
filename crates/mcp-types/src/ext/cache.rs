//! Cache hints.

use crate::v2026_07_28::CacheScope;

impl Default for CacheScope {
    /// The scope of a result without `cacheScope`: private.
    fn default() -> Self {
        Self::Private
    }
}
