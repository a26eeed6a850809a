//! The HTTP client for authorization servers: few requests, small responses, safe addresses only.

mod body;
mod client;
mod connect;
mod resolve;
mod settings;
mod url_policy;

pub use self::body::FormBody;
pub(crate) use self::client::{Limits, Reply, Web};
pub use self::resolve::Resolver;
pub(crate) use self::settings::Reach;
#[cfg(feature = "client")]
pub(crate) use self::url_policy::Guard;
pub(crate) use self::url_policy::{is_local, shown};
pub(crate) use mcp_transport_http::http_service::BoxError;
