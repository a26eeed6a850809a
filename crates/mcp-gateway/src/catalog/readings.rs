//! The ways in which servers may interpret a URI, for rules that restrict its use.
//!
//! Servers split the URIs of schemes such as `notes` in different ways. Some servers use the host and the path, with or without
//! the port. Others use all text after the scheme. A server whose URIs have no host may ignore the host. Servers may also ignore
//! case, spaces around a name, the query, and a `/` at the end. Servers may read `+` as a space, and `007` as 7. These
//! differences are therefore removed from the pattern of a rule and from a URI before the two are compared. The resulting texts
//! are not URIs, and must not be used for rules that allow something. URIs in a spelling that
//! [`check_spelling`](super::uri::check_spelling) refuses are not compared at all.

use std::borrow::Cow;
use std::cell::OnceCell;

use mcp_host::matches_pattern;
use percent_encoding::percent_decode_str;

use super::uri::{before, can_be_same_address, has_fixed_syntax, is_address_pattern, split_port};
use crate::text::without_case;

/// A URI and the ways in which servers may interpret it.
pub(super) struct Readings<'a> {
    pub(super) uri: Cow<'a, str>,
    /// The texts that are compared with a pattern. Each element is for one kind of pattern: with or without a port, and with or
    /// without a host.
    texts: [OnceCell<Vec<String>>; 4],
}

impl<'a> Readings<'a> {
    pub(super) fn of(uri: Cow<'a, str>) -> Self {
        let texts = Default::default();
        Self { uri, texts }
    }
}

/// A pattern of a rule that restricts the use of all URIs that match the pattern.
#[derive(Debug)]
pub(super) struct Restriction {
    forms: Vec<String>,
    keeps_port: bool,
    has_host: bool,
    /// The host of the pattern, if the host can be an address.
    address: Option<String>,
}

impl Restriction {
    pub(super) fn of(pattern: &str) -> Self {
        let keeps_port = keeps_port(pattern);
        // If `+` becomes a space, spaces at the ends are not removed: otherwise, `c++` would equal `c`.
        let spaced = Reading {
            keeps_port,
            is_trimmed: false,
            has_spaces: true,
        };
        let plain = Reading {
            keeps_port,
            is_trimmed: true,
            has_spaces: false,
        };
        let mut forms = vec![joined(pattern, plain)];
        if pattern.contains('+') {
            forms.push(joined(pattern, spaced));
        }
        add_usual_numbers(&mut forms);
        Self {
            forms,
            keeps_port,
            has_host: has_host(pattern),
            address: is_address_pattern(host(pattern)).then(|| host(pattern).to_owned()),
        }
    }

    /// Returns whether the pattern matches an interpretation of the URI.
    pub(super) fn matches(&self, uri: &Readings<'_>) -> bool {
        let kind = 2 * usize::from(self.keeps_port) + usize::from(self.has_host);
        let read = |uri: &str| texts(uri, self.keeps_port, self.has_host);
        if self.matches_one(uri.texts[kind].get_or_init(|| read(&uri.uri))) {
            return true;
        }
        // The host can be another form of the address.
        let host = host(&uri.uri);
        let address = self.address.as_deref();
        let address = address.filter(|address| can_be_same_address(address, host));
        address.is_some_and(|address| self.matches_one(&read(&with_host(&uri.uri, address))))
    }

    fn matches_one(&self, texts: &[String]) -> bool {
        let mut forms = self.forms.iter();
        forms.any(|form| texts.iter().any(|text| can_match(form, text)))
    }
}

/// Placeholders for template variables without a known value. The first is for variables before the completed variable, the
/// second for variables after it.
pub(super) const UNKNOWN: [char; 2] = ['\u{e000}', '\u{e001}'];

/// Returns whether a pattern matches a text. If the text contains placeholders for unknown variables, returns whether the pattern
/// could match it. This is decided by the known text before the first placeholder, and by the literal text of the pattern before
/// its first `*`. The pattern could match in two cases:
/// - The pattern has a `*`, and the known text begins with the literal text.
/// - The literal text begins with the known text, and the first unknown variable is before the completed variable. If the first
///   unknown variable is after the completed variable, the pattern restricts only some of its values, so it does not restrict the
///   completed value.
fn can_match(pattern: &str, text: &str) -> bool {
    let Some(at) = text.find(UNKNOWN) else {
        return matches_pattern(pattern, text);
    };
    let (known, unknown) = text.split_at(at);
    let (literal, has_star) = match pattern.split_once('*') {
        Some((literal, _)) => (literal, true),
        None => (pattern, false),
    };
    has_star && known.starts_with(literal)
        || unknown.starts_with(UNKNOWN[0]) && literal.starts_with(known)
}

/// Returns the host of a URI or pattern, without the port; empty if there is no host.
fn host(uri: &str) -> &str {
    let rest = split_scheme(uri).and_then(|(_, rest)| rest.strip_prefix("//"));
    let authority = rest.map(|rest| before(rest, &['/', '?', '#']));
    split_port(authority.unwrap_or_default()).0
}

/// Returns a URI with another host.
fn with_host(uri: &str, other: &str) -> String {
    let rest = uri.split_once("//").map_or("", |(_, rest)| rest);
    let start = &uri[..uri.len() - rest.len()];
    format!("{start}{other}{}", &rest[host(uri).len()..])
}

/// Returns a URI without the differences in spelling that most servers ignore.
pub(crate) fn comparable(uri: &str) -> String {
    let reading = Reading {
        keeps_port: true,
        is_trimmed: false,
        has_spaces: false,
    };
    joined(uri, reading)
}

/// Returns the texts for the interpretations of a URI. If `uses_host` is `false`, includes the interpretations that ignore the
/// host.
fn texts(uri: &str, keeps_port: bool, uses_host: bool) -> Vec<String> {
    let without_host = (!uses_host).then(|| without_host(uri)).flatten();
    let mut all = Vec::new();
    for uri in without_host.as_deref().into_iter().chain([uri]) {
        for uri in [uri, before(uri, &['?'])] {
            // Without an escape or `+`, there are no spaces.
            let (has_escape, has_plus) = (uri.contains('%'), uri.contains('+'));
            for (is_trimmed, has_spaces, is_different) in [
                (false, false, true),
                (true, false, has_escape),
                (false, true, has_plus),
                (true, true, has_plus),
            ] {
                let reading = Reading {
                    keeps_port,
                    is_trimmed,
                    has_spaces,
                };
                all.extend(is_different.then(|| joined(uri, reading)));
            }
        }
    }
    add_usual_numbers(&mut all);
    // Some servers split the URI after decoding it.
    for index in 0..all.len() {
        all.push(before(&all[index], &['?', '#', ';']).to_owned());
    }
    all.sort_unstable();
    all.dedup();
    let slashes = |text: String| {
        let (scheme, rest) = split_scheme(&text).unwrap_or(("", &text));
        ["", "/"].map(|end| {
            [
                format!("{scheme}:{rest}{end}"),
                format!("{scheme}:/{rest}{end}"),
            ]
        })
    };
    all.into_iter().flat_map(slashes).flatten().collect()
}

/// Adds the texts in which numbers have their usual spelling. The original texts are kept, because a pattern can contain the start
/// of another spelling: `00*` matches `007`.
fn add_usual_numbers(texts: &mut Vec<String>) {
    for index in 0..texts.len() {
        let whole = with_names(&texts[index], number);
        let without_zeros = |text| with_names(text, |name| Some(without_leading_zeros(name)));
        let (parts, of_parts) = (without_zeros(&whole), without_zeros(&texts[index]));
        for text in [whole, parts, of_parts] {
            texts.extend((!texts.contains(&text)).then_some(text));
        }
    }
}

/// Replaces each name in a text, unless `replace` returns `None`. A name beside a `*` is only a part of a name, and is kept.
fn with_names(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '_' | '.' | '*');
    let names = text.split_inclusive(|c| !is_of_name(c));
    let replaced = names.map(|name| {
        let (name, end) = name.split_at(name.trim_end_matches(|c| !is_of_name(c)).len());
        let new = (!name.contains('*')).then(|| replace(name)).flatten();
        format!("{}{end}", new.as_deref().unwrap_or(name))
    });
    replaced.collect()
}

/// Minimum of a number with a point or an exponent that has a usual spelling, except 0. The usual spelling of a smaller number
/// could be much longer than the number.
const MIN_FLOAT: f64 = 1e-6;
/// A number with a point or an exponent has a usual spelling only if it is below this number.
const MAX_FLOAT: f64 = 1e21;

/// Returns the usual spelling of a number: `7` for `+7`, `007`, `0_7`, `7.0`, `7e0`, `0x7` and `0b111`. Returns `None` if the
/// text is not a number in the syntax of Python or JavaScript, or if the number is too small or too large.
fn number(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let digits = rest.replace('_', "");
    let of_radix = |prefix, radix| u128::from_str_radix(digits.strip_prefix(prefix)?, radix).ok();
    let other = of_radix("0x", 16)
        .or_else(|| of_radix("0o", 8))
        .or_else(|| of_radix("0b", 2));
    let usual = if let Some(number) = other {
        number.to_string()
    } else if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // The number can have any length, so it is not parsed.
        without_leading_zeros(&digits)
    } else {
        let number = digits.parse::<f64>().ok();
        number
            .filter(|number| *number == 0.0 || (MIN_FLOAT..MAX_FLOAT).contains(number))?
            .to_string()
    };
    let sign = if usual == "0" { "" } else { sign };
    Some(format!("{sign}{usual}"))
}

/// Removes the zeros before each whole number in a name, and a `+` before it: `7.json` for `07.json` and `+7.json`.
fn without_leading_zeros(name: &str) -> String {
    let mut usual = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(number.len());
        let before = before
            .strip_suffix('+')
            .filter(|before| !before.ends_with(char::is_alphanumeric))
            .unwrap_or(before);
        usual.push_str(before);
        let digits = match before.ends_with(char::is_alphabetic) {
            true => &number[..end],
            false => number[..end].trim_start_matches('0'),
        };
        usual.push_str(if digits.is_empty() { "0" } else { digits });
        rest = &number[end..];
    }
    usual + rest
}

/// Returns whether a pattern has a host, or could match a host.
fn has_host(pattern: &str) -> bool {
    let Some((_, rest)) = split_scheme(pattern) else {
        return true;
    };
    let rest = rest.strip_prefix("//");
    rest.is_some_and(|rest| !before(rest, &['/', '?', '#']).is_empty())
}

/// Returns a URI without its host and port; `None` if the URI has no host, or if no server ignores the host.
fn without_host(uri: &str) -> Option<String> {
    let (scheme, rest) = split_scheme(uri)?;
    let rest = rest
        .strip_prefix("//")
        .filter(|_| !has_fixed_syntax(scheme))?;
    let path = &rest[before(rest, &['/', '?', '#']).len()..];
    Some(format!("{scheme}:{path}"))
}

/// Returns whether the port of a pattern is compared. This is the case if all servers read the port in the same way, and the
/// pattern does not match every port.
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

/// A way to read a URI or pattern.
#[derive(Clone, Copy)]
struct Reading {
    keeps_port: bool,
    /// Whether spaces around segments are removed.
    is_trimmed: bool,
    /// Whether `+` is a space.
    has_spaces: bool,
}

/// Returns a URI or a pattern as a text `scheme:host/path?query`, decoded, in lower case, and without empty segments. The text
/// includes the port only if `reading` keeps it. `%2A` is not decoded, because a `*` in a pattern matches any text.
fn joined(text: &str, reading: Reading) -> String {
    let Some((scheme, rest)) = split_scheme(text) else {
        return joined_segments(text, reading);
    };
    let mut parts = rest.to_owned();
    if let Some(rest) = rest.strip_prefix("//") {
        let authority = before(rest, &['/', '?', '#']);
        let host = match reading.keeps_port {
            true => authority,
            false => split_port(authority).0,
        };
        parts = format!("{host}{}", &rest[authority.len()..]);
    }
    let parts = joined_segments(&parts, reading);
    format!("{}:{parts}", scheme.to_ascii_lowercase())
}

/// Splits a URI or pattern after its scheme. In a pattern, the scheme can contain `*`.
pub(crate) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.*".contains(&byte);
    (!scheme.is_empty() && scheme.bytes().all(is_letter)).then_some((scheme, rest))
}

/// Returns a decoded text in lower case, without empty segments.
fn joined_segments(text: &str, reading: Reading) -> String {
    let mut kept = text.replace("%2A", "%252A").replace("%2a", "%252A");
    if reading.has_spaces {
        kept = kept.replace('+', " ");
    }
    let text = without_case(&percent_decode_str(&kept).decode_utf8_lossy());
    let segments = text.split('/').map(|segment| match reading.is_trimmed {
        true => segment.trim(),
        false => segment,
    });
    let segments: Vec<_> = segments.filter(|segment| !segment.is_empty()).collect();
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A URI of up to `MAX_RULED_BYTES` can contain many numbers, and is compared with each rule.
    #[test]
    fn the_usual_spelling_of_a_number_is_at_most_eight_times_as_long_as_its_text() {
        for text in [
            "5e-324",
            "1e-5",
            "1e20",
            "1e21",
            "1e308",
            "0xffffffffffffffffffffffffffffffff",
        ] {
            let length = number(text).unwrap_or_default().len();
            assert!(length <= 8 * text.len(), "{text}: {length}");
        }
    }
}
