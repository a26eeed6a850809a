//! The registration of a client: configured credentials, a metadata document, or dynamic
//! registration.

mod credentials;
mod register;

pub use self::credentials::Credentials;
pub(crate) use self::credentials::{AuthMethod, ClientDocument, Registration};
pub(crate) use self::register::{ClientProfile, register};
