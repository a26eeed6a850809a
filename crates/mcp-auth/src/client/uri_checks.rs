//! Checks of URLs from metadata documents and from settings.

use url::Url;

use crate::error::{Error, ErrorKind, quoted};
use crate::web::is_local;

/// Parses the URL of a metadata field or a setting.
pub(crate) fn parse_url(text: &str, field: &str) -> Result<Url, Error> {
    crate::web::parse_url(ErrorKind::InvalidResponse, field, text)
}

/// Checks that a browser with an authorization code may be redirected to `uri`.
///
/// Specification: authorization, communication security.
pub(crate) fn check_redirect(uri: &str) -> Result<(), Error> {
    let url = parse_url(uri, "the redirect URI")?;
    // A custom scheme of a program has a dot in it: RFC 8252, section 7.1.
    let is_own = url.scheme().contains('.');
    if url.scheme() == "https" || is_own || (url.scheme() == "http" && is_local(&url)) {
        return Ok(());
    }
    let uri = quoted(uri);
    let message = format!("the redirect URI {uri} must be https, or http on this machine");
    Err(Error::setup(message))
}

/// Parses the URL of a client metadata document.
///
/// # Errors
/// Returns an error if authorization servers would reject the URL.
pub(crate) fn document_url(text: &str) -> Result<Url, Error> {
    let wrong = |why: &str| {
        let message = format!("the client metadata URL {} {why}", quoted(text));
        Err(Error::setup(message))
    };
    let Ok(url) = Url::parse(text) else {
        return wrong("is not a URL");
    };
    if url.scheme() != "https" {
        return wrong("must be https");
    }
    if url.path() == "/" {
        return wrong("needs a path, as in https://example.com/client.json");
    }
    if url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return wrong("must not have a fragment or credentials");
    }
    // The URL is the client id, which is compared byte for byte.
    if url.as_str() != text {
        return wrong(&format!("is not in normal form; write it as {url}"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: AUTH-029, AUTH-030, M-AUTH-064
    #[test]
    fn a_client_metadata_url_is_https_with_a_path() {
        assert!(document_url("https://example.com/client.json").is_ok());
        for (url, advice) in [
            ("http://example.com/client.json", "https"),
            ("https://example.com", "path"),
            ("https://example.com/", "path"),
            ("https://user@example.com/c", "credentials"),
            ("https://example.com/c#x", "fragment"),
            ("https://EXAMPLE.com/c", "https://example.com/c"),
            ("example.com/c", "not a URL"),
        ] {
            let error = document_url(url).unwrap_err().to_string();
            assert!(error.contains(advice), "{url}: {error}");
        }
    }

    #[test]
    fn a_redirect_uri_is_local_or_uses_tls() {
        for good in [
            "http://127.0.0.1:4711/callback",
            "http://localhost/cb",
            "https://app.example/cb",
            "com.example.app:/cb",
        ] {
            check_redirect(good).unwrap();
        }
        for bad in [
            "http://app.example/cb",
            "javascript:alert(1)",
            "file:///cb",
            "cb",
        ] {
            check_redirect(bad).unwrap_err();
        }
    }
}
