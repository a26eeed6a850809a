//! URI templates of RFC 6570: parsed, expanded, and matched against the URIs of requests.

mod encoding;
mod expand;
mod matching;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use mcp_types::JsonObject;

pub(crate) use self::encoding::canonical;
use self::matching::Matcher;
pub use self::syntax::TemplateError;
use self::syntax::{Operator, Part};

/// A URI template of [RFC 6570](https://www.rfc-editor.org/rfc/rfc6570), levels 1 to 4.
///
/// ```
/// use mcp_server::UriTemplate;
///
/// let template: UriTemplate = "repo://{owner}/{+path}{?rev}".parse()?;
/// let found = template.matches("repo://ada/src/main.rs?rev=v1").unwrap();
/// assert_eq!(found["owner"], "ada");
/// assert_eq!(found["path"], "src/main.rs");
/// assert_eq!(found["rev"], "v1");
/// assert_eq!(template.expand(&found), "repo://ada/src/main.rs?rev=v1");
///
/// assert!(template.matches("repo://ada/../secrets").is_none());
/// # Ok::<(), mcp_server::TemplateError>(())
/// ```
///
/// # What is matched
///
/// Every template can be expanded. [`matches`](Self::matches) is the inverse, for templates without
/// the modifiers `*` and `:n` (see [`is_reversible`](Self::is_reversible)).
///
/// | Expression | Matches | May be absent |
/// | --- | --- | --- |
/// | `{x}` | one or more characters, none of them `/`, `?` or `#` | no |
/// | `{+x}` | one or more characters of any kind | no |
/// | `{#x}` | `#` and a text without `#` | yes |
/// | `{.x}`, `{/x}` | `.` or `/`, then what `{x}` matches | yes |
/// | `{;x}` | `;x` or `;x=` and what `{x}` matches, or nothing | yes |
/// | `{?x,y}`, `{&x,y}` | parameters of the query, in any order, each once, no others | each of them |
///
/// Several variables in one expression match like several expressions; the last variables may be absent. Absent variables are not
/// in the result. If a URI can be split in several ways, the match with the most optional parts is used. Among such matches,
/// earlier variables match as many characters as possible. A variable that occurs several times has the same value everywhere.
///
/// Values are percent-decoded exactly once. The time for matching is at most proportional to the length of the URI times the
/// number of variables, for every template.
///
/// # What never matches
///
/// A handler may use a variable as a path, so some URIs never match. These are URIs with a segment `..`, with a NUL, or with text
/// that is not UTF-8. A URI with an encoded `/` or `\` does not match either, if the variable cannot contain an unencoded `/` or
/// `\`. Each rule also applies if the characters are encoded once or twice. If `{+x}` follows a `/` of the path, its value cannot
/// begin with another `/` or `\`, as an absolute path does. These rules are not a sandbox: the handler must check links and drive
/// letters.
#[derive(Clone)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    /// `None` if a variable has a modifier, because matching would be ambiguous.
    matcher: Option<Matcher>,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// The text is not a template of RFC 6570; the error names the position and the correction.
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        let parts = parse::parse(template)?;
        Ok(Self {
            text: template.to_owned(),
            matcher: Matcher::of(&parts),
            parts,
        })
    }

    /// Returns the text of the template.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables in order, without duplicates.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let mut seen = Vec::new();
        self.parts
            .iter()
            .flat_map(|part| match part {
                Part::Literal(_) => &[],
                Part::Expression { variables, .. } => variables.as_slice(),
            })
            .map(|variable| &*variable.name)
            .filter(move |name| {
                let new = !seen.contains(name);
                if new {
                    seen.push(*name);
                }
                new
            })
    }

    /// Returns whether [`matches`](Self::matches) can succeed: no variable has a modifier.
    pub fn is_reversible(&self) -> bool {
        self.matcher.is_some()
    }

    /// Returns the URI for these values; variables without a value are omitted.
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        expand::expand(&self.parts, |name| {
            values
                .get(name)
                .map(|text| expand::Value::Text(text.into()))
        })
    }

    /// Returns the URI for these values, which may be lists and objects. Null, an empty list and an empty object are treated as
    /// absent.
    pub fn expand_json(&self, values: &JsonObject) -> String {
        expand::expand(&self.parts, |name| expand::Value::of(values.get(name)?))
    }

    /// Returns the normal form of a URI: with the scheme in the spelling of the template, without needless encoding, and with the
    /// parameters of the query in the order of the template.
    pub(crate) fn normal(&self, uri: &str) -> Option<String> {
        let uri = canonical(uri)?;
        let scheme = self.text.split(['{', ':']).next().unwrap_or_default();
        let uri = match uri.get(..scheme.len()) {
            Some(known) if known.eq_ignore_ascii_case(scheme) => {
                format!("{scheme}{}", &uri[scheme.len()..])
            }
            _ => uri,
        };
        let is_query = |part: &Part| match part {
            Part::Expression { operator, .. } => {
                matches!(operator, Operator::Query | Operator::Continuation)
            }
            Part::Literal(_) => false,
        };
        match uri.contains('?') && self.parts.iter().any(is_query) {
            true => Some(self.expand(&self.matches(&uri)?)),
            false => Some(uri),
        }
    }

    /// Returns the values of the variables if the URI matches the template, and `None` otherwise.
    ///
    /// See [what is matched](#what-is-matched) and [what never matches](#what-never-matches).
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.matcher.as_ref()?.matches(uri)
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(template: &str) -> Result<Self, TemplateError> {
        Self::parse(template)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.text).finish()
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriTemplate {}
