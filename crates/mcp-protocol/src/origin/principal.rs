//! On whose behalf a request comes.

use std::fmt;
use std::sync::Arc;

/// On whose behalf a request comes, as whoever verified it names them: an opaque key that is the
/// same for the same issuer, subject and client, and different otherwise.
///
/// Sessions, and what is kept for them, belong to the principal that opened them. Cloning shares
/// the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// A principal of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&&*self.0).finish()
    }
}
