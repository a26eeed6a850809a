//! URI templates of RFC 6570: parsed, expanded, and matched against the URIs of requests.

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

use self::matching::Matcher;
use self::syntax::Part;
pub use self::syntax::TemplateError;

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
/// Every template expands. [`matches`](Self::matches) is the way back, for templates that lose
/// nothing on the way out: all of them except those with the modifiers `*` and `:n` (see
/// [`is_reversible`](Self::is_reversible)).
///
/// | Expression | Matches | May be absent |
/// | --- | --- | --- |
/// | `{x}` | one or more characters, none of them `/`, `?` or `#` | no |
/// | `{+x}` | one or more characters of any kind | no |
/// | `{#x}` | `#` and a text without `#` | yes |
/// | `{.x}`, `{/x}` | the sign and what `{x}` matches | yes |
/// | `{;x}` | `;x` or `;x=` and what `{x}` matches, or nothing | yes |
/// | `{?x,y}`, `{&x,y}` | parameters of the query, in any order, each once, no others | each of them |
///
/// Several variables in one expression stand for several expressions; the last ones may be
/// absent. What is absent is not in the answer. Where a URI can be taken apart in several ways,
/// as much as possible is present, and earlier variables take as much as they can. A variable
/// that stands in several places has the same value in all of them.
///
/// Values are percent-decoded exactly once. The work grows with the length of the URI times the
/// number of variables, whatever the template.
///
/// # What never matches
///
/// A handler may use a variable as a path, so these are refused wherever they stand, plain or
/// encoded, once or twice: a segment `..`, a NUL, text that is not UTF-8, and an encoded `/` or
/// `\` in a variable that may not hold a plain one. A variable `{+x}` does not start another
/// absolute path behind a `/`. This is no sandbox: links and drive letters are the handler's to
/// check.
#[derive(Clone)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    /// `None` where matching would have to guess.
    matcher: Option<Matcher>,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// The text is not RFC 6570; says where and what to change.
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        let parts = parse::parse(template)?;
        Ok(Self {
            text: template.to_owned(),
            matcher: Matcher::of(&parts),
            parts,
        })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables in order, each once.
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

    /// Whether [`matches`](Self::matches) can find anything: no variable has a modifier.
    pub fn is_reversible(&self) -> bool {
        self.matcher.is_some()
    }

    /// The URI for these values; a variable without a value is left out.
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        expand::expand(&self.parts, |name| {
            values
                .get(name)
                .map(|text| expand::Value::Text(text.into()))
        })
    }

    /// The URI for these values, which may be lists and objects. Null, an empty list and an
    /// empty object are no values.
    pub fn expand_json(&self, values: &JsonObject) -> String {
        expand::expand(&self.parts, |name| expand::Value::of(values.get(name)?))
    }

    /// The values of the variables, if this URI can come from the template.
    ///
    /// See [what is matched](#what-is-matched) and [what never is](#what-never-matches).
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
