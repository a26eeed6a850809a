//! Discovery: from a server to the authorization server that issues its tokens.

mod discover;
mod documents;
mod log;

pub(crate) use self::discover::{Discovery, DiscoveryResult, Presets};
pub(crate) use self::documents::lists;
pub use self::documents::{ResourceMetadata, ServerMetadata};
pub use self::log::{DiscoveryAttempt, DiscoveryLog};
