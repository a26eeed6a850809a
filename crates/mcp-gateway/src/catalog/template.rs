//! URI templates (RFC 6570): functions for choosing the server of a request, and for applying the access rules.

use std::borrow::Cow;

use memchr::memmem;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::readings::UNKNOWN;
use super::uri::scheme;

/// Maximum number of expressions of a template. For each expression, the gateway searches the URI for the text that follows it.
const MAX_EXPRESSIONS: usize = 32;

/// Returns whether the template has so few expressions that the gateway can quickly compare it with a URI.
pub(super) fn is_simple(template: &str) -> bool {
    template.bytes().filter(|byte| *byte == b'{').count() <= MAX_EXPRESSIONS
}

/// Returns a URI that matches the template, with `x` for each expression; `None` if an expression has no end.
pub(super) fn example_of(template: &str) -> Option<String> {
    let mut parts = template.split('{');
    let mut example = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, literal) = part.split_once('}')?;
        example.push('x');
        example.push_str(literal);
    }
    Some(example)
}

/// Expands a template with `value` for `variable` and the values of `known` for other variables. Characters of [`UNKNOWN`]
/// replace variables without a value. Returns `None` if the template does not have the variable, or has expressions other than
/// `{name}` and `{+name}`.
pub(crate) fn expand<'a>(
    template: &str,
    variable: &str,
    value: &'a str,
    known: impl Fn(&str) -> Option<Cow<'a, str>>,
) -> Option<String> {
    let mut parts = template.split('{');
    let mut uri = parts.next().unwrap_or_default().to_owned();
    let mut has_variable = false;
    for part in parts {
        let (expression, literal) = part.split_once('}')?;
        let (name, escaped) = match expression.strip_prefix('+') {
            Some(name) => (name, UNLIKE_URI),
            None => (expression, UNLIKE_SEGMENT),
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        has_variable |= name == variable;
        let value = match name == variable {
            true => Some(Cow::Borrowed(value)),
            false => known(name).filter(|value| !value.is_empty()),
        };
        match value {
            Some(value) => uri.extend(utf8_percent_encode(&value, escaped)),
            None => uri.push(UNKNOWN[usize::from(has_variable)]),
        }
        uri.push_str(literal);
    }
    has_variable.then_some(uri)
}

/// The characters that `{name}` escapes (RFC 6570, section 3.2.2).
const UNLIKE_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The characters that `{+name}` escapes (RFC 6570, section 3.2.3), except `%`: some servers expect a value that is already
/// escaped, and others do not.
const UNLIKE_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the length of the literal parts of a template, if the URI contains them in this order. An expression matches any text.
/// A template whose scheme is an expression never matches, because it would match the URIs of all servers.
pub(super) fn match_template(template: &str, uri: &str) -> Option<usize> {
    let (prefix, mut rest) = template.split_once('{')?;
    scheme(prefix)?;
    let mut uri = uri.strip_prefix(prefix)?;
    let mut length = prefix.len();
    loop {
        let (_, after) = rest.split_once('}')?;
        let Some((literal, next)) = after.split_once('{') else {
            return uri.ends_with(after).then_some(length + after.len());
        };
        // For each literal, this search takes linear time in the length of the URI.
        let at = memmem::find(uri.as_bytes(), literal.as_bytes())?;
        uri = &uri[at + literal.len()..];
        length += literal.len();
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_by_their_literal_parts() {
        assert_eq!(match_template("file:///{path}", "file:///a/b"), Some(8));
        assert_eq!(
            match_template("db://{table}/rows/{id}", "db://users/rows/7"),
            Some(11)
        );
        assert_eq!(
            match_template("db://{table}/rows/{id}/raw", "db://users/rows/7"),
            None
        );
        assert_eq!(match_template("db://{table}", "file:///a"), None);
        assert_eq!(match_template("{+any}", "file:///a"), None);
        assert_eq!(match_template("file://{broken", "file:///a"), None);
        assert_eq!(match_template("file:///a", "file:///a"), None);
    }

    #[test]
    fn simple_templates_are_expanded() {
        let known = |name: &str| (name == "a").then_some(Cow::Borrowed("k"));
        for (template, value, expected) in [
            ("file:///{+v}", "etc/pass wd", Some("file:///etc/pass%20wd")),
            (
                "db://{v}/rows/{id}",
                "a/b",
                Some("db://a%2Fb/rows/\u{e001}"),
            ),
            ("db://{id}/{v}", "a", Some("db://\u{e000}/a")),
            ("db://{a}/{v}/{v}", "é", Some("db://k/%C3%A9/%C3%A9")),
            ("db://{a}", "b", None),
            ("db://{?v}", "b", None),
            ("db://{v*}", "b", None),
            ("db://{v,a}", "b", None),
            ("db://{v", "b", None),
        ] {
            let uri = expand(template, "v", value, known);
            assert_eq!(uri.as_deref(), expected, "{template}");
        }
    }
}
