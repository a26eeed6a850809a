//! What servers may read from a URI, for rules that restrict its use.
//!
//! Servers split the URIs of schemes such as `notes` in different ways. Some use the host and the path, with or without the port, others the text
//! after the scheme; servers whose URIs have no host may ignore it. They may ignore case, the query and a `/` at the end, and a URI that a server lists
//! may have any form. So the pattern of a rule and a URI are compared as texts in which these differences are removed. The texts are not URIs, and must not
//! be used for rules that allow something.

use std::borrow::Cow;
use std::cell::OnceCell;

use mcp_host::matches_pattern;
use percent_encoding::percent_decode_str;

use super::uri::{has_fixed_syntax, split_port};

/// How often a server may decode a URI, in addition to the parser of URIs.
const MAX_DECODINGS: usize = 3;

/// A URI and what servers may read from it.
pub(crate) struct Readings<'a> {
    uri: &'a str,
    /// The texts that a pattern is compared with, for patterns with and without a port, and with and without a host.
    texts: [OnceCell<Vec<String>>; 4],
}

impl<'a> Readings<'a> {
    pub(crate) fn of(uri: &'a str) -> Self {
        let texts = Default::default();
        Self { uri, texts }
    }

    /// Returns whether a pattern matches something that a server may read from the URI.
    pub(crate) fn match_restriction(&self, pattern: &str) -> bool {
        let (keeps_port, has_host) = (keeps_port(pattern), has_host(pattern));
        let kind = 2 * usize::from(keeps_port) + usize::from(has_host);
        let texts = self.texts[kind].get_or_init(|| texts(self.uri, keeps_port, has_host));
        let pattern = joined(pattern, keeps_port);
        texts.iter().any(|text| matches_pattern(&pattern, text))
    }
}

/// Returns a URI without the differences of spelling that do not matter to most servers.
pub(crate) fn comparable(uri: &str) -> String {
    joined(uri, true)
}

/// Returns what servers may read from a URI; without `uses_host`, also if they ignore the host.
fn texts(uri: &str, keeps_port: bool, uses_host: bool) -> Vec<String> {
    // Listed URIs can have a `*`, which is not a wildcard.
    let uri = &*uri.replace('*', "%2A");
    let without_host = (!uses_host).then(|| without_host(uri)).flatten();
    let mut joined: Vec<_> = (without_host.as_deref().into_iter().chain([uri]))
        .flat_map(|uri| [uri, before(uri, &['?', '#']), before(uri, &['?', '#', ';'])])
        .map(|uri| joined(uri, keeps_port))
        .collect();
    // Some servers split the URI after decoding it.
    let decoded: Vec<_> = (joined.iter())
        .map(|text| before(text, &['?', '#', ';']).to_owned())
        .collect();
    joined.extend(decoded);
    joined.sort_unstable();
    joined.dedup();
    let mut texts = Vec::new();
    for text in joined {
        let (scheme, rest) = split_scheme(&text).unwrap_or(("", &text));
        for slashes in ["", "//", "///"] {
            for end in ["", "/"] {
                texts.push(format!("{scheme}:{slashes}{rest}{end}"));
            }
        }
    }
    texts
}

/// Returns whether a pattern has a host, or could match one.
fn has_host(pattern: &str) -> bool {
    let Some((_, rest)) = split_scheme(pattern) else {
        return true;
    };
    let rest = rest.strip_prefix("//");
    rest.is_some_and(|rest| !before(rest, &['/', '?', '#']).is_empty())
}

/// Returns a URI without its host and port; `None` if it has none, or if no server ignores the host.
fn without_host(uri: &str) -> Option<String> {
    let (scheme, rest) = split_scheme(uri)?;
    let rest = rest
        .strip_prefix("//")
        .filter(|_| !has_fixed_syntax(scheme))?;
    let path = &rest[before(rest, &['/', '?', '#']).len()..];
    Some(format!("{scheme}:{path}"))
}

/// Returns whether the port of a pattern is compared: all servers read it in the same way, and the pattern does not match every port.
fn keeps_port(pattern: &str) -> bool {
    split_scheme(pattern).is_some_and(|(scheme, rest)| {
        let authority = rest
            .strip_prefix("//")
            .map(|rest| before(rest, &['/', '?', '#']));
        let port = authority.and_then(|authority| split_port(authority).1);
        has_fixed_syntax(&scheme.to_ascii_lowercase())
            && !port.is_some_and(|port| port.contains('*'))
    })
}

/// Returns a URI or a pattern as one text `scheme:host/path?query`, decoded and in lower case, without empty segments and, unless it is kept, without the
/// port. `%2A` is kept, because a `*` in a pattern matches any text.
fn joined(text: &str, keeps_port: bool) -> String {
    let Some((scheme, rest)) = split_scheme(text) else {
        return joined_segments(&decoded(text));
    };
    let mut parts = rest.to_owned();
    if let Some(rest) = rest.strip_prefix("//") {
        let authority = before(rest, &['/', '?', '#']);
        let host = match keeps_port {
            true => authority,
            false => split_port(authority).0,
        };
        parts = format!("{host}{}", &rest[authority.len()..]);
    }
    let parts = joined_segments(&decoded(&parts));
    format!("{}:{parts}", scheme.to_ascii_lowercase())
}

/// Splits a URI or pattern after its scheme, in which a pattern may have `*`.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.*".contains(&byte);
    (!scheme.is_empty() && scheme.bytes().all(is_letter)).then_some((scheme, rest))
}

/// Returns the text before the first of these characters.
fn before<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split(ends).next().unwrap_or_default()
}

/// Returns a text without empty segments.
fn joined_segments(text: &str) -> String {
    let segments: Vec<_> = text
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    segments.join("/")
}

fn decoded(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MAX_DECODINGS {
        let kept = text.replace("%2A", "%252A").replace("%2a", "%252A");
        text = Cow::Owned(percent_decode_str(&kept).decode_utf8_lossy().into_owned());
    }
    text.to_lowercase()
}
