//! The HTTP client for authorization servers. It sends few requests, reads only small responses, and reaches only safe addresses.

mod client;
mod connect;
mod settings;
mod url_policy;

#[cfg(feature = "client")]
pub(crate) use self::client::sensitive;
pub(crate) use self::client::{FORM, HttpClient, Limits, Reply, basic_authorization};
pub use self::connect::Resolver;
pub(crate) use self::settings::{HttpSettings, shared_setters};
#[cfg(feature = "client")]
pub(crate) use self::url_policy::UrlPolicy;
pub(crate) use self::url_policy::{PrivateNetworks, is_local, parse_url, redacted};
pub use mcp_transport_http::RequestBody;
pub(crate) use mcp_transport_http::http_service::BoxError;
