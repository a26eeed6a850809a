//! Patterns of rules for URIs, prepared for many comparisons.
//!
//! A rule that allows a URI compares its parts, so that a `*` in the host does not match a path or query. A rule that restricts the use of URIs matches
//! whatever servers may read from them ([`Readings`]).

use std::borrow::Cow;

use mcp_host::matches_pattern;

use super::readings::{Readings, Restriction, split_scheme};
use super::uri::{
    authority_end, before, check_spelling, check_template, escaped, scheme, without_user,
};

/// Where a URI is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UriSource {
    /// A client has written it.
    Client,
    /// The server lists it, so it is the server's own spelling.
    List,
    /// It is a template that the server lists.
    Template,
}

/// A URI to which rules are applied. A listed URI can have a user, and characters that should be escaped: all servers understand both, so rules see the URI
/// without the user and with the escapes.
pub(crate) struct RuledUri<'a> {
    text: &'a str,
    with_user: Cow<'a, str>,
    readings: Readings<'a>,
    /// Why servers may understand the URI in different ways. Then it is compared only with patterns that are equal to it.
    pub(crate) problem: Option<&'static str>,
}

impl<'a> RuledUri<'a> {
    pub(crate) fn new(text: &'a str, source: UriSource) -> Self {
        let with_user = match source {
            UriSource::List => escaped(text),
            _ => Cow::Borrowed(text),
        };
        let plain = match source {
            UriSource::Client => with_user.clone(),
            _ => without_user(with_user.clone()),
        };
        let checked = match source {
            UriSource::Template => check_template(&plain),
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
            // No server reads a URI as one with another scheme.
            Some(_) => match (scheme(&self.text), scheme(uri.text)) {
                (Some(pattern), Some(scheme)) => pattern.eq_ignore_ascii_case(scheme),
                _ => true,
            },
        }
    }
}

/// The parts of a pattern that allows: scheme, authority, path and query. A pattern without `//` has no authority, and its path also matches one.
#[derive(Debug)]
struct Parts {
    parts: [Option<String>; 4],
    /// Whether the pattern ends with `*`, which matches any text. Then the parts after the last one also match anything.
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

/// Splits a URI or pattern into scheme, authority, path and query. Without `has_scheme` or `has_authority`, the path begins with what is not split off.
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
