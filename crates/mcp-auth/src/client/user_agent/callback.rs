//! Callbacks: redirects of the browser back to the client.

use std::fmt;

use url::form_urlencoded;

use crate::Secret;

/// Maximum number of parameters that are read.
const MAX_PARAMETERS: usize = 32;

/// The parameters of a redirect back to the client. `Debug` does not print them, because they may
/// contain a code.
#[derive(Clone)]
pub struct Callback(Vec<(String, Secret)>);

impl Callback {
    /// Reads the URL that the browser was redirected to, or only its query.
    pub fn parse(url: &str) -> Self {
        let query = url.split_once('?').map_or(url, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes()).take(MAX_PARAMETERS);
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned().into()));
        Self(pairs.collect())
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        let found = all.find(|(known, _)| known == name);
        found.map(|(_, value)| value.expose())
    }

    /// Returns whether a relevant parameter is repeated: RFC 6749, section 3.1.
    pub(crate) fn repeats(&self) -> bool {
        ["code", "state", "iss", "error"].iter().any(|name| {
            let named = self.0.iter().filter(|(known, _)| known == name);
            named.count() > 1
        })
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_and_its_query_are_parsed_alike() {
        for text in ["http://h/cb?code=a%20b&state=s#x", "code=a+b&state=s"] {
            let callback = Callback::parse(text);
            assert_eq!(callback.parameter("code"), Some("a b"));
            assert_eq!(callback.parameter("state"), Some("s"));
            assert!(!format!("{callback:?}").contains("a b"));
        }
        assert!(Callback::parse("state=1&x=1&state=2").repeats());
        assert!(!Callback::parse("x=1&x=2").repeats());
    }
}
