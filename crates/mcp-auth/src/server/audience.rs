//! The audience of tokens.
//!
//! Specification: authorization, canonical server URI; [RFC 9728, section
//! 3.1](https://www.rfc-editor.org/rfc/rfc9728#section-3.1).

use url::Url;

use crate::error::{Error, quoted};
use crate::web::is_local;
use crate::well_known;

/// The audiences of tokens for this server: the canonical URI of the server, and its aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    resource: String,
    /// Length of the scheme and the authority in `resource`, in bytes. Both are compared without regard to case.
    origin: usize,
    aliases: Vec<String>,
}

impl Audience {
    /// Creates the audience of the server at this public URL. The scheme is `https`, or `http` for a server on this machine.
    ///
    /// # Errors
    /// Returns an error if the URL has another scheme, a query, a fragment or credentials.
    pub fn new(resource: &str) -> Result<Self, Error> {
        let url = public_url(resource, "the resource")?;
        let resource = well_known::canonical(&url);
        let origin = resource.len() - url.path().trim_end_matches('/').len();
        Ok(Self {
            resource,
            origin,
            aliases: Vec::new(),
        })
    }

    /// Adds an alias: another name that an authorization server uses for this server.
    #[must_use]
    pub fn with_alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// Returns the canonical URI, without a trailing slash.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns whether `name` is the URI of this server, with or without a trailing slash, or is equal to an alias byte for byte.
    pub fn matches(&self, name: &str) -> bool {
        self.is_resource(name) || self.aliases.iter().any(|other| other == name)
    }

    // Only the case of scheme and authority is ignored. Further normalization could accept a URI
    // that the issuer considers different.
    fn is_resource(&self, name: &str) -> bool {
        let name = name.strip_suffix('/').unwrap_or(name);
        let (own_origin, own_path) = self.resource.split_at(self.origin);
        let Some((origin, path)) = name.split_at_checked(self.origin) else {
            return false;
        };
        origin.eq_ignore_ascii_case(own_origin) && path == own_path
    }

    /// Returns the path of the server's URI; empty for the root.
    pub(crate) fn path(&self) -> &str {
        self.resource.get(self.origin..).unwrap_or_default()
    }

    pub(crate) fn origin(&self) -> &str {
        self.resource.get(..self.origin).unwrap_or_default()
    }
}

/// Parses a URL that the server publishes to clients. `what` is the name of the URL in error messages.
pub(crate) fn public_url(text: &str, what: &str) -> Result<Url, Error> {
    let wrong = |why: &str| {
        let shown = quoted(text.split('?').next().unwrap_or_default());
        Err(Error::setup(format!("{what} {shown} {why}")))
    };
    let Ok(url) = Url::parse(text) else {
        return wrong("is not a URL; use a URL such as https://example.com/mcp");
    };
    match url.scheme() {
        "https" => {}
        "http" if is_local(&url) => {}
        "http" => return wrong("must be https, because tokens could be read in transit"),
        _ => return wrong("must be https, or http on this machine"),
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("must not have a query or a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("must not have credentials");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: AUTH-051, AUTH-052, M-AUTH-031
    #[test]
    fn an_audience_ignores_host_case_and_a_trailing_slash() {
        let at_path = Audience::new("HTTPS://MCP.Example.com/a/mcp/").unwrap();
        assert_eq!(at_path.resource(), "https://mcp.example.com/a/mcp");
        assert_eq!(at_path.path(), "/a/mcp");
        for name in [
            "https://mcp.example.com/a/mcp",
            "https://mcp.example.com/a/mcp/",
            "HTTPS://MCP.EXAMPLE.COM/a/mcp",
        ] {
            assert!(at_path.matches(name), "{name}");
        }
        let at_root = Audience::new("https://mcp.example.com").unwrap();
        assert_eq!(at_root.resource(), "https://mcp.example.com");
        assert_eq!(at_root.path(), "");
        assert!(
            at_root.matches("https://mcp.example.com/")
                && at_root.matches("https://mcp.example.com")
        );
    }

    #[test]
    fn a_similar_uri_is_another_audience() {
        let server = Audience::new("https://mcp.example.com/mcp").unwrap();
        for name in [
            "",
            "/",
            "https://mcp.example.com",
            "https://mcp.example.com/MCP",
            "https://mcp.example.com/mcp//",
            "https://mcp.example.com/mcp/more",
            "https://mcp.example.com/mcp?x",
            "https://mcp.example.com/mcp#x",
            "https://mcp.example.com/a/../mcp",
            "https://mcp.example.com:444/mcp",
            "https://mcp.example.com.evil/mcp",
            "https://mcp.example.co\u{212A}/mcp",
            "http://mcp.example.com/mcp",
            "mcp.example.com/mcp",
        ] {
            assert!(!server.matches(name), "{name}");
        }
        let named = server.with_alias("api://mcp");
        assert!(
            named.matches("api://mcp")
                && !named.matches("api://MCP")
                && !named.matches("api://mcp/")
        );
    }

    #[test]
    fn an_audience_without_tls_is_rejected() {
        for (url, advice) in [
            ("http://mcp.example.com/mcp", "https"),
            ("mcp.example.com/mcp", "https"),
            ("ftp://mcp.example.com", "https"),
            ("https://mcp.example.com/mcp?tenant=secret", "query"),
            ("https://mcp.example.com/mcp#x", "fragment"),
            ("https://user:secret@mcp.example.com", "credentials"),
            ("https://user@mcp.example.com", "credentials"),
            ("https://:secret@mcp.example.com", "credentials"),
        ] {
            let error = Audience::new(url).unwrap_err().to_string();
            assert!(error.contains(advice), "{url}: {error}");
        }
        Audience::new("http://127.0.0.1:8000/mcp").unwrap();
        Audience::new("http://localhost:8000/mcp").unwrap();
    }
}
