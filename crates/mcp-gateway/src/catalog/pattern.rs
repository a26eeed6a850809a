//! Patterns of rules for URIs, prepared for many comparisons.
//!
//! A pattern that allows items is compared with each part of a URI separately, so a `*` in the host does not match a path or a
//! query. A pattern that restricts the use of URIs is compared with each form in which servers may interpret a URI
//! ([`Readings`]).

use std::borrow::Cow;

use mcp_host::matches_pattern;

use super::readings::{Readings, Restriction, UNKNOWN, split_scheme};
use super::uri::{
    authority_end, before, check_spelling, check_template, escaped, scheme,
    schemes_with_nested_uri, without_user,
};

/// The place where a URI comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UriSource {
    /// The URI is from a request of a client.
    Client,
    /// The URI is from the server's list of resources, in the spelling of the server.
    List,
    /// The URI is a template from the server's list of templates.
    Template,
    /// The URI is a template that was expanded for a completion. Characters of [`UNKNOWN`] replace unknown values.
    Expansion,
}

/// A URI to which rules are applied. A URI from the list of a server can contain a user name, and characters that should be
/// escaped. All servers interpret such a URI in the same way, so it is not rejected: before it is compared with rules, the user
/// name is removed and the characters are escaped.
pub(crate) struct RuledUri<'a> {
    text: &'a str,
    with_user: Cow<'a, str>,
    readings: Readings<'a>,
    /// The reason why servers may interpret the URI in different ways; `None` if all servers interpret it in the same way. If
    /// there is a reason, a rule allows the URI only if its pattern is `*` or is equal to the URI.
    pub(crate) problem: Option<&'static str>,
}

impl<'a> RuledUri<'a> {
    pub(crate) fn new(text: &'a str, source: UriSource) -> Self {
        let with_user = match source {
            UriSource::List => escaped(text),
            _ => Cow::Borrowed(text),
        };
        let plain = match source {
            UriSource::Client | UriSource::Expansion => with_user.clone(),
            _ => without_user(with_user.clone()),
        };
        let checked = match source {
            UriSource::Template => check_template(&plain),
            UriSource::Expansion => check_spelling(&plain.replace(UNKNOWN, "x")),
            _ => check_spelling(&plain),
        };
        Self {
            text,
            with_user,
            readings: Readings::of(plain),
            problem: checked.err(),
        }
    }
}

/// A pattern for URIs.
#[derive(Debug)]
pub(crate) struct UriPattern {
    text: String,
    parts: Parts,
    restriction: Restriction,
}

impl UriPattern {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            parts: Parts::of(&escaped(text)),
            restriction: Restriction::of(text),
        }
    }

    /// Returns whether a rule with the pattern allows the URI.
    pub(crate) fn allows(&self, uri: &RuledUri<'_>) -> bool {
        if self.text == uri.text || self.text.bytes().all(|byte| byte == b'*') {
            return true;
        }
        let has_user = self.text[..authority_end(&self.text)].contains('@');
        let text = match has_user {
            true => &uri.with_user,
            false => &uri.readings.uri,
        };
        uri.problem.is_none() && self.parts.matches(text)
    }

    /// Returns whether a rule with the pattern restricts the use of the URI.
    pub(crate) fn restricts(&self, uri: &RuledUri<'_>) -> bool {
        if matches_pattern(&self.text, uri.text) {
            return true;
        }
        match uri.problem {
            None => self.restriction.matches(&uri.readings),
            Some(_) => {
                let schemes = schemes_with_nested_uri(uri.text)
                    .or_else(|| Some(vec![scheme(uri.text)?.to_ascii_lowercase()]));
                // A pattern with another scheme does not restrict the URI, because a server does not confuse the schemes of the
                // URIs that it lists.
                match (scheme(&self.text), schemes) {
                    (Some(pattern), Some(schemes)) => (schemes.iter())
                        .any(|scheme| scheme.is_empty() || pattern.eq_ignore_ascii_case(scheme)),
                    _ => true,
                }
            }
        }
    }
}

/// The parts of a pattern that allows URIs: scheme, authority, path and query. A pattern without `//` has no authority. Its path
/// is then compared with the authority and the path of the URI.
#[derive(Debug)]
struct Parts {
    parts: [Option<String>; 4],
    /// Whether the pattern ends with `*`, which matches any text. If it does, any value matches for a part of the URI that the
    /// pattern does not have.
    is_open: bool,
}

impl Parts {
    fn of(pattern: &str) -> Self {
        let start = pattern.trim_end_matches('*');
        let is_open = start.len() < pattern.len();
        let has_scheme = split_scheme(start).is_some();
        let mut parts = split(start, has_scheme, true).map(|part| part.map(str::to_owned));
        if is_open {
            let [_, authority, path, query] = &mut parts;
            if authority.is_some() && query.is_none() && path.as_deref() == Some("") {
                *path = None;
            }
            if let Some(last) = parts.iter_mut().rev().flatten().next() {
                last.push('*');
            }
        }
        Self { parts, is_open }
    }

    fn matches(&self, uri: &str) -> bool {
        let [scheme, authority, ..] = &self.parts;
        let parts = split(uri, scheme.is_some(), authority.is_some());
        let mut pairs = self.parts.iter().zip(parts);
        pairs.all(|pair| match pair {
            (Some(pattern), Some(part)) => matches_pattern(pattern, part),
            (Some(_), None) => false,
            (None, Some(_)) => self.is_open,
            (None, None) => true,
        })
    }
}

/// Splits a URI or pattern into scheme, authority, path and query. If `has_scheme` or `has_authority` is `false`, the path begins
/// with the text of the missing part.
fn split(text: &str, has_scheme: bool, has_authority: bool) -> [Option<&str>; 4] {
    let (mut rest, query) = match text.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (text, None),
    };
    let mut scheme = None;
    if has_scheme && let Some((before, after)) = split_scheme(rest) {
        (scheme, rest) = (Some(before), after);
    }
    let mut authority = None;
    if has_authority && let Some(after) = rest.strip_prefix("//").filter(|_| has_scheme) {
        let host = before(after, &['/', '#']);
        (authority, rest) = (Some(host), &after[host.len()..]);
    }
    [scheme, authority, Some(rest), query]
}
