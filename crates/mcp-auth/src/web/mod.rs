//! The HTTP client for authorization servers: few requests, small responses, safe addresses only.

mod body;
mod client;
mod connect;
mod resolve;
mod settings;
mod url_policy;

pub use self::body::FormBody;
pub(crate) use self::client::{HttpClient, Limits, Reply};
pub use self::resolve::Resolver;
pub(crate) use self::settings::HttpSettings;
#[cfg(feature = "client")]
pub(crate) use self::url_policy::UrlPolicy;
pub(crate) use self::url_policy::{is_local, redacted};
pub(crate) use mcp_transport_http::http_service::BoxError;
