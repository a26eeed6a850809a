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

use std::net::{IpAddr, Ipv4Addr};

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use mcp_protocol::TransportError;

pub(crate) use self::address::ProxyAddress;
#[cfg(feature = "client")]
pub(crate) use self::tunnel::ProxyError;
pub use self::tunnel::{ClientStream, Tunnel};

/// Environment variables with the proxy for `https` URLs, in the order in which they are read. A variable without a value counts
/// as absent.
const HTTPS: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/// Environment variables with the proxy for `http` URLs, in the order in which they are read.
const HTTP: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
/// Environment variables with the hosts that are reached without a proxy, in the order in which they are read.
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
        /// `None` means the hosts in the environment variable `NO_PROXY`.
        exceptions: Option<String>,
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
    /// `NO_PROXY`. A transport reads the variables when it is first started, and an OAuth sign-in reads them for each connection.
    /// Names in lower case take precedence. `HTTP_PROXY` in upper case is ignored in CGI programs (where `REQUEST_METHOD` is
    /// set), because clients can set it there.
    pub fn from_environment() -> Self {
        Self(Setting::Environment)
    }

    /// Uses no proxy.
    pub fn none() -> Self {
        Self(Setting::Direct)
    }

    /// Uses this proxy for all servers, except for the hosts of [`with_exceptions`](Self::with_exceptions). If no exceptions are
    /// set, the hosts in the environment variable `NO_PROXY` are the exceptions. If `url` has no scheme, the proxy is an HTTP
    /// proxy.
    ///
    /// # Errors
    /// The URL or its scheme is not valid, or the scheme is `https` and the feature `tls` is disabled.
    pub fn new(url: &str) -> Result<Self, TransportError> {
        Ok(Self(Setting::Fixed {
            address: ProxyAddress::parse(url).map_err(TransportError::new)?,
            exceptions: None,
        }))
    }

    /// Sets the hosts that the client reaches without a proxy, in the format of `NO_PROXY`: a list, separated by commas or spaces.
    /// An entry is a host name (which includes its subdomains), an address, or a block of addresses (`10.0.0.0/8`), each optionally
    /// with a port. The entry `*` means all hosts. The list has no effect on
    /// [`from_environment`](Self::from_environment) and [`none`](Self::none).
    #[must_use]
    pub fn with_exceptions(mut self, hosts: impl Into<String>) -> Self {
        if let Setting::Fixed { exceptions, .. } = &mut self.0 {
            *exceptions = Some(hosts.into());
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
            } => {
                let exception = match exceptions {
                    Some(hosts) => {
                        exceptions::contain(hosts, target).then_some("the exceptions contain")
                    }
                    None => no_proxy(target, &variable),
                };
                Ok(match exception {
                    Some(list) => ProxyRoute::direct(format!("{list} the host")),
                    None => ProxyRoute {
                        via: Some(address.clone()),
                        reason: "set by an option or by the program".to_owned(),
                    },
                })
            }
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
    // On Windows, the names of variables have no case.
    let is_controlled = |name: &str| match cfg!(windows) {
        true => name.eq_ignore_ascii_case(CGI_CONTROLLED_VARIABLE),
        false => name == CGI_CONTROLLED_VARIABLE,
    };
    let is_usable = |name: &&str| !is_controlled(name) || variable(CGI).is_none();
    let names = match target.scheme() == Some(&Scheme::HTTPS) {
        true => HTTPS,
        false => HTTP,
    };
    let Some((name, url)) = names.into_iter().filter(is_usable).find_map(value) else {
        let scheme = target.scheme_str().unwrap_or_default();
        let reason = format!("no environment variable names a proxy for {scheme} URLs");
        return Ok(ProxyRoute::direct(reason));
    };
    if let Some(list) = no_proxy(target, &variable) {
        return Ok(ProxyRoute::direct(format!("{list} the host")));
    }
    let address = ProxyAddress::parse(&url).map_err(|problem| {
        TransportError::new(format!("the environment variable {name}: {problem}"))
    })?;
    Ok(ProxyRoute {
        via: Some(address),
        reason: format!("the environment variable {name}"),
    })
}

/// Checks the variable that lists the hosts without a proxy. If it contains the host of a URL, returns a text that names the
/// variable.
fn no_proxy(target: &Uri, variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    const FOUND: [&str; 2] = ["no_proxy contains", "NO_PROXY contains"];
    let has_value = |value: &String| !value.trim().is_empty();
    let mut lists = NO_PROXY.into_iter().zip(FOUND);
    let (hosts, found) =
        lists.find_map(|(name, found)| Some((variable(name).filter(has_value)?, found)))?;
    exceptions::contain(&hosts, target).then_some(found)
}

/// Returns whether the host of a URL is this machine.
pub(crate) fn is_this_machine(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    // The zone of an address, as in `::1%lo`.
    let address = address.split('%').next().unwrap_or_default();
    let address = match address.parse::<IpAddr>() {
        Ok(address) => Some(address.to_canonical()),
        Err(_) => number(address).map(|number| Ipv4Addr::from_bits(number).into()),
    };
    address.is_some_and(|address| address.is_loopback() || address.is_unspecified())
}

/// Reads an IPv4 address in the other forms that resolvers accept: `127.1`, `0x7f000001`, `017700000001`, `0`.
fn number(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.split('.').collect();
    let (last, first) = parts.split_last()?;
    if first.len() > 3 {
        return None;
    }
    let mut address = 0;
    for part in first {
        address = (address << 8) | digits(part).filter(|part| *part <= 255)?;
    }
    let bits = 32 - 8 * u32::try_from(first.len()).ok()?;
    let last = digits(last).filter(|last| *last < 1 << bits)?;
    u32::try_from((address << bits) | last).ok()
}

/// Reads a decimal, octal (`0..`) or hexadecimal (`0x..`) number.
fn digits(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok()
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

    fn without_variables(proxy: &ClientProxy, url: &str) -> Option<ProxyAddress> {
        proxy.route_in(&uri(url), |_| None).unwrap().via
    }

    #[test]
    fn the_scheme_of_a_url_selects_the_proxy_variable() {
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
            "http://127.1/",
            "http://0x7f000001/",
            "http://0X7F.1/",
            "http://017700000001/",
            "http://2130706433/",
            "http://0/",
            "http://127.0.0.1./",
        ] {
            assert_eq!(
                with(&[("ALL_PROXY", "http://proxy:1")], url).0,
                None,
                "{url}"
            );
            assert_eq!(without_variables(&fixed, url), None, "{url}");
        }
        for url in [
            "http://localhost.example.com/",
            "http://10.0.0.1/",
            "http://[::2]/",
            "http://10.1/",
            "http://127.0.0.1.example.com/",
            "http://127.256.1/",
            "http://1.2.3.4.5/",
            "http://0x/",
        ] {
            assert!(without_variables(&fixed, url).is_some(), "{url}");
        }
    }

    #[test]
    fn hosts_in_the_exceptions_are_reached_without_a_proxy() {
        let variables = [("ALL_PROXY", "http://proxy:1"), ("NO_PROXY", "example.com")];
        let (proxy, reason) = with(&variables, "https://a.example.com/");
        assert_eq!((proxy, &*reason), (None, "NO_PROXY contains the host"));
        let fixed = ClientProxy::new("http://proxy:1").unwrap();
        let fixed = fixed.with_exceptions("example.com");
        assert_eq!(without_variables(&fixed, "https://example.com/"), None);
        assert!(without_variables(&fixed, "https://example.org/").is_some());
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
