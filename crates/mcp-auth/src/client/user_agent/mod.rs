//! The user's browser: how it is sent to the authorization server, and the callback.

mod agent;
mod callback;
mod loopback;

pub use self::agent::{AuthorizationSession, CustomUserAgent, UserAgent};
pub use self::callback::Callback;
pub use self::loopback::Loopback;
