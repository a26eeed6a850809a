//! Sets of scopes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The scope that requests a refresh token.
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// A set of scopes, in the order of their first mention. The order has no meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Maximum number of scopes; further scopes are ignored.
    const MAX_SCOPES: usize = 256;

    /// Parses a list that is separated by spaces. Invalid scopes are ignored.
    pub fn parse(text: &str) -> Self {
        text.split_ascii_whitespace().collect()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the set contains `scope`.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Returns whether the set contains all of `others`.
    pub fn contains_all(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.contains(scope))
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        self.iter().chain(others.iter()).collect()
    }

    /// Returns the set with an additional scope.
    #[must_use]
    pub fn with(self, scope: &str) -> Self {
        self.iter().chain([scope]).collect()
    }

    /// Returns the value of the parameter `scope`; `None` if the set is empty.
    #[cfg(feature = "client")]
    pub(crate) fn to_parameter(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.to_string())
    }

    /// Iterates over the scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let mut this = Self::default();
        for scope in scopes {
            // RFC 6749, section 3.3: visible ASCII without quotes and backslashes.
            let is_scope = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            let well_formed = !scope.is_empty() && scope.bytes().all(is_scope);
            if well_formed && this.0.len() < Self::MAX_SCOPES && !this.contains(scope) {
                this.0.push(scope.to_owned());
            }
        }
        this
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_keeps_the_order_without_duplicates() {
        let both = Scopes::parse("a  b").union(&Scopes::parse("b c"));
        assert_eq!(both.to_string(), "a b c");
        assert!(both.contains_all(&Scopes::parse("c a")));
        assert!(!both.contains_all(&Scopes::parse("d")));
    }

    #[test]
    fn invalid_scopes_are_ignored() {
        assert_eq!(Scopes::parse("a \"b\" c\\d ü e").to_string(), "a e");
        let many: String = (0..1_000).map(|at| format!("s{at} ")).collect();
        assert_eq!(Scopes::parse(&many).iter().count(), Scopes::MAX_SCOPES);
    }
}
