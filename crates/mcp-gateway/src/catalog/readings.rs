//! What servers may read from a URI, for rules that restrict its use.
//!
//! Servers split the URIs of schemes such as `notes` in different ways. Some use the host and the path, with or without the port, others the text
//! after the scheme; servers whose URIs have no host may ignore it. They may decode escapes twice, and ignore case, the query, parameters and a `/` at the end. So the pattern of a rule and a URI
//! are compared as texts in which these differences are removed. The texts are not URIs, and must not be used for rules that allow something.

use std::borrow::Cow;
use std::cell::OnceCell;

use mcp_host::matches_pattern;
use percent_encoding::percent_decode_str;

use super::uri::{has_fixed_syntax, normal_form, split_port};

/// How often a server may decode a URI, in addition to the parser of URIs.
const MAX_DECODINGS: usize = 3;

/// A URI and what servers may read from it.
pub(crate) struct Readings {
    normal: String,
    /// The texts that a pattern is compared with.
    texts: OnceCell<Vec<String>>,
    /// The same for a pattern without a host: a server without hosts may ignore that of the URI.
    of_any_host: OnceCell<Vec<String>>,
}

impl Readings {
    pub(crate) fn of(uri: &str) -> Self {
        Self {
            normal: normal_form(uri),
            texts: OnceCell::new(),
            of_any_host: OnceCell::new(),
        }
    }

    /// Returns the normal form of the URI.
    pub(crate) fn normal(&self) -> &str {
        &self.normal
    }

    /// Returns the normal form without the query, the fragment, parameters and `/` at the end.
    pub(crate) fn shortest(&self) -> &str {
        before(&self.normal, &['?', '#', ';']).trim_end_matches('/')
    }

    /// Returns whether a pattern matches something that a server may read from the URI.
    pub(crate) fn match_restriction(&self, pattern: &str) -> bool {
        let pattern = normal_form(pattern);
        let readings = match has_host(&pattern) {
            true => &self.texts,
            false => &self.of_any_host,
        };
        let texts = readings.get_or_init(|| texts(&self.normal, has_host(&pattern)));
        let matches = |pattern: &str| texts.iter().any(|text| matches_pattern(pattern, text));
        let has_port = || {
            let port = port_pattern(&pattern)?;
            let star = &port[port.find('*')?..];
            // The `*` of a port may also match a `/` and what follows.
            let others = [format!(":{port}"), format!("/{star}")];
            Some(others.iter().any(|port| matches(&joined(&pattern, port))))
        };
        matches(&joined(&pattern, "")) || has_port() == Some(true)
    }
}

/// Returns what servers may read from the URI with this normal form; without `uses_host`, also if they ignore the host.
fn texts(normal: &str, uses_host: bool) -> Vec<String> {
    let mut texts = Vec::new();
    let without_host = (!uses_host).then(|| without_host(normal)).flatten();
    for uri in without_host.as_deref().into_iter().chain([normal]) {
        let all = joined(uri, "");
        let path = before(&all, &['?', '#']);
        let without_params = joined_segments(path, |segment| before(segment, &[';']));
        let mut readings = vec![&all, path, before(path, &[';']), &without_params];
        readings.dedup();
        for reading in readings {
            let (scheme, rest) = split_scheme(reading).unwrap_or(("", reading));
            for slashes in ["", "//", "///"] {
                for end in ["", "/"] {
                    texts.push(format!("{scheme}:{slashes}{rest}{end}"));
                }
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

/// Returns the port of a pattern.
fn port_pattern(pattern: &str) -> Option<&str> {
    let (_, rest) = split_scheme(pattern)?;
    split_port(before(rest.strip_prefix("//")?, &['/', '?', '#'])).1
}

/// Returns a normal form or a pattern as one text `scheme:host/path?query`, decoded and in lower case. The port is replaced by `port`, unless all servers
/// read the port in the same way.
fn joined(text: &str, port: &str) -> String {
    let Some((scheme, rest)) = split_scheme(text) else {
        return decoded(text).to_lowercase();
    };
    let mut host = String::new();
    let mut path = rest;
    if let Some(rest) = rest.strip_prefix("//") {
        let authority = before(rest, &['/', '?', '#']);
        path = &rest[authority.len()..];
        host = match split_port(authority) {
            (name, Some(number)) if !has_fixed_syntax(scheme) || number.contains('*') => {
                format!("{name}{port}")
            }
            _ => authority.to_owned(),
        };
    }
    let text = decoded(&format!("{host}{path}")).to_lowercase();
    format!(
        "{}:{}",
        scheme.to_ascii_lowercase(),
        joined_segments(&text, |segment| segment)
    )
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

/// Returns a text without empty segments. `change` is applied to each segment.
fn joined_segments(text: &str, change: impl Fn(&str) -> &str) -> String {
    let segments = text.split('/').map(change);
    let segments: Vec<_> = segments.filter(|segment| !segment.is_empty()).collect();
    segments.join("/")
}

fn decoded(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MAX_DECODINGS {
        text = Cow::Owned(percent_decode_str(&text).decode_utf8_lossy().into_owned());
    }
    text.into_owned()
}
