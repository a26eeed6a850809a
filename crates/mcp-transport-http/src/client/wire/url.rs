//! The URL of a server.

use std::any::Any;
use std::fmt;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use iri_string::format::ToDedicatedString;
use iri_string::types::{UriAbsoluteString, UriReferenceStr};
use mcp_protocol::{Network, TransportError, TransportFacts};

/// A URL of a server or of a redirect. Its `Display` omits the query, which may contain a key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerUrl(Uri);

impl ServerUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// Returns an error if it is not an `http` or `https` URL, or contains credentials.
    pub(crate) fn parse(url: &str) -> Result<Self, TransportError> {
        let shown = redacted(url);
        let wrong = |what: &str| Err(TransportError::new(format!("{shown:?}: {what}")));
        if !url.contains("://") {
            return wrong("the scheme is missing; write http:// or https:// before the host");
        }
        let uri = url.trim().parse::<Uri>().map_err(|error| {
            TransportError::new(format!(
                "{shown:?} is not a URL; write it as in \"https://example.com/mcp\""
            ))
            .with_source(error)
        })?;
        if !uri
            .scheme()
            .is_some_and(|s| *s == Scheme::HTTP || *s == Scheme::HTTPS)
        {
            return wrong("only http:// and https:// are supported");
        }
        if uri.host().is_none_or(str::is_empty) {
            return wrong("the host is missing");
        }
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return wrong(
                "credentials in a URL appear in logs; remove them and use HttpTransport::header or \
                 HttpTransport::bearer",
            );
        }
        let port = uri
            .authority()
            .and_then(|a| a.as_str().strip_prefix(a.host()));
        if uri.port_u16().is_none() && port.is_some_and(|port| !matches!(port, "" | ":")) {
            return wrong("the port is not a number from 0 to 65535");
        }
        Ok(Self(uri))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Returns whether the scheme is `https`.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Returns whether the host is this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.0.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let host = |it: &Self| it.0.host().map(str::to_ascii_lowercase);
        self.0.scheme() == other.0.scheme()
            && host(self) == host(other)
            && self.port() == other.port()
    }

    fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(self.default_port())
    }

    fn default_port(&self) -> u16 {
        if self.is_secure() { 443 } else { 80 }
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn host_header(&self) -> Result<HeaderValue, TransportError> {
        let host = self.0.host().unwrap_or_default();
        let text = match self.0.port_u16() {
            Some(port) if port != self.default_port() => format!("{host}:{port}"),
            _ => host.to_owned(),
        };
        HeaderValue::try_from(text).map_err(|error| {
            TransportError::new(format!("the host of {self} is not valid in a header"))
                .with_source(error)
        })
    }

    /// Resolves `reference`, which the server sent, relative to this URL. Returns `None` if the result is
    /// not a valid URL.
    ///
    /// Specification: [RFC 3986, section 5.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2).
    pub(crate) fn join(&self, reference: &str) -> Option<Self> {
        let base = UriAbsoluteString::try_from(self.0.to_string()).ok()?;
        let reference = UriReferenceStr::new(reference).ok()?;
        let mut target = reference.resolve_against(&base).to_dedicated_string();
        target.set_fragment(None);
        Self::parse(target.as_str()).ok()
    }
}

impl TransportFacts for ServerUrl {
    fn facts(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }

    fn network(&self) -> Option<Network> {
        let host = self.0.host().unwrap_or_default();
        Some(Network::new("http").with_server(host, self.port()))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A parsed URL has no credentials, so an `@` belongs to the path.
        f.write_str(&clipped(without_query(&self.0.to_string())))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Removes the secrets from a text that may be an invalid URL, and clips it. The text before the last `@` may contain
/// credentials.
fn redacted(url: &str) -> String {
    let url = without_query(url);
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    match rest.rsplit_once('@') {
        Some((_, rest)) => clipped(&format!("{scheme}[redacted]@{rest}")),
        None => clipped(url),
    }
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Clips a URL to 256 characters.
fn clipped(url: &str) -> String {
    url.chars().take(256).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> ServerUrl {
        ServerUrl::parse(url).unwrap()
    }

    #[test]
    fn invalid_urls_are_rejected_with_advice() {
        for (url, advice) in [
            ("localhost:3000/mcp", "http://"),
            ("example.com", "http://"),
            ("/mcp", "http://"),
            ("ftp://example.com", "only http://"),
            ("http://", "http"),
            (
                "https://user:secret@example.com/mcp",
                "HttpTransport::bearer",
            ),
            (
                "https://user:secret@x@example.com/mcp",
                "[redacted]@example",
            ),
            ("https://user:secret/@example.com/mcp", "[redacted]@example"),
            ("https://example.com:port/mcp", "not a number"),
            ("https://example.com:65536/mcp", "not a number"),
            (
                "https://exa mple.com/?key=secret",
                "https://example.com/mcp",
            ),
        ] {
            let error = ServerUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains(advice), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_query_of_a_url_is_sent_but_not_shown() {
        let endpoint = at("https://example.com/mcp?key=secret");
        assert_eq!(endpoint.uri().query(), Some("key=secret"));
        assert_eq!(
            format!("{endpoint} {endpoint:?}"),
            "https://example.com/mcp https://example.com/mcp"
        );
        // The connection goes to the host that is shown.
        let endpoint = at("https://good.example/a@evil.invalid/");
        assert_eq!(endpoint.to_string(), "https://good.example/a@evil.invalid/");
    }

    #[test]
    fn relative_urls_are_resolved_as_rfc_3986_says() {
        let base = at("http://h:1/a/b?x=1");
        for (reference, target) in [
            ("http://other/c", "http://other/c"),
            ("//other/c", "http://other/c"),
            ("/c", "http://h:1/c"),
            ("/c?y=2#part", "http://h:1/c?y=2"),
            ("c", "http://h:1/a/c"),
            ("./c", "http://h:1/a/c"),
            ("../c", "http://h:1/c"),
            ("../../../c", "http://h:1/c"),
            ("c/.", "http://h:1/a/c/"),
            ("c/..", "http://h:1/a/"),
            ("?y=2", "http://h:1/a/b?y=2"),
            ("", "http://h:1/a/b?x=1"),
            ("c:d", "none"),
            ("/c d", "none"),
        ] {
            let found = base.join(reference).map(|j| j.0.to_string());
            assert_eq!(found.as_deref().unwrap_or("none"), target, "{reference:?}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let base = at("https://Example.com/a");
        assert!(base.has_origin_of(&at("https://example.com:443/b?c")));
        for other in [
            "http://example.com/a",
            "https://example.com:444/a",
            "https://b.example.com/a",
        ] {
            assert!(!base.has_origin_of(&at(other)), "{other}");
        }
    }

    #[test]
    fn urls_of_this_machine_are_recognised() {
        for url in [
            "http://localhost",
            "http://127.0.0.2:1/",
            "http://[::1]:8/x",
            "http://LOCALHOST",
        ] {
            assert!(at(url).is_local(), "{url}");
        }
        for url in [
            "http://localhost.example.com",
            "http://10.0.0.1",
            "http://[::2]",
        ] {
            assert!(!at(url).is_local(), "{url}");
        }
    }
}
