//! The verified identity behind a request.

use std::fmt;
use std::sync::Arc;

/// The verified identity on whose behalf a request came: an opaque key, equal for the same issuer,
/// subject and client, and different otherwise.
///
/// A session and its data belong to the principal that opened it. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Creates a principal with this key.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&&*self.0).finish()
    }
}
