//! Well-known URLs of metadata documents, and canonical URLs of servers.

use url::Url;

/// Returns the URLs to try if no challenge names the URL of the server's metadata. The first URL is for the path of the server,
/// and the second URL is for the root of the host.
///
/// Specification: authorization, protected resource metadata discovery.
#[cfg(feature = "client")]
pub(crate) fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    let mut all = vec![inserted(server, "oauth-protected-resource")];
    if has_path(server) {
        all.push(at(server, "/.well-known/oauth-protected-resource"));
    }
    all
}

/// Returns the URLs of an issuer's metadata, in order of preference.
///
/// Specification: authorization, authorization server metadata discovery.
pub(crate) fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let mut all = vec![
        inserted(issuer, "oauth-authorization-server"),
        inserted(issuer, "openid-configuration"),
    ];
    if has_path(issuer) {
        let path = issuer.path().trim_end_matches('/');
        all.push(at(
            issuer,
            &format!("{path}/.well-known/openid-configuration"),
        ));
    }
    all
}

/// Returns the canonical URL of a server: without query, without fragment, and without the slash that the parser adds after a
/// host.
///
/// Specification: authorization, canonical server URI.
pub(crate) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// Returns whether two texts name the same issuer. The texts must be identical, or differ only in a slash after the host. This
/// slash does not change the meaning of a URL.
///
/// Specification: RFC 8414, section 3.3; [RFC 3986, section
/// 6.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.3).
#[cfg(feature = "client")]
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare = |text: &'_ str| -> Option<String> {
        let url = Url::parse(text).ok()?;
        let is_root = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        is_root.then(|| text.strip_suffix('/').unwrap_or(text).to_owned())
    };
    one == other || bare(one).is_some_and(|one| Some(one) == bare(other))
}

/// The relation of a resource identifier to a server.
#[cfg(feature = "client")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The identifier is the URL of the server.
    Same,
    /// The identifier is a parent path of the server's URL, on the same origin.
    Parent,
    /// The identifier belongs to another server.
    Other,
}

/// Returns the relation of a resource identifier to a server. Ignores a slash at the end. If the identifier has no query, also
/// ignores the query of the server's URL.
#[cfg(feature = "client")]
pub(crate) fn relation(resource: &str, server: &Url) -> Relation {
    let Ok(resource) = Url::parse(resource) else {
        return Relation::Other;
    };
    let same_query = resource.query().is_none() || resource.query() == server.query();
    if resource.fragment().is_some() || resource.origin() != server.origin() || !same_query {
        return Relation::Other;
    }
    let path = server.path().trim_end_matches('/');
    match path.strip_prefix(resource.path().trim_end_matches('/')) {
        Some("") => Relation::Same,
        Some(rest) if rest.starts_with('/') => Relation::Parent,
        _ => Relation::Other,
    }
}

fn has_path(url: &Url) -> bool {
    !url.path().trim_end_matches('/').is_empty()
}

fn inserted(url: &Url, document: &str) -> Url {
    let path = url.path().trim_end_matches('/');
    at(url, &format!("/.well-known/{document}{path}"))
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(all: &[Url]) -> Vec<&str> {
        all.iter().map(Url::as_str).collect()
    }

    // proves: AUTH-016, M-AUTH-058
    #[cfg(feature = "client")]
    #[test]
    fn server_metadata_urls_are_tried_for_the_path_before_the_root() {
        let of = |url: &str| resource_metadata_urls(&Url::parse(url).unwrap());
        let path = "https://h:8443/.well-known/oauth-protected-resource/a/mcp";
        let root = "https://h:8443/.well-known/oauth-protected-resource";
        assert_eq!(urls(&of("https://h:8443/a/mcp?x=1")), [path, root]);
        assert_eq!(urls(&of("https://h:8443/")), [root]);
    }

    // proves: AUTH-025, AUTH-026, M-AUTH-060, M-AUTH-061, M-AUTH-088
    #[test]
    fn issuer_metadata_urls_are_in_the_order_of_the_specification() {
        let of = |url: &str| issuer_metadata_urls(&Url::parse(url).unwrap());
        assert_eq!(
            urls(&of("https://h/tenant1")),
            [
                "https://h/.well-known/oauth-authorization-server/tenant1",
                "https://h/.well-known/openid-configuration/tenant1",
                "https://h/tenant1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls(&of("https://h")),
            [
                "https://h/.well-known/oauth-authorization-server",
                "https://h/.well-known/openid-configuration",
            ]
        );
    }

    // proves: AUTH-049, AUTH-050, AUTH-051, AUTH-052, M-AUTH-030, M-AUTH-031, M-AUTH-032, M-AUTH-029
    #[test]
    fn the_canonical_url_has_no_trailing_slash() {
        let of = |url: &str| canonical(&Url::parse(url).unwrap());
        assert_eq!(of("HTTPS://MCP.Example.com"), "https://mcp.example.com");
        assert_eq!(of("https://h:8443/a/mcp?x#y"), "https://h:8443/a/mcp");
        assert_eq!(of("https://h/mcp/"), "https://h/mcp");
    }

    // proves: AUTH-048
    #[cfg(feature = "client")]
    #[test]
    fn a_resource_identifier_is_the_server_a_parent_path_or_another_server() {
        let server = Url::parse("https://h.example/a/mcp").unwrap();
        for resource in ["https://h.example/a/mcp", "https://H.example:443/a/mcp/"] {
            assert_eq!(relation(resource, &server), Relation::Same, "{resource}");
        }
        for resource in ["https://h.example/a", "https://h.example"] {
            assert_eq!(relation(resource, &server), Relation::Parent, "{resource}");
        }
        for resource in [
            "https://h.example/a/mc",
            "https://h.example/a/mcp/more",
            "https://h.example/b",
            "http://h.example/a/mcp",
            "https://h.example:444/a/mcp",
            "https://evil.example/a/mcp",
            "https://h.example.evil/a/mcp",
            "https://h.example/a/mcp#x",
            "https://h.example/a/mcp?tenant=2",
            "h.example/a/mcp",
            "",
        ] {
            assert_eq!(relation(resource, &server), Relation::Other, "{resource}");
        }
    }
}
