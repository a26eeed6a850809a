//! The URL of a proxy.

use std::fmt;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use mcp_jsonrpc::quote;

/// The maximum length of a quoted URL in an error message, in characters.
const MAX_SHOWN: usize = 256;

/// The maximum length of a user and of a password in SOCKS 5, in bytes.
const MAX_SOCKS_LOGIN: usize = 255;

/// Returns the scheme, the host and the port of an invalid URL for an error. Any other part can be a secret.
fn shown(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.chars().all(|char| char.is_ascii_alphanumeric()) => {
            (format!("{scheme}://"), rest)
        }
        Some((_, rest)) => ("[redacted]://".to_owned(), rest),
        None => (String::new(), url),
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let end = host.rfind(']').unwrap_or_default();
    let port = host[end..].find(':').map(|colon| end + colon);
    let shown = match port {
        Some(colon) if !host[colon + 1..].chars().all(|char| char.is_ascii_digit()) => {
            format!("{scheme}{}:[redacted]", &host[..colon])
        }
        _ => format!("{scheme}{host}"),
    };
    quote(&shown, MAX_SHOWN).to_string()
}

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Http,
    Https,
    /// SOCKS 5. The client looks up the name of the server.
    Socks5,
    /// SOCKS 5. The proxy looks up the name of the server.
    Socks5h,
}

impl ProxyKind {
    const ALL: [Self; 4] = [Self::Http, Self::Https, Self::Socks5, Self::Socks5h];

    fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
            Self::Socks5h => "socks5h",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 | Self::Socks5h => 1080,
        }
    }
}

/// The URL of a proxy. Its `Display` and `Debug` omit the credentials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyAddress {
    pub(crate) kind: ProxyKind,
    /// Host and port.
    authority: Authority,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
    /// User and password for SOCKS.
    pub(crate) login: Option<(String, String)>,
}

impl ProxyAddress {
    /// Parses a URL. Without a scheme, the proxy is an HTTP proxy.
    ///
    /// # Errors
    /// The URL is not valid, or this client does not support its scheme. The text does not contain the credentials.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let url = url.trim();
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let shown = shown(url);
        let is_named = |kind: &ProxyKind| scheme.eq_ignore_ascii_case(kind.scheme());
        let Some(kind) = ProxyKind::ALL.into_iter().find(is_named) else {
            return Err(format!(
                "the scheme of the proxy {shown} must be http, https, socks5 or socks5h"
            ));
        };
        if kind == ProxyKind::Https && !cfg!(feature = "tls") {
            return Err(format!("{shown} needs TLS; enable the feature \"tls\""));
        }
        // hyper-util reads the credentials.
        let whole = format!("{}://{rest}", kind.scheme());
        let read = Matcher::builder().all(whole).build();
        let read = read.intercept(&Uri::from_static("http://server"));
        let authority = read.as_ref().and_then(|it| it.uri().authority());
        // With another `@`, the end of the credentials is ambiguous.
        let after_authority = rest.find(['/', '?', '#']).map_or("", |end| &rest[end..]);
        let is_ambiguous = rest.matches('@').count() > 1 || after_authority.contains('@');
        let host = authority.map(Authority::host);
        let host = host.filter(|host| !host.is_empty() && !is_ambiguous);
        let (Some(read), Some(authority), Some(host)) = (&read, authority, host) else {
            return Err(format!(
                "{shown} is not a valid URL of a proxy; write it like \"http://proxy.example:3128\", with special characters of user and password in \
                 percent-encoding, such as %40 for @"
            ));
        };
        let has_port = authority.as_str().len() > host.len();
        if has_port && authority.port_u16().is_none() {
            return Err(format!("{shown}: the port is not a number from 0 to 65535"));
        }
        let port = authority.port_u16().unwrap_or(kind.default_port());
        let authority = format!("{host}:{port}").parse();
        let authority = authority.map_err(|error| format!("{shown}: {error}"))?;
        let login = read.raw_auth();
        if login.is_some_and(|(user, password)| user.len().max(password.len()) > MAX_SOCKS_LOGIN) {
            return Err(format!(
                "{shown}: user and password for SOCKS have at most {MAX_SOCKS_LOGIN} bytes each"
            ));
        }
        Ok(Self {
            kind,
            authority,
            authorization: read.basic_auth().cloned(),
            login: login.map(|(user, password)| (user.to_owned(), password.to_owned())),
        })
    }

    /// Returns whether the proxy forwards requests to `http` URLs without a tunnel.
    #[cfg(feature = "client")]
    pub(crate) fn forwards(&self) -> bool {
        matches!(self.kind, ProxyKind::Http | ProxyKind::Https)
    }

    /// Returns the URL for the TCP or TLS connection to the proxy.
    pub(crate) fn uri(&self) -> Uri {
        let scheme = match self.kind {
            ProxyKind::Https => Scheme::HTTPS,
            _ => Scheme::HTTP,
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(scheme);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Uri::from_parts(parts).unwrap_or_default()
    }
}

impl fmt::Display for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.kind.scheme(), self.authority)
    }
}

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_decoded_and_not_shown() {
        let proxy = ProxyAddress::parse("http://us%40er:p%3Aw@proxy.example").unwrap();
        assert_eq!(
            format!("{proxy} {proxy:?}"),
            "http://proxy.example:80 http://proxy.example:80"
        );
        // "us@er:p:w" in base64
        let sent = proxy.authorization.unwrap();
        assert_eq!(sent, "Basic dXNAZXI6cDp3");
        assert!(sent.is_sensitive());
        let proxy = ProxyAddress::parse("socks5h://user:p%20w@[::2]").unwrap();
        assert_eq!(proxy.to_string(), "socks5h://[::2]:1080");
        assert_eq!(proxy.login.unwrap(), ("user".to_owned(), "p w".to_owned()));
    }

    #[test]
    fn an_invalid_url_is_refused_with_advice() {
        for (url, advice) in [
            ("ftp://u:secret@proxy", "must be http, https"),
            ("socks4://proxy", "must be http, https"),
            ("http://", "such as"),
            ("http://u:secret@", "such as"),
            ("http://u:p@secret@proxy:1", "percent-encoding"),
            ("http://u:secret@proxy:port", "the port is not a number"),
            ("http://u:secret@proxy:65536", "port"),
            ("http://ada:12@host:34/secret@proxy:1", "percent-encoding"),
            ("http://ada:12/secret@proxy:1", "percent-encoding"),
            ("ada:secret://x@127.0.0.1:1", "scheme"),
            ("ada:secret", "[redacted]"),
            ("http://ada:secret", "[redacted]"),
            ("http://u:secret@pro xy:1", "such as"),
            ("", "such as"),
        ] {
            let problem = ProxyAddress::parse(url).unwrap_err();
            assert!(problem.contains(advice), "{url}: {problem}");
            assert!(!problem.contains("secret"), "{url}: {problem}");
        }
    }
}
