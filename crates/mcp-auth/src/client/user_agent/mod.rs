//! User agents and callbacks.

mod agent;
mod callback;
mod loopback;

pub use self::agent::{AuthorizationSession, CustomUserAgent, UserAgent};
pub use self::callback::Callback;
pub use self::loopback::Loopback;
