//! The registration of a client: configured credentials, a metadata document, or dynamic
//! registration.

mod client;
mod credentials;
mod register;

pub(crate) use self::client::Registration;
pub use self::credentials::Credentials;
pub(crate) use self::credentials::{AuthMethod, ClientDocument};
pub(crate) use self::register::{ClientProfile, register};
