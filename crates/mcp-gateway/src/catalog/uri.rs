//! URIs and URI templates, as far as the choice of a server needs them.

/// Returns the scheme of a URI.
pub(crate) fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let mut letters = scheme.bytes();
    let is_first = letters.next()?.is_ascii_alphabetic();
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    (is_first && letters.all(is_rest)).then_some(scheme)
}

/// Returns the length of the literal parts of a template, if they occur in the URI in this order. An expression
/// matches any text. A template whose scheme is an expression never matches: it would take the URIs of all servers.
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
        let at = uri.find(literal)?;
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
    fn schemes() {
        assert_eq!(scheme("file:///a"), Some("file"));
        assert_eq!(scheme("ui+x.y-1:a"), Some("ui+x.y-1"));
        for none in ["", ":", "1a:b", "a b:c", "{+x}:a", "nothing"] {
            assert_eq!(scheme(none), None, "{none}");
        }
    }
}
