//! Discovery: from a server to the authorization server that issues its tokens.

mod discover;
mod documents;

pub(crate) use self::discover::{Discovery, DiscoveryResult, Presets};
pub use self::discover::{DiscoveryAttempt, DiscoveryLog};
pub(crate) use self::documents::lists;
pub use self::documents::{ResourceMetadata, ServerMetadata};
