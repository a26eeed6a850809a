//! The client as an authorization server knows it: by credentials, by a document, by registration.

mod client;
mod credentials;
mod register;

pub(crate) use self::client::Registration;
pub use self::credentials::Credentials;
pub(crate) use self::credentials::{AuthMethod, ClientDocument};
pub(crate) use self::register::{ClientProfile, register};
