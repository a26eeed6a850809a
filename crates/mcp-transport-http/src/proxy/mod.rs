//! Proxies of clients: which requests go through a proxy, and how.
//!
//! | File | Contents |
//! | --- | --- |
//! | `mod` | the choice of the proxy for a URL |
//! | `address` | the URL of a proxy, with its credentials |
//! | `exceptions` | the hosts without a proxy |
//! | `tunnel` | the connection to a server behind a proxy |

mod address;
mod exceptions;
mod tunnel;

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use mcp_protocol::TransportError;

pub(crate) use self::address::ProxyAddress;
pub(crate) use self::tunnel::ProxyError;
pub use self::tunnel::{ClientStream, Tunnel};

/// Environment variables with the proxy for a scheme, in the order in which they are read. A variable without a value counts as
/// absent.
const HTTPS: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const HTTP: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The variable that an HTTP client of a CGI program can set, with the header `Proxy`.
const CGI_CONTROLLED_VARIABLE: &str = "HTTP_PROXY";
/// The variable that shows that a program is a CGI program.
const CGI: &str = "REQUEST_METHOD";

/// The proxy of a client. The default is [`from_environment`](Self::from_environment).
///
/// Requests to this machine (`localhost` and addresses such as `127.0.0.1`) never use a proxy. A request to an `https` URL goes
/// through a tunnel (`CONNECT`, or SOCKS 5), so the proxy cannot read it. An HTTP proxy receives and can read a request to an
/// `http` URL.
///
/// The URL of a proxy is `http://proxy.example:3128`. `https`, `socks5` and `socks5h` are other schemes; with `socks5h`, the
/// proxy looks up the name of the server. The URL may have credentials, such as `http://user:password@proxy.example:3128`, with
/// special characters in percent-encoding. [`Debug`](std::fmt::Debug) and errors do not contain the credentials.
///
/// ```
/// # fn f() -> Result<(), mcp_protocol::TransportError> {
/// use mcp_transport_http::{ClientProxy, HttpTransport};
///
/// let proxy = ClientProxy::new("http://proxy.example:3128")?.with_exceptions("intern.example,10.0.0.0/8");
/// let server = HttpTransport::new("https://mcp.example.com/mcp")?.proxy(proxy);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientProxy(Setting);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Setting {
    #[default]
    Environment,
    Direct,
    Fixed {
        address: ProxyAddress,
        exceptions: String,
    },
}

/// The proxy for a URL, as [`ClientProxy::decide`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyDecision {
    /// The URL of the proxy, without credentials. `None`: the client connects to the server directly.
    pub proxy: Option<String>,
    /// The reason for the decision, for display. It names the environment variable, if the decision comes from one.
    pub reason: String,
}

/// The route to a server: direct, or through a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyRoute {
    pub(crate) via: Option<ProxyAddress>,
    reason: String,
}

impl ProxyRoute {
    fn direct(reason: impl Into<String>) -> Self {
        Self {
            via: None,
            reason: reason.into(),
        }
    }
}

impl ClientProxy {
    /// Uses the proxy of the environment variables `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, except for the hosts in
    /// `NO_PROXY`. A transport reads the variables when it is first started, and a sign-in reads them for each connection. Names in lower case take precedence.
    /// `HTTP_PROXY` in upper case is ignored in CGI programs (where `REQUEST_METHOD` is set), because clients can set it there.
    pub fn from_environment() -> Self {
        Self(Setting::Environment)
    }

    /// Uses no proxy.
    pub fn none() -> Self {
        Self(Setting::Direct)
    }

    /// Uses this proxy for all servers. Without a scheme, the URL is that of an HTTP proxy.
    ///
    /// # Errors
    /// The URL or its scheme is not valid, or the scheme is `https` and the feature `tls` is disabled.
    pub fn new(url: &str) -> Result<Self, TransportError> {
        Ok(Self(Setting::Fixed {
            address: ProxyAddress::parse(url).map_err(TransportError::new)?,
            exceptions: String::new(),
        }))
    }

    /// Sets the hosts that the client reaches without a proxy, in the format of `NO_PROXY`: a list, separated by commas or spaces.
    /// An entry is a host name (which includes its subdomains), an address, or a block of addresses (`10.0.0.0/8`), each optionally
    /// with a port. The entry `*` means all hosts. The list has no effect on
    /// [`from_environment`](Self::from_environment) and [`none`](Self::none).
    #[must_use]
    pub fn with_exceptions(mut self, hosts: impl Into<String>) -> Self {
        if let Setting::Fixed { exceptions, .. } = &mut self.0 {
            *exceptions = hosts.into();
        }
        self
    }

    /// Returns the proxy for a URL, and the reason. Reads the environment, but opens no connection.
    ///
    /// # Errors
    /// `url` is not a valid URL, or an environment variable does not contain a valid URL of a proxy. The error names the variable.
    pub fn decide(&self, url: &str) -> Result<ProxyDecision, TransportError> {
        let target: Uri = url.parse().map_err(|error| {
            TransportError::new("the URL of the server is not valid").with_source(error)
        })?;
        let route = self.route(&target)?;
        Ok(ProxyDecision {
            proxy: route.via.map(|proxy| proxy.to_string()),
            reason: route.reason,
        })
    }

    /// Returns the connector that reaches a server through the proxy, or `None` if the client connects to the server directly.
    ///
    /// # Errors
    /// The value of an environment variable is not a valid URL of a proxy.
    #[doc(hidden)]
    pub fn tunnel(&self, target: &Uri) -> Result<Option<Tunnel>, TransportError> {
        let via = self.route(target)?.via;
        Ok(via.map(|proxy| Tunnel::new(proxy, HttpConnector::new())))
    }

    /// Returns the route to a server.
    pub(crate) fn route(&self, target: &Uri) -> Result<ProxyRoute, TransportError> {
        // A value that is not Unicode is not a URL.
        self.route_in(target, |name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    fn route_in(
        &self,
        target: &Uri,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ProxyRoute, TransportError> {
        if is_this_machine(target) {
            return Ok(ProxyRoute::direct("the server is on this machine"));
        }
        match &self.0 {
            Setting::Direct => Ok(ProxyRoute::direct("proxies are disabled")),
            Setting::Fixed {
                address,
                exceptions,
            } => Ok(match exceptions::contain(exceptions, target) {
                true => ProxyRoute::direct("the exceptions contain the host"),
                false => ProxyRoute {
                    via: Some(address.clone()),
                    reason: "set by an option or by the program".to_owned(),
                },
            }),
            Setting::Environment => from_variables(target, variable),
        }
    }
}

fn from_variables(
    target: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ProxyRoute, TransportError> {
    let value = |name: &'static str| {
        let value = variable(name).filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    };
    let is_usable = |name: &&str| **name != *CGI_CONTROLLED_VARIABLE || variable(CGI).is_none();
    let names = match target.scheme() == Some(&Scheme::HTTPS) {
        true => HTTPS,
        false => HTTP,
    };
    let Some((name, url)) = names.into_iter().filter(is_usable).find_map(value) else {
        return Ok(ProxyRoute::direct("no environment variable names a proxy"));
    };
    if let Some((name, hosts)) = NO_PROXY.into_iter().find_map(value)
        && exceptions::contain(&hosts, target)
    {
        return Ok(ProxyRoute::direct(format!("{name} contains the host")));
    }
    let address = ProxyAddress::parse(&url).map_err(|problem| {
        TransportError::new(format!("the environment variable {name}: {problem}"))
    })?;
    Ok(ProxyRoute {
        via: Some(address),
        reason: format!("the environment variable {name}"),
    })
}

/// Returns whether the host of a URL is this machine.
pub(crate) fn is_this_machine(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok_and(|address| {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(url: &str) -> Uri {
        url.parse().unwrap()
    }

    /// Returns the proxy and the reason for a URL, with these variables.
    fn with(variables: &[(&str, &str)], url: &str) -> (Option<String>, String) {
        let route = ClientProxy::from_environment().route_in(&uri(url), |name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let route = route.unwrap();
        (route.via.map(|proxy| proxy.to_string()), route.reason)
    }

    #[test]
    fn each_scheme_has_its_variables() {
        let both = [
            ("HTTPS_PROXY", "http://secure:1"),
            ("HTTP_PROXY", "plain:2"),
        ];
        let (proxy, reason) = with(&both, "https://example.com/");
        assert_eq!(proxy.as_deref(), Some("http://secure:1"));
        assert_eq!(reason, "the environment variable HTTPS_PROXY");
        assert_eq!(
            with(&both, "http://example.com/").0.unwrap(),
            "http://plain:2"
        );
        let all = [("ALL_PROXY", "socks5h://all")];
        for url in ["https://example.com/", "http://example.com/"] {
            assert_eq!(with(&all, url).0.unwrap(), "socks5h://all:1080");
        }
        let cases = [
            ("https_proxy", "http://lower"),
            ("HTTPS_PROXY", "http://upper"),
        ];
        assert_eq!(
            with(&cases, "https://example.com/").0.unwrap(),
            "http://lower:80"
        );
        let empty = [("https_proxy", " "), ("HTTPS_PROXY", "http://upper:1")];
        assert_eq!(
            with(&empty, "https://example.com/").0.unwrap(),
            "http://upper:1"
        );
        assert_eq!(with(&[], "https://example.com/").0, None);
    }

    #[test]
    fn a_client_of_a_cgi_program_cannot_choose_the_proxy() {
        let variables = [("HTTP_PROXY", "http://evil:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(with(&variables, "http://example.com/").0, None);
        let variables = [("http_proxy", "http://own:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(
            with(&variables, "http://example.com/").0.unwrap(),
            "http://own:1"
        );
    }

    #[test]
    fn requests_to_this_machine_never_use_a_proxy() {
        let fixed = ClientProxy::new("http://proxy:1").unwrap();
        for url in [
            "http://localhost:1/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "https://127.0.0.2/",
            "http://[::1]:8/",
            "http://[::ffff:127.0.0.1]/",
            "http://0.0.0.0:1/",
            "http://[::]/",
        ] {
            assert_eq!(
                with(&[("ALL_PROXY", "http://proxy:1")], url).0,
                None,
                "{url}"
            );
            assert_eq!(fixed.route(&uri(url)).unwrap().via, None, "{url}");
        }
        for url in [
            "http://localhost.example.com/",
            "http://10.0.0.1/",
            "http://[::2]/",
        ] {
            assert!(fixed.route(&uri(url)).unwrap().via.is_some(), "{url}");
        }
    }

    #[test]
    fn exceptions_are_reached_directly() {
        let variables = [("ALL_PROXY", "http://proxy:1"), ("NO_PROXY", "example.com")];
        let (proxy, reason) = with(&variables, "https://a.example.com/");
        assert_eq!((proxy, &*reason), (None, "NO_PROXY contains the host"));
        let fixed = ClientProxy::new("http://proxy:1").unwrap();
        let fixed = fixed.with_exceptions("example.com");
        assert_eq!(fixed.route(&uri("https://example.com/")).unwrap().via, None);
        assert!(
            fixed
                .route(&uri("https://example.org/"))
                .unwrap()
                .via
                .is_some()
        );
    }

    #[test]
    fn an_error_names_the_variable_and_shows_no_credentials() {
        let proxy = ClientProxy::from_environment();
        let route = proxy.route_in(&uri("https://example.com/"), |name| {
            (name == "HTTPS_PROXY").then(|| "ftp://user:secret@proxy:1".to_owned())
        });
        let error = route.unwrap_err().to_string();
        assert!(
            error.starts_with("the environment variable HTTPS_PROXY: "),
            "{error}"
        );
        assert!(
            error.contains("ftp") && !error.contains("secret"),
            "{error}"
        );
        let proxy = ClientProxy::new("http://user:secret@proxy:1").unwrap();
        assert!(!format!("{proxy:?}").contains("secret"), "{proxy:?}");
        let decision = proxy.decide("https://example.com/").unwrap();
        assert_eq!(decision.proxy.as_deref(), Some("http://proxy:1"));
    }
}
