//! The URL policy: which addresses requests may reach (protection against SSRF).
//!
//! A server that names the URL of its metadata could name a cloud metadata service, a router, or a database that only this
//! machine can reach. No request is sent to such an address, even if the address is the result of name resolution or the target
//! of a redirect.
//!
//! Specification: [security best practices,
//! SSRF](https://modelcontextprotocol.io/docs/tutorials/security/security_best_practices).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use url::{Host, Url};

use crate::error::{Error, ErrorKind, quoted};

/// The URL policy for the client of one server.
#[derive(Debug, Clone)]
pub(crate) struct UrlPolicy {
    /// The host of the server. It may have any address except addresses of metadata services.
    server_host: String,
    /// Whether the host of the server is this machine. If so, other hosts may be this machine too.
    local: bool,
    private: PrivateNetworks,
}

/// The hosts, besides the server itself, that may have addresses in private networks.
#[derive(Debug, Clone, Default)]
pub(crate) enum PrivateNetworks {
    #[default]
    Forbidden,
    Allowed,
    /// All hosts, if the server is in a private network or on this machine. The value is `true` if the URL of the server contains
    /// a private address. It is also `true` if the last name resolution for the server returned only private addresses.
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "only the feature `client` creates this variant")
    )]
    OfPrivateServer(Arc<AtomicBool>),
}

impl UrlPolicy {
    /// Creates the policy for the client of a server.
    ///
    /// # Errors
    /// Returns an error if the URL of the server is not safe for tokens.
    pub(crate) fn new(server: &Url, private: PrivateNetworks) -> Result<Self, Error> {
        let this = Self {
            server_host: server.host_str().unwrap_or_default().to_owned(),
            local: is_local(server),
            private,
        };
        match server.host() {
            Some(Host::Ipv4(address)) => this.observe(&this.server_host, &[address.into()]),
            Some(Host::Ipv6(address)) => this.observe(&this.server_host, &[address.into()]),
            _ => {}
        }
        this.check(server)?;
        Ok(this)
    }

    /// Checks a URL before name resolution.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Error> {
        let refused = |refusal_reason: &str| {
            let shown = redacted(url);
            Err(Error::forbidden(format!("{shown} {refusal_reason}")))
        };
        match url.scheme() {
            "https" => {}
            // Loopback addresses pass here and are checked below.
            "http" if is_local(url) => {}
            "http" => {
                return refused(
                    "does not use TLS, so tokens could be read in transit; use https (http is \
                     only for servers on this machine)",
                );
            }
            _ => return refused("is neither https nor http"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("contains credentials; remove them");
        }
        let address: IpAddr = match url.host() {
            None => return refused("has no host"),
            Some(Host::Domain(name)) if is_local_name(name) && !self.may_be_local(name) => {
                return refused(LOCAL);
            }
            Some(Host::Domain(_)) => return Ok(()),
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
        };
        if self.allows(url.host_str().unwrap_or_default(), address) {
            return Ok(());
        }
        refused(refusal_reason(address))
    }

    /// Returns whether a host may be reached at an address.
    pub(crate) fn allows(&self, host: &str, address: IpAddr) -> bool {
        match AddressClass::of(address) {
            AddressClass::Public => true,
            // Credentials of the machine itself: no setting permits this.
            AddressClass::Metadata => false,
            AddressClass::Local => self.may_be_local(host),
            AddressClass::Private => {
                self.allows_private() || host.eq_ignore_ascii_case(&self.server_host)
            }
            AddressClass::Nowhere => false,
        }
    }

    /// Returns whether a host is the host of the server.
    pub(crate) fn is_of_server(&self, host: &str) -> bool {
        host.eq_ignore_ascii_case(&self.server_host)
    }

    /// Records the addresses of a host. Ignores all hosts except the server. If the server also has a public address, it is not
    /// in a private network.
    pub(crate) fn observe(&self, host: &str, addresses: &[IpAddr]) {
        let PrivateNetworks::OfPrivateServer(is_private) = &self.private else {
            return;
        };
        if host.eq_ignore_ascii_case(&self.server_host) {
            let is_inside = |address: &IpAddr| {
                let class = AddressClass::of(*address);
                matches!(class, AddressClass::Private | AddressClass::Local)
            };
            let all_inside = !addresses.is_empty() && addresses.iter().all(is_inside);
            is_private.store(all_inside, Ordering::Relaxed);
        }
    }

    fn allows_private(&self) -> bool {
        match &self.private {
            PrivateNetworks::Forbidden => false,
            PrivateNetworks::Allowed => true,
            PrivateNetworks::OfPrivateServer(is_private) => {
                self.local || is_private.load(Ordering::Relaxed)
            }
        }
    }

    pub(crate) fn refusal(host: &str, address: IpAddr) -> Error {
        Error::forbidden(format!("{host} {}", refusal_reason(address)))
    }

    fn may_be_local(&self, host: &str) -> bool {
        self.local || host.eq_ignore_ascii_case(&self.server_host)
    }
}

const LOCAL: &str = "is an address of this machine; only a server on this machine may refer to it";

fn refusal_reason(address: IpAddr) -> &'static str {
    match AddressClass::of(address) {
        AddressClass::Local => LOCAL,
        AddressClass::Metadata => "is a cloud metadata service, which is always forbidden",
        AddressClass::Private => {
            "is in a private network; if this is intended, call allow_private_networks()"
        }
        AddressClass::Public | AddressClass::Nowhere => "is not an address of a server",
    }
}

/// The kind of network of an address.
#[derive(Debug, PartialEq, Eq)]
enum AddressClass {
    Public,
    Local,
    Private,
    /// Cloud metadata services, which give out credentials of machines.
    Metadata,
    Nowhere,
}

impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [169, 254, ..] | [100, 100, 100, 200] | [168, 63, 129, 16] => Self::Metadata,
            [127, ..] => Self::Local,
            [10, ..] | [192, 168, ..] => Self::Private,
            [172, second, ..] if second & 0xf0 == 16 => Self::Private,
            // Shared address space of providers, and benchmarks.
            [100, second, ..] if second & 0xc0 == 64 => Self::Private,
            [198, 18 | 19, ..] => Self::Private,
            // Unspecified, documentation, relay, multicast and reserved addresses.
            [0, ..] | [224..=255, ..] => Self::Nowhere,
            [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
                Self::Nowhere
            }
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if let Some(inner) = embedded_v4(address) {
            return Self::of_v4(inner);
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Local,
            [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => Self::Metadata,
            [first, ..] if first & 0xfe00 == 0xfc00 => Self::Private,
            [first, ..] if first & 0xff80 == 0xfe80 => Self::Private,
            // Only 2000::/3 is allocated; it includes addresses for documentation.
            [0x2001, 0x0db8, ..] => Self::Nowhere,
            [first, ..] if first & 0xe000 == 0x2000 => Self::Public,
            _ => Self::Nowhere,
        }
    }
}

/// Returns the IPv4 address inside an IPv6 address: mapped, compatible, translated (NAT64) or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => of(high, low),
        [0x64, 0xff9b, .., high, low] => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

/// Returns whether a URL names this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_local_name(name),
        Some(Host::Ipv4(address)) => AddressClass::of_v4(address) == AddressClass::Local,
        Some(Host::Ipv6(address)) => AddressClass::of_v6(address) == AddressClass::Local,
        None => false,
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

/// Parses a URL. `field` is the name of the URL in error messages.
pub(crate) fn parse_url(kind: ErrorKind, field: &str, text: &str) -> Result<Url, Error> {
    Url::parse(text).map_err(|error| {
        let message = format!("{field} {} is not a URL", quoted(text));
        Error::caused(kind, message, error)
    })
}

/// Formats a URL for an error message, without the query and the credentials, which may be secret.
pub(crate) fn redacted(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_password(None);
    let _ = url.set_username("");
    format!("{:#}", quoted(url.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &UrlPolicy, url: &str) -> Result<(), Error> {
        policy.check(&Url::parse(url).unwrap())
    }

    // proves: AUTH-085, SEC-012, SEC-013, M-AUTH-080
    #[test]
    fn t34_private_addresses_are_rejected_in_any_notation() {
        let server = Url::parse("https://mcp.example.com/mcp").unwrap();
        let policy = UrlPolicy::new(&server, PrivateNetworks::Forbidden).unwrap();
        for url in [
            "http://as.example.com/",
            "ftp://as.example.com/",
            "file:///etc/passwd",
            "https://user:password@as.example.com/",
            "https://localhost/",
            "http://localhost:8080/",
            "https://api.localhost./",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://017700000001/",
            "https://10.0.0.1/",
            "https://172.31.255.255/",
            "https://192.168.1.1/",
            "https://100.64.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://2852039166/",
            "https://[::ffff:169.254.169.254]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[64:ff9b::169.254.169.254]/",
            "https://[2002:a9fe:a9fe::]/",
            "https://[::1]/",
            "https://[::]/",
            "https://[fd00:ec2::254]/",
            "https://[fe80::1]/",
            "https://[fc00::1]/",
            "https://0.0.0.0/",
            "https://255.255.255.255/",
            "https://100.100.100.200/",
        ] {
            let error = check(&policy, url).expect_err(url);
            assert!(error.is_forbidden(), "{url}: {error}");
            assert!(!error.to_string().contains("password"), "{error}");
        }
        for url in [
            "https://as.example.com/",
            "https://93.184.216.34/",
            "https://[2606:2800::1]/",
        ] {
            check(&policy, url).unwrap();
        }
    }

    #[test]
    fn private_address_ranges_match_the_rfcs() {
        let policy = |private| {
            let server = Url::parse("https://mcp.example.com").unwrap();
            UrlPolicy::new(&server, private).unwrap()
        };
        let strict = policy(PrivateNetworks::Forbidden);
        let open = policy(PrivateNetworks::Allowed);
        let allows = |policy: &UrlPolicy, address: &str| {
            policy.allows("as.example.com", address.parse().unwrap())
        };
        let private = "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 100.64.0.0 \
             100.127.255.255 198.18.0.0 198.19.255.255 fc00:: fd00::1 fd12::1 fdff:ffff::1 fe80::1 \
             fec0::1 feff::1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1";
        for private in private.split(' ') {
            assert!(!allows(&strict, private), "{private}");
            assert!(allows(&open, private), "{private}");
        }
        let public = "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 \
             100.63.255.255 100.128.0.0 198.17.255.255 198.20.0.0 2000:: 3fff:ffff::";
        for public in public.split(' ') {
            assert!(allows(&strict, public), "{public}");
        }
        for nowhere in "fbff:: fe00:: fe7f:: ff00:: 4000:: 1fff:: 2001:db8::1 224.0.0.1".split(' ')
        {
            assert!(!allows(&open, nowhere), "{nowhere}");
        }
    }

    #[test]
    fn the_allowed_addresses_depend_on_the_server_and_the_settings() {
        let local = "http://localhost:3000/mcp";
        let private = "https://10.0.0.5/mcp";
        let public = "https://mcp.example.com";
        for (server, allow_private, url, is_allowed) in [
            // A local server may name local servers.
            (local, false, "http://localhost:4000/", true),
            (local, false, "http://127.0.0.1:4000/", true),
            (local, false, "http://[::1]:4000/", true),
            (local, false, "https://10.0.0.1/", false),
            (local, false, "http://as.example.com/", false),
            // The configured host may be private.
            (private, false, "https://10.0.0.5:8443/", true),
            (private, false, "https://10.0.0.6/", false),
            // Private networks can be allowed, but metadata services cannot.
            (public, true, "https://10.0.0.1/", true),
            (public, true, "https://169.254.169.254/", false),
            (public, true, "https://127.0.0.1/", false),
        ] {
            let private = match allow_private {
                true => PrivateNetworks::Allowed,
                false => PrivateNetworks::Forbidden,
            };
            let policy = UrlPolicy::new(&Url::parse(server).unwrap(), private).unwrap();
            assert_eq!(check(&policy, url).is_ok(), is_allowed, "{server} {url}");
        }
        let plain = Url::parse("http://10.0.0.5/mcp").unwrap();
        let error = UrlPolicy::new(&plain, PrivateNetworks::Allowed).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("https"), "a private host needs TLS: {error}");
    }

    #[test]
    fn private_hosts_are_allowed_only_if_all_addresses_of_the_server_are_private() {
        let policy = |server: &str| {
            let private = PrivateNetworks::OfPrivateServer(Arc::default());
            UrlPolicy::new(&Url::parse(server).unwrap(), private).unwrap()
        };
        let other = "https://192.168.0.1/";
        for (server, is_allowed) in [
            ("https://10.0.0.5/mcp", true),
            ("https://[fd12::1]/mcp", true),
            ("http://localhost:3000/mcp", true),
            ("https://93.184.216.34/mcp", false),
            ("https://mcp.example.com/mcp", false),
        ] {
            assert_eq!(
                check(&policy(server), other).is_ok(),
                is_allowed,
                "{server}"
            );
        }
        let named = policy("https://MCP.example.com/mcp");
        for (host, addresses, is_allowed) in [
            ("mcp.example.com", &["10.0.0.5", "fd12::1"][..], true),
            ("as.example.com", &["93.184.216.34"], true),
            ("mcp.example.com", &["10.0.0.5", "93.184.216.34"], false),
            ("as.example.com", &["10.0.0.5"], false),
            ("mcp.example.com", &["10.0.0.5"], true),
            ("mcp.example.com", &["93.184.216.34"], false),
            ("mcp.example.com", &[], false),
        ] {
            let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
            named.observe(host, &addresses);
            let allows = check(&named, other).is_ok();
            assert_eq!(allows, is_allowed, "{host} {addresses:?}");
            assert!(check(&named, "https://169.254.169.254/").is_err());
        }
    }
}
